//! The input of a search for one sentence, and the selection of extensions.

use std::cmp::Ordering;

use burnformer_core::RandomKey;
use burnformer_kernels::{Top, log_sum_exp, top_k_above};

use super::constraints::{TokenChoices, constrain, constrain_request, forced, penalise};
use super::error::SentenceError;
use super::request::Request;
use super::rule::{self, Rule};
use super::sampling::draw;
use crate::error::Result;
use crate::model::{SpecialIds, StepModel};
use crate::settings::{AtLimit, BeamRule, SearchSettings};

/// The constant input of the search for one sentence: the request, the settings and the limits.
pub(super) struct Task<'a> {
    /// The index of the sentence in the caller's list.
    pub index: usize,
    pub request: &'a Request,
    pub settings: &'a SearchSettings,
    pub special: SpecialIds,
    /// The largest number of tokens of the translation, with `</s>`.
    pub limit: usize,
    /// The tokens with computed logits.
    pub choices: TokenChoices,
    /// The random key of samples.
    pub key: RandomKey,
}

impl<'a> Task<'a> {
    /// The task of `request`, at `index` in the caller's list.
    pub fn new(
        index: usize,
        request: &'a Request,
        settings: &'a SearchSettings,
        model: &dyn StepModel,
    ) -> Self {
        let special = model.special();
        let seed = settings
            .sampling
            .as_ref()
            .map_or(0, |sampling| sampling.seed);
        Self {
            index,
            request,
            settings,
            special,
            limit: request.limit(settings, model),
            choices: TokenChoices::of(request, settings, special, model.target_vocab()),
            key: request.random_key(seed),
        }
    }

    /// The number of initial hypotheses: the samples, or one.
    pub fn starts(&self) -> usize {
        if self.settings.sampling.is_some() {
            self.settings.n_best
        } else {
            1
        }
    }

    /// The logarithm of the sum of the exponentials of `logits`, after `step` tokens.
    ///
    /// # Errors
    /// Returns [`SentenceError::NotFinite`] if the result is NaN or infinite.
    pub fn normaliser(&self, logits: &[f32], step: usize) -> Result<f64> {
        let normaliser = log_sum_exp(logits);
        normaliser
            .is_finite()
            .then_some(normaliser)
            .ok_or_else(|| SentenceError::NotFinite(step).of(self.index + 1))
    }

    /// The forced token after the first `step` tokens, if any, with its log-probability.
    pub fn forced(&self, logits: &[f32], normaliser: f64, step: usize) -> Option<(u32, f64)> {
        let eos = self.special.eos;
        if let Some(token) = forced(self.request, step, eos) {
            return Some((token, self.log_prob_of_forced(token, logits, normaliser)));
        }
        if self.settings.at_limit == AtLimit::Close && step + 1 >= self.limit {
            return Some((eos, 0.0));
        }
        let first = self.settings.forced_bos.filter(|_| step == 0)?;
        Some((first, self.log_prob_of_forced(first, logits, normaliser)))
    }

    fn log_prob_of_forced(&self, token: u32, logits: &[f32], normaliser: f64) -> f64 {
        // Forced tokens have probability 1 in transformers.
        if self.beam_rule() == BeamRule::Transformers {
            return 0.0;
        }
        let index = self
            .choices
            .position(token)
            .expect("a forced token is among the choices");
        f64::from(logits[index]) - normaliser
    }

    /// Returns whether `token` ends a translation.
    pub fn ends(&self, token: u32) -> bool {
        token == self.special.eos || self.settings.end_tokens.contains(&token)
    }

    /// Sets the logits of tokens that may not follow `tokens` to −∞, and lowers the logits of
    /// repeated tokens.
    pub fn constrain(&self, logits: &mut [f32], normaliser: f64, tokens: &[u32]) {
        let Self {
            request,
            settings,
            special,
            choices,
            ..
        } = self;
        constrain(logits, tokens, settings, *special, choices);
        constrain_request(logits, tokens, request, settings, special.eos, choices);
        if settings.repetition_penalty > 1.0 {
            let is_beam_search = settings.beam_size > 1 && settings.sampling.is_none();
            // transformers lowers log-probabilities in a beam search, and logits otherwise.
            let zero = if is_beam_search { normaliser } else { 0.0 };
            let seen = tokens.iter().copied().chain([special.bos]);
            penalise(logits, seen, settings.repetition_penalty, zero, choices);
        }
    }

    /// Fills `best` with the possible extensions of a hypothesis of `step` tokens and their logits.
    /// Beam search takes the `count` highest logits above `floor`; sampling draws one token, with a
    /// random key of `step` and `root`, the number of the sample.
    pub fn select(
        &self,
        logits: &[f32],
        floor: f32,
        count: usize,
        [root, step]: [usize; 2],
        best: &mut Vec<Top>,
    ) {
        match &self.settings.sampling {
            Some(sampling) => {
                let key = self.key.fold(root as u64).fold(step as u64);
                let drawn = draw(logits, sampling, key, best);
                best.clear();
                best.extend(drawn.map(|position| (logits[position as usize], position)));
            }
            None => top_k_above(logits, floor, count, best),
        }
        best.iter_mut()
            .for_each(|(_, position)| *position = self.choices.id(*position));
    }

    /// The order of two extensions by their totals, the better first. Samples keep their order.
    pub fn order(&self, a: f64, b: f64) -> Ordering {
        if self.settings.sampling.is_some() {
            Ordering::Equal
        } else {
            b.total_cmp(&a)
        }
    }

    /// The rule for closing hypotheses and stopping. Sampling uses the rule of GNMT.
    fn beam_rule(&self) -> BeamRule {
        let SearchSettings {
            beam_rule,
            sampling,
            ..
        } = self.settings;
        if sampling.is_some() {
            BeamRule::Gnmt
        } else {
            *beam_rule
        }
    }

    /// The decisions of the search about closing hypotheses and stopping.
    pub fn rule(&self) -> &'static dyn Rule {
        rule::of(self.beam_rule(), self.settings.early_stopping)
    }
}
