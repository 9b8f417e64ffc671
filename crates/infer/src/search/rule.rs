//! The decisions in which beam searches differ. The defaults are the paper's search (§6.1).

use crate::settings::{BeamRule, EarlyStopping, LengthPenalty, SearchSettings};

/// Returns the decisions of `settings`. Sampling uses the rule of GNMT.
pub(super) fn of(settings: &SearchSettings) -> Box<dyn Rule> {
    if settings.sampling.is_some() {
        return Box::new(Gnmt);
    }
    match settings.beam_rule {
        BeamRule::Gnmt => Box::new(Gnmt),
        BeamRule::Near => Box::new(Near),
        BeamRule::Transformers => Box::new(Transformers(settings.early_stopping)),
        BeamRule::Marian => Box::new(Marian),
        BeamRule::Ctranslate2 => Box::new(Ctranslate2::new(settings)),
    }
}

/// The decisions of a search about finishing hypotheses and stopping.
pub(super) trait Rule: Sync {
    /// The number of best extensions that a step takes, when `finished` hypotheses are finished
    /// already. The paper's search takes 2k, so that k live on even if k finish. Each of the
    /// `end_tokens` tokens that finish a hypothesis, `</s>` among them, adds k.
    fn candidates(&self, beam: usize, _finished: usize, end_tokens: usize) -> usize {
        if beam == 1 {
            1
        } else {
            (1 + end_tokens) * beam
        }
    }

    /// Returns whether `</s>` finishes a hypothesis if its extension has this `rank`, from 0.
    fn may_finish(&self, _rank: usize, _beam: usize) -> bool {
        true
    }

    /// Returns whether only the best extension may finish a hypothesis at the first token after a
    /// forced prefix. Others of the best k leave a place in the beam empty.
    fn guards_prefix(&self) -> bool {
        false
    }

    /// Returns whether forced tokens have probability 1.
    fn forced_are_free(&self) -> bool {
        false
    }

    /// Returns whether probabilities are normalised over the tokens that are not forbidden, instead
    /// of all.
    fn normalises_allowed(&self) -> bool {
        false
    }

    /// Returns whether hypotheses at the length limit are ranked together with finished ones,
    /// instead of after them.
    fn ranks_cut(&self) -> bool {
        false
    }

    /// The number of finished hypotheses that must be safe from live ones before the search stops.
    fn needed(&self, n_best: usize, _beam: usize) -> usize {
        n_best
    }

    /// When the search stops, once the needed hypotheses are finished.
    fn stop(&self, state: State) -> Stop {
        Stop::WhenWorseAt(state.limit)
    }
}

/// When a search stops, once the needed hypotheses are finished.
pub(super) enum Stop {
    /// At once.
    AtOnce,
    /// When no live hypothesis would be better than the worst needed one at this length.
    WhenWorseAt(usize),
    /// When no hypothesis lives.
    WhenNoneLives,
}

/// What decides whether a search stops; lengths are in tokens with `</s>`.
pub(super) struct State {
    /// If true, the best extension of a step has finished a hypothesis.
    pub best_has_finished: bool,
    /// The length of live hypotheses.
    pub step: usize,
    /// The length of the worst needed finished hypothesis.
    pub finished_len: usize,
    /// The length limit.
    pub limit: usize,
}

/// The paper's search: every default of [`Rule`].
struct Gnmt;

impl Rule for Gnmt {}

/// The paper's search, without waiting for far longer hypotheses.
struct Near;

impl Rule for Near {
    fn stop(&self, state: State) -> Stop {
        let longest = 3 * state.finished_len / 2 + 2;
        Stop::WhenWorseAt(longest.clamp(state.step, state.limit))
    }
}

/// The search of Hugging Face's transformers.
struct Transformers(EarlyStopping);

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

/// The search of Marian.
struct Marian;

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

/// The search of CTranslate2 (`BeamSearch::search` in `src/decoding.cc`, 4.8.1).
struct Ctranslate2 {
    /// The number of finished hypotheses that end the search.
    candidates: usize,
    /// If true, no penalty can change the order of hypotheses.
    has_no_penalty: bool,
}

impl Ctranslate2 {
    /// The rule with the patience and the penalties of `settings`.
    fn new(settings: &SearchSettings) -> Self {
        let has_no_length_penalty = match settings.length_penalty {
            LengthPenalty::None => true,
            LengthPenalty::Gnmt(alpha) | LengthPenalty::Power(alpha) => alpha == 0.0,
            LengthPenalty::Average => false,
        };
        Self {
            candidates: settings.patient_beam(),
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
