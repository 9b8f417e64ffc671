mod towards_terms;

use burnformer_core::RandomKey;
use burnformer_kernels::{Placed, log_sum_exp, top_k_above};

use super::choices::Choices;
use super::constraint::{constrain, end_word, forced};
use super::request::Request;
use super::sample::draw;
use super::terms::{Progress, Tracker};
use crate::error::InferError;
use crate::hypothesis::{FinishReason, Hypothesis};
use crate::model::SpecialIds;
use crate::settings::{AtLimit, BeamRule, Sampling, SearchSettings};

/// More than the rounding of a sum of a few logarithms in 64 bits.
const ROUNDING: f64 = 1e-9;

/// A hypothesis that may still grow.
#[derive(Clone, Debug, Default)]
struct Live {
    tokens: Vec<u32>,
    log_probs: Vec<f32>,
    /// The sum of `log_probs`, in float64.
    total: f64,
    /// The number of the sample; 0 in beam search.
    sample: usize,
    /// The terms that it has.
    progress: Progress,
}

/// A live hypothesis extended by one token.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extension {
    pub(super) parent: usize,
    pub(super) token: u32,
    pub(super) log_prob: f64,
    pub(super) total: f64,
    /// The number of tokens that its terms still need.
    pub(super) left: usize,
}

/// The search for one sentence's translation: GNMT's beam search, or sampling.
///
/// Every step takes the best extensions of the live hypotheses, twice as many as the beam is wide. Those that end go to
/// the finished list, and the best of the others live on. With sampling, each live hypothesis has one extension, which
/// is drawn at random.
///
/// A search whose translations have to contain terms considers more extensions and divides the beam among them (see
/// [`terms`](super::terms)).
pub(crate) struct Sentence<'a> {
    /// The index of the sentence in the caller's list.
    pub(super) place: usize,
    request: &'a Request,
    settings: &'a SearchSettings,
    special: SpecialIds,
    limit: usize,
    /// The tokens to which the logits belong.
    pub(super) choices: Choices,
    /// Follows the terms that the translation has to contain, if there are any.
    tracker: Option<Tracker<'a>>,
    key: RandomKey,
    live: Vec<Live>,
    /// The parent and the token of each live hypothesis, for the model.
    continuations: Vec<(usize, u32)>,
    /// The hypotheses that the model ended, best first.
    finished: Vec<Hypothesis>,
    /// The hypotheses after which no token is allowed, best first.
    dead_ends: Vec<Hypothesis>,
    done: bool,
    step: usize,
    // Room to work in, kept between steps.
    spare: Vec<Live>,
    extensions: Vec<Extension>,
    stuck: Vec<usize>,
    best: Vec<Placed>,
}

impl<'a> Sentence<'a> {
    pub(super) fn new(
        place: usize,
        request: &'a Request,
        settings: &'a SearchSettings,
        special: SpecialIds,
        limit: usize,
        choices: Choices,
    ) -> Self {
        let seed = settings.sampling.as_ref().map_or(0, |sampling| sampling.seed);
        let starts = if settings.sampling.is_some() { settings.n_best } else { 1 };
        let live = |sample| Live { sample, ..Live::default() };
        Self {
            place,
            request,
            settings,
            special,
            limit,
            choices,
            tracker: Tracker::new(&request.terms),
            key: request.random_key(seed),
            live: (0..starts).map(live).collect(),
            continuations: Vec::new(),
            finished: Vec::new(),
            dead_ends: Vec::new(),
            done: false,
            step: 0,
            spare: Vec::new(),
            extensions: Vec::new(),
            stuck: Vec::new(),
            best: Vec::new(),
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.done
    }

    /// The number of live hypotheses, each of which needs a row of the model.
    pub(super) fn rows(&self) -> usize {
        self.live.len()
    }

    /// The row that hypothesis `slot` continues and the token with which it does. A sentence with fewer hypotheses than
    /// others in its batch repeats its last one.
    pub(super) fn continuation(&self, slot: usize) -> (usize, u32) {
        self.continuations[slot.min(self.continuations.len() - 1)]
    }

    /// Takes one step, given the model's `logits` after each row, `[rows, choices]`.
    ///
    /// # Errors
    /// [`InferError::NotFinite`] if a logit is NaN or +∞, or all logits of a row are −∞.
    pub(super) fn advance(&mut self, logits: &mut [f32]) -> Result<(), InferError> {
        self.extend(logits)?;
        if self.extensions.is_empty() {
            // Constraints forbid every token: what lives is all there is.
            self.done = true;
            return Ok(());
        }
        for &parent in &self.stuck {
            let dead_end = self.hypothesis(self.live[parent].clone(), FinishReason::Limit);
            insert(&mut self.dead_ends, dead_end, self.settings.n_best);
        }
        self.step += 1;
        self.divide();
        let settled = self.live.is_empty() || self.step >= self.limit || self.is_settled();
        self.done = settled || self.request.cancel.is_cancelled();
        Ok(())
    }

    /// Collects the extensions of all live hypotheses that need to be considered, and the hypotheses that have none.
    fn extend(&mut self, logits: &mut [f32]) -> Result<(), InferError> {
        let width = self.choices.len();
        self.extensions.clear();
        self.stuck.clear();
        let mut normaliser = 0.0;
        for parent in 0..self.live.len() {
            // All samples share the one row before the first token.
            let shared = self.step == 0 && parent > 0;
            let row = if self.step == 0 { 0 } else { parent };
            let logits = &mut logits[row * width..(row + 1) * width];
            if !shared {
                normaliser = self.normaliser(logits)?;
            }
            let before = self.extensions.len();
            self.extend_one(parent, logits, normaliser);
            self.measure(before);
            let possible = || logits.iter().any(|&logit| logit > f32::NEG_INFINITY);
            if self.extensions.len() == before && (self.tracker.is_some() || !possible()) {
                self.stuck.push(parent);
            }
            self.keep_the_best();
        }
        if self.tracker.is_some() {
            self.choose_by_bank();
        }
        Ok(())
    }

    /// Leaves of the extensions so far those that can be among the best in the end.
    fn keep_the_best(&mut self) {
        if self.tracker.is_none() && self.settings.sampling.is_none() {
            let count = self.candidates();
            // Stable: of equals, the better parent's and then the lower id's comes first.
            self.extensions.sort_by(|a, b| b.total.total_cmp(&a.total));
            self.extensions.truncate(count);
        }
    }

    fn normaliser(&self, logits: &[f32]) -> Result<f64, InferError> {
        let normaliser = log_sum_exp(logits);
        let (sentence, step) = (self.place + 1, self.step);
        normaliser.is_finite().then_some(normaliser).ok_or(InferError::NotFinite { sentence, step })
    }

    fn extend_one(&mut self, parent: usize, logits: &mut [f32], normaliser: f64) {
        let total = self.live[parent].total;
        let extension = |(logit, token): Placed| {
            let log_prob = f64::from(logit) - normaliser;
            Extension { parent, token, log_prob, total: total + log_prob, left: 0 }
        };
        if let Some(token) = forced(self.request, self.step, self.special.eos) {
            // Transformers takes forced tokens for certain.
            self.extensions.push(match self.rule() {
                BeamRule::Gnmt => extension((self.logit(logits, token), token)),
                BeamRule::Transformers => {
                    Extension { parent, token, log_prob: 0.0, total, left: 0 }
                }
            });
            return;
        }
        if self.settings.at_limit == AtLimit::Close && self.is_last_step() {
            let token = self.special.eos;
            self.extensions.push(Extension { parent, token, log_prob: 0.0, total, left: 0 });
            return;
        }
        if self.tracker.is_some() {
            return self.extend_towards_terms(parent, logits, extension);
        }
        constrain(logits, &self.live[parent].tokens, self.settings, self.special, &self.choices);
        if let Some(edges) = &self.request.prefix_edges
            && self.step == self.request.prefix.len()
        {
            end_word(logits, edges, &self.choices, self.special.eos);
        }
        match &self.settings.sampling {
            Some(sampling) => {
                let drawn = self.draw(logits, sampling, parent);
                let scored = |place: u32| (logits[place as usize], self.choices.id(place));
                self.extensions.extend(drawn.map(|place| extension(scored(place))));
            }
            None => {
                let count = self.candidates();
                // What an extension of an earlier parent leaves behind is not looked at.
                let last = self.extensions.get(count - 1);
                let floor = last.map_or(f64::NEG_INFINITY, |last| last.total - total + normaliser);
                let floor = ((floor - ROUNDING) as f32).next_down();
                self.select(logits, floor, count);
                self.extensions.extend(self.best.drain(..).map(extension));
            }
        }
    }

    /// The logit of a token that must be a choice: of the prefix or a term, or `</s>`.
    fn logit(&self, logits: &[f32], token: u32) -> f32 {
        let place = self.choices.place(token);
        logits[place.unwrap_or_else(|| panic!("token {token} is not among the choices"))]
    }

    /// Writes the `count` tokens with the highest of `logits` to `best`, of those above `floor`.
    fn select(&mut self, logits: &[f32], floor: f32, count: usize) {
        top_k_above(logits, floor, count, &mut self.best);
        self.best.iter_mut().for_each(|(_, place)| *place = self.choices.id(*place));
    }

    /// The place in `logits` of the token that is drawn.
    fn draw(&self, logits: &[f32], sampling: &Sampling, parent: usize) -> Option<u32> {
        let key = self.key.fold(self.live[parent].sample as u64).fold(self.step as u64);
        draw(logits, sampling, key, &mut Vec::new())
    }

    /// The number of extensions that a step considers: 2k, so that k live on even if k end. Greedy search considers
    /// one.
    fn candidates(&self) -> usize {
        match self.settings.beam_size {
            1 => 1,
            k => 2 * k,
        }
    }

    /// The number of hypotheses that live at the same time.
    fn width(&self) -> usize {
        let tracker = self.tracker.as_ref();
        tracker.map_or(self.settings.width(), |tracker| tracker.rows(self.settings.beam_size))
    }

    /// Whether the next token is the last one that the limit allows.
    fn is_last_step(&self) -> bool {
        self.step + 1 >= self.limit
    }

    /// Whether the extension of this `rank` ends, and why.
    fn end_of(&self, extension: Extension, rank: usize) -> Option<FinishReason> {
        let closed = extension.token == self.special.eos;
        let at_limit = self.rule() == BeamRule::Transformers && self.step >= self.limit;
        match (closed, at_limit && rank < self.settings.width()) {
            (true, _) => Some(FinishReason::EndOfSentence),
            (false, true) => Some(FinishReason::Limit),
            (false, false) => None,
        }
    }

    /// The rule by which a search closes hypotheses and stops; sampling closes them by that of GNMT.
    fn rule(&self) -> BeamRule {
        match self.settings.sampling {
            Some(_) => BeamRule::Gnmt,
            None => self.settings.beam_rule,
        }
    }

    /// Divides the extensions into finished and live hypotheses.
    fn divide(&mut self) {
        std::mem::swap(&mut self.live, &mut self.spare);
        self.continuations.clear();
        let mut lives = 0;
        // From which rank on `</s>` closes nothing.
        let closing = match self.rule() {
            BeamRule::Transformers if self.tracker.is_none() => self.settings.width(),
            _ => usize::MAX,
        };
        for rank in 0..self.extensions.len() {
            let extension = self.extensions[rank];
            if let Some(reason) = self.end_of(extension, rank) {
                if rank < closing {
                    self.finish(extension, reason);
                }
            } else if lives < self.width() {
                self.keep(extension, lives);
                lives += 1;
            }
        }
        self.live.truncate(lives);
    }

    fn keep(&mut self, extension: Extension, slot: usize) {
        if self.live.len() == slot {
            self.live.push(Live::default());
        }
        let (old, new) = (&self.spare[extension.parent], &mut self.live[slot]);
        new.tokens.clone_from(&old.tokens);
        new.log_probs.clone_from(&old.log_probs);
        new.tokens.push(extension.token);
        new.log_probs.push(extension.log_prob as f32);
        new.total = extension.total;
        new.sample = old.sample;
        if let Some(tracker) = &self.tracker {
            new.progress = tracker.after(old.progress, &new.tokens);
        }
        let row = if self.step == 1 { 0 } else { extension.parent };
        self.continuations.push((row, extension.token));
    }

    fn finish(&mut self, extension: Extension, reason: FinishReason) {
        let parent = &self.spare[extension.parent];
        let ended = Live {
            tokens: [&parent.tokens[..], &[extension.token]].concat(),
            log_probs: [&parent.log_probs[..], &[extension.log_prob as f32]].concat(),
            total: extension.total,
            sample: parent.sample,
            progress: parent.progress,
        };
        let finished = self.hypothesis(ended, reason);
        insert(&mut self.finished, finished, self.settings.width());
    }

    fn hypothesis(&self, live: Live, finish: FinishReason) -> Hypothesis {
        let score = live.total / self.settings.length_penalty.divisor(live.tokens.len());
        Hypothesis { tokens: live.tokens, log_probs: live.log_probs, score, finish }
    }

    /// Whether the search can stop. By GNMT's rule: no live hypothesis can displace one of the finished ones that are
    /// asked for, even if all its further tokens have probability 1.
    fn is_settled(&self) -> bool {
        let (needed, length) = match self.rule() {
            BeamRule::Gnmt => (self.settings.n_best, self.limit),
            BeamRule::Transformers => (self.settings.width(), self.step),
        };
        let best = self.live[0].total / self.settings.length_penalty.divisor(length);
        let worst = self.finished.get(needed - 1);
        self.settings.sampling.is_none() && worst.is_some_and(|worst| worst.score >= best)
    }

    /// The translations. A beam search returns first those that the model ended, then those that the limit cut, then
    /// those after which no token is allowed, each group best first. Sampling returns all in the order of their scores.
    pub(super) fn into_hypotheses(mut self) -> Vec<Hypothesis> {
        let mut live = std::mem::take(&mut self.live);
        live.retain(|live| self.has_terms(live.progress, &live.tokens));
        let live = live.into_iter();
        let cut: Vec<_> = live.map(|live| self.hypothesis(live, FinishReason::Limit)).collect();
        let mut all = self.finished;
        all.extend(cut);
        all.extend(self.dead_ends);
        if self.settings.sampling.is_some() {
            // Stable: of equals, what the model closed comes first.
            all.sort_by(|a, b| b.score.total_cmp(&a.score));
        }
        all.truncate(self.settings.n_best);
        all
    }
}

/// Inserts `new` into `ranked`, after those with an equal score, and keeps the best `most`.
fn insert(ranked: &mut Vec<Hypothesis>, new: Hypothesis, most: usize) {
    let place = ranked.partition_point(|kept| kept.score >= new.score);
    ranked.insert(place, new);
    ranked.truncate(most);
}
