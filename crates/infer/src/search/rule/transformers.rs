//! The search of Hugging Face's transformers.

use super::decisions::{Rule, State, Stop};
use crate::settings::EarlyStopping;

/// [`BeamRule::Transformers`](crate::BeamRule::Transformers).
pub(super) struct Transformers(pub EarlyStopping);

impl Rule for Transformers {
    fn may_finish(&self, rank: usize, beam: usize) -> bool {
        rank < beam
    }

    fn forced_are_free(&self) -> bool {
        true
    }

    fn ranks_cut(&self) -> bool {
        true
    }

    fn needed(&self, _n_best: usize, beam: usize) -> usize {
        beam
    }

    fn stop(&self, state: State) -> Stop {
        match self.0 {
            EarlyStopping::Current => Stop::WhenWorseAt(state.step),
            EarlyStopping::Full => Stop::AtOnce,
            EarlyStopping::Never => Stop::WhenWorseAt(state.limit),
        }
    }
}
