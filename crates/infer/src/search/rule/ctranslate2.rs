//! The search of CTranslate2 (`BeamSearch::search` in `src/decoding.cc`, 4.8.1).

use super::decisions::{Rule, State, Stop};
use crate::settings::{LengthPenalty, SearchSettings};

/// [`BeamRule::Ctranslate2`](crate::BeamRule::Ctranslate2).
pub(super) struct Ctranslate2 {
    /// The number of finished hypotheses that end the search.
    candidates: usize,
    /// If true, no penalty can change the order of hypotheses.
    has_no_penalty: bool,
}

impl Ctranslate2 {
    /// The rule with the patience and the penalties of `settings`.
    pub fn new(settings: &SearchSettings) -> Self {
        let candidates = settings.beam_size as f64 * settings.patience;
        let has_no_length_penalty = match settings.length_penalty {
            LengthPenalty::None => true,
            LengthPenalty::Gnmt(alpha) | LengthPenalty::Power(alpha) => alpha == 0.0,
            LengthPenalty::Average => false,
        };
        Self {
            candidates: (candidates.round() as usize).max(1),
            has_no_penalty: has_no_length_penalty && settings.coverage_penalty == 0.0,
        }
    }
}

impl Rule for Ctranslate2 {
    fn may_finish(&self, rank: usize, beam: usize) -> bool {
        rank < beam
    }

    fn guards_prefix(&self) -> bool {
        true
    }

    fn forced_are_free(&self) -> bool {
        true
    }

    fn normalises_allowed(&self) -> bool {
        true
    }

    fn ranks_cut(&self) -> bool {
        true
    }

    fn needed(&self, n_best: usize, _beam: usize) -> usize {
        if self.has_no_penalty {
            n_best
        } else {
            self.candidates
        }
    }

    fn stop(&self, state: State) -> Stop {
        if self.has_no_penalty && !state.best_has_finished {
            Stop::WhenNoneLives
        } else {
            Stop::AtOnce
        }
    }
}
