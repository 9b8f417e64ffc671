//! The search of Hugging Face's transformers with `early_stopping = false`.

use super::{Lengths, Rule};

/// [`BeamRule::Transformers`](crate::BeamRule::Transformers).
pub(super) struct Transformers;

impl Rule for Transformers {
    fn closes(&self, rank: usize, beam: usize) -> bool {
        rank < beam
    }

    fn ranks_cut(&self) -> bool {
        true
    }

    fn needed(&self, _n_best: usize, beam: usize) -> usize {
        beam
    }

    fn assumed_length(&self, lengths: Lengths) -> Option<usize> {
        Some(lengths.step)
    }
}
