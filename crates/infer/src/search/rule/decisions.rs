//! What a beam search decides about finishing hypotheses and stopping.

/// The decisions of a search about finishing hypotheses and stopping.
pub(in crate::search) trait Rule: Sync {
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
pub(in crate::search) enum Stop {
    /// At once.
    AtOnce,
    /// When no live hypothesis would be better than the worst needed one at this length.
    WhenWorseAt(usize),
    /// When no hypothesis lives.
    WhenNoneLives,
}

/// What decides whether a search stops; lengths are in tokens with `</s>`.
pub(in crate::search) struct State {
    /// If true, the best extension of a step has finished a hypothesis.
    pub best_has_finished: bool,
    /// The length of live hypotheses.
    pub step: usize,
    /// The length of the worst needed finished hypothesis.
    pub finished_len: usize,
    /// The length limit.
    pub limit: usize,
}
