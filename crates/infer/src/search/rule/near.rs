//! The paper's search, without waiting for far longer hypotheses.

use super::{Lengths, Rule};

/// [`BeamRule::Near`](crate::BeamRule::Near).
pub(super) struct Near;

impl Rule for Near {
    fn assumed_length(&self, lengths: Lengths) -> Option<usize> {
        let longest = 3 * lengths.closed / 2 + 2;
        Some(longest.clamp(lengths.step, lengths.limit))
    }
}
