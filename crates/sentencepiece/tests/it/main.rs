//! SentencePiece models beside the numbers of the C++ library.

mod common;
mod errors;
mod exact;
mod rules;
