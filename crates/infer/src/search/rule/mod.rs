//! The decisions in which beam searches differ. The defaults are the paper's search (§6.1).

mod marian;
mod near;
mod transformers;

use crate::settings::BeamRule;

/// The decisions of a search about closing hypotheses and stopping.
pub(super) trait Rule: Sync {
    /// The number of best extensions that a step takes, when `closed` hypotheses are closed already.
    /// The paper's search takes 2k, so that k live on even if k end.
    fn candidates(&self, beam: usize, _closed: usize) -> usize {
        if beam == 1 { 1 } else { 2 * beam }
    }

    /// Returns whether `</s>` closes a hypothesis if its extension has this `rank`, from 0.
    fn closes(&self, _rank: usize, _beam: usize) -> bool {
        true
    }

    /// Returns whether hypotheses at the length limit are ranked together with closed ones, instead
    /// of after them.
    fn ranks_cut(&self) -> bool {
        false
    }

    /// The number of closed hypotheses that must be safe from live ones before the search stops.
    fn needed(&self, n_best: usize, _beam: usize) -> usize {
        n_best
    }

    /// The length that a live hypothesis is assumed to reach when it is compared with the worst
    /// needed one; `None` if the search waits until no hypothesis lives.
    fn assumed_length(&self, lengths: Lengths) -> Option<usize> {
        Some(lengths.limit)
    }
}

/// The lengths that decide whether a search stops, in tokens with `</s>`.
pub(super) struct Lengths {
    /// The length of live hypotheses.
    pub step: usize,
    /// The length of the worst needed closed hypothesis.
    pub closed: usize,
    /// The length limit.
    pub limit: usize,
}

/// The paper's search: every default of [`Rule`].
struct Gnmt;

impl Rule for Gnmt {}

/// The decisions of `rule`.
pub(super) fn of(rule: BeamRule) -> &'static dyn Rule {
    match rule {
        BeamRule::Gnmt => &Gnmt,
        BeamRule::Near => &near::Near,
        BeamRule::Transformers => &transformers::Transformers,
        BeamRule::Marian => &marian::Marian,
    }
}
