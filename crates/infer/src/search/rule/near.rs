//! The paper's search, without waiting for far longer hypotheses.

use super::decisions::{Lengths, Rule, Stop};

/// [`BeamRule::Near`](crate::BeamRule::Near).
pub(super) struct Near;

impl Rule for Near {
    fn stop(&self, lengths: Lengths) -> Stop {
        let longest = 3 * lengths.closed / 2 + 2;
        Stop::WhenWorseAt(longest.clamp(lengths.step, lengths.limit))
    }
}
