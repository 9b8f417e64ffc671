//! The search of Marian.

use super::decisions::{Rule, State, Stop};

/// [`BeamRule::Marian`](crate::BeamRule::Marian).
pub(super) struct Marian;

impl Rule for Marian {
    /// The beam shrinks by one for each finished hypothesis.
    fn candidates(&self, beam: usize, finished: usize, _end_tokens: usize) -> usize {
        beam - finished
    }

    fn ranks_cut(&self) -> bool {
        true
    }

    fn stop(&self, _state: State) -> Stop {
        Stop::WhenNoneLives
    }
}
