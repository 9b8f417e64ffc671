//! The search of Marian.

use super::decisions::{Rule, State, Stop};

/// [`BeamRule::Marian`](crate::BeamRule::Marian).
pub(super) struct Marian;

impl Rule for Marian {
    /// The beam shrinks by one for each closed hypothesis.
    fn candidates(&self, beam: usize, closed: usize, _ends: usize) -> usize {
        beam - closed
    }

    fn ranks_cut(&self) -> bool {
        true
    }

    fn stop(&self, _state: State) -> Stop {
        Stop::WhenNoneLives
    }
}
