//! The paper's search, without waiting for far longer hypotheses.

use super::decisions::{Rule, State, Stop};

/// [`BeamRule::Near`](crate::BeamRule::Near).
pub(super) struct Near;

impl Rule for Near {
    fn stop(&self, state: State) -> Stop {
        let longest = 3 * state.finished_len / 2 + 2;
        Stop::WhenWorseAt(longest.clamp(state.step, state.limit))
    }
}
