//! The numbers of pairs that cleaning kept and dropped.

use std::fmt;

use burnformer_text::counted;
use derive_more::Add;
use serde::{Deserialize, Serialize};

/// The numbers of pairs that were read, kept, and dropped for each reason. If several reasons apply
/// to a pair, the first one in the order of the fields counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Add, Serialize, Deserialize)]
pub struct CleaningReport {
    /// Number of pairs in the corpus.
    pub read: u64,
    /// Number of pairs that were kept.
    pub kept: u64,
    /// Dropped because a side is not UTF-8 and the policy is to skip such lines.
    pub invalid_utf8: u64,
    /// Dropped because a side is empty or has only white space and control characters.
    pub empty: u64,
    /// Dropped because the source has more tokens than allowed.
    pub source_too_long: u64,
    /// Dropped because the target has more tokens than allowed.
    pub target_too_long: u64,
    /// Dropped because the pair alone exceeds the token budget.
    pub over_budget: u64,
    /// Dropped because one side is too many times as long as the other.
    pub length_ratio: u64,
    /// Dropped because the target has other numbers than the source. A report without such pairs
    /// has no such field, as in earlier versions.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unlike_numbers: u64,
    /// Dropped because both texts occurred before.
    pub duplicate: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl CleaningReport {
    /// Number of pairs that were dropped for any reason.
    pub fn dropped(&self) -> u64 {
        self.read - self.kept
    }
}

impl fmt::Display for CleaningReport {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let read = counted(self.read, "pair");
        write!(
            out,
            "{read} read, {} kept, {} dropped",
            self.kept,
            self.dropped()
        )?;
        let reasons = [
            (self.invalid_utf8, "invalid UTF-8"),
            (self.empty, "empty side"),
            (self.source_too_long, "source too long"),
            (self.target_too_long, "target too long"),
            (self.over_budget, "over the token budget"),
            (self.length_ratio, "length ratio"),
            (self.unlike_numbers, "unlike numbers"),
            (self.duplicate, "duplicate"),
        ];
        let mut separator = ": ";
        for (count, reason) in reasons.into_iter().filter(|&(count, _)| count > 0) {
            write!(out, "{separator}{count} {reason}")?;
            separator = ", ";
        }
        Ok(())
    }
}
