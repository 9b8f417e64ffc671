//! The search of Marian.

use super::{Lengths, Rule};

/// [`BeamRule::Marian`](crate::BeamRule::Marian).
pub(super) struct Marian;

impl Rule for Marian {
    /// The beam shrinks by one for each closed hypothesis.
    fn candidates(&self, beam: usize, closed: usize) -> usize {
        beam - closed
    }

    fn ranks_cut(&self) -> bool {
        true
    }

    fn assumed_length(&self, _lengths: Lengths) -> Option<usize> {
        None
    }
}
