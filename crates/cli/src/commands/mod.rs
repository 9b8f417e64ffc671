//! One file a command.

pub mod attention;
pub mod average;
pub mod bench;
pub mod devices;
pub mod eval_bleu;
pub mod inspect;
pub mod plot;
pub mod score;
pub mod study;
mod token_ids;
pub mod train;
pub mod translate;
