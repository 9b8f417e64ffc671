//! Attention weights as plain numbers, with the tokens of their rows and columns.

mod align;
mod weights;

pub(crate) use align::strongest;
pub use align::{AlignmentOptions, Link, pharaoh, word_alignment};
pub(crate) use weights::pieces;
pub use weights::{Attention, AttentionWeights, HeadWeights, MOST_LINKED, Piece};
