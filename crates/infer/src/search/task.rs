//! The input of a search for one sentence, and the selection of extensions.

use std::cmp::Ordering;

use burnformer_core::RandomKey;
use burnformer_kernels::{Top, log_sum_exp, top_k_above};

use super::constraints::{
    TokenChoices, forbid_by_request, forbid_by_settings, forced_by_request, penalise,
};
use super::error::SentenceError;
use super::request::Request;
use super::rule::{self, Rule};
use super::sampling::draw;
use crate::error::Result;
use crate::model::{SpecialIds, StepModel};
use crate::settings::{AtLimit, SearchSettings};

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
    /// The decisions about finishing hypotheses and stopping.
    pub rule: Box<dyn Rule>,
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
            rule: rule::of(settings),
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
    fn normaliser(&self, logits: &[f32], step: usize) -> Result<f64> {
        let normaliser = log_sum_exp(logits);
        normaliser
            .is_finite()
            .then_some(normaliser)
            .ok_or_else(|| SentenceError::NotFinite(step).of(self.index + 1))
    }

    /// The forced token after the first `step` tokens, if any, with its log-probability.
    pub fn forced(&self, logits: &[f32], normaliser: f64, step: usize) -> Option<(u32, f64)> {
        let eos = self.special.eos;
        if let Some(token) = forced_by_request(self.request, self.settings, step, eos) {
            return Some((token, self.log_prob_of_forced(token, logits, normaliser)));
        }
        if self.settings.at_limit == AtLimit::Close && step + 1 >= self.limit {
            return Some((eos, 0.0));
        }
        let first = self.settings.forced_bos.filter(|_| step == 0)?;
        Some((first, self.log_prob_of_forced(first, logits, normaliser)))
    }

    fn log_prob_of_forced(&self, token: u32, logits: &[f32], normaliser: f64) -> f64 {
        if self.rule.forced_are_free() {
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

    /// Constrains the `logits` after `tokens` and biases them towards the prefix, unless the next
    /// token is forced. Returns the normaliser of the logits; −∞ if all tokens are forbidden.
    ///
    /// # Errors
    /// Returns [`SentenceError::NotFinite`] if a logit is NaN or +∞, or all are −∞ at first.
    pub fn prepare(&self, logits: &mut [f32], tokens: &[u32]) -> Result<f64> {
        let normaliser = self.normaliser(logits, tokens.len())?;
        if self.forced(logits, normaliser, tokens.len()).is_some() {
            return Ok(normaliser);
        }
        self.constrain(logits, normaliser, tokens);
        let normaliser = if self.rule.normalises_allowed() {
            log_sum_exp(logits)
        } else {
            normaliser
        };
        Ok(self.bias(logits, normaliser, tokens))
    }

    /// Mixes the distribution of `logits` after `tokens` with the prefix of the request, if the
    /// settings bias towards it and `tokens` agree with it. Returns the new normaliser.
    fn bias(&self, logits: &mut [f32], normaliser: f64, tokens: &[u32]) -> f64 {
        let beta = self.settings.prefix_bias;
        let Self {
            request, choices, ..
        } = self;
        let next = request.prefix.get(tokens.len());
        let next = next.filter(|_| beta > 0.0 && request.prefix.starts_with(tokens));
        let Some(position) = next.and_then(|&id| choices.position(id)) else {
            return normaliser;
        };
        let biased = (1.0 - beta) * (f64::from(logits[position]) - normaliser).exp() + beta;
        let others = (1.0 - beta).ln() - normaliser;
        for logit in logits.iter_mut() {
            *logit = (f64::from(*logit) + others) as f32;
        }
        logits[position] = biased.ln() as f32;
        0.0
    }

    /// Sets the logits of tokens that may not follow `tokens` to −∞, and lowers the logits of
    /// repeated tokens.
    fn constrain(&self, logits: &mut [f32], normaliser: f64, tokens: &[u32]) {
        let Self {
            request,
            settings,
            special,
            choices,
            ..
        } = self;
        forbid_by_settings(logits, tokens, settings, *special, choices);
        forbid_by_request(logits, tokens, request, settings, special.eos, choices);
        if settings.repetition_penalty > 1.0 {
            let is_beam_search = settings.beam_size > 1 && settings.sampling.is_none();
            // transformers lowers log-probabilities in a beam search, and logits otherwise.
            // CTranslate2 always lowers logits.
            let zero = if is_beam_search && !self.rule.normalises_allowed() {
                normaliser
            } else {
                0.0
            };
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
}
