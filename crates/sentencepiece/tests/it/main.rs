//! SentencePiece models beside the numbers of its own library.

mod common;
mod errors;
mod exact;
mod rules;
