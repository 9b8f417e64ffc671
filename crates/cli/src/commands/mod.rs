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

use clap::builder::RangedU64ValueParser;

/// A whole number of at least `least`.
fn at_least(least: u64) -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(least..)
}

/// A whole number from `least` to `most`.
fn between(least: u64, most: u64) -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(least..=most)
}
