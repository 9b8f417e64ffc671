use burnformer_core::RandomKey;
use burnformer_kernels::log_sum_exp;

use super::constraint::Choices;
use super::request::Request;
use crate::error::{InferError, SentenceError};
use crate::hypothesis::{FinishReason, Hypothesis};
use crate::model::{SpecialIds, StepModel};
use crate::settings::{BeamRule, SearchSettings};

/// The task of the search for one sentence. No step changes it.
pub(super) struct Task<'a> {
    /// The index of the sentence in the caller's list.
    pub index: usize,
    pub request: &'a Request,
    pub settings: &'a SearchSettings,
    pub special: SpecialIds,
    /// The largest number of tokens of the translation, with `</s>`.
    pub limit: usize,
    /// The tokens to which the logits belong.
    pub choices: Choices,
    /// The randomness of the samples.
    pub key: RandomKey,
}

impl<'a> Task<'a> {
    /// The task of `request`, the one at `index` of the caller's list.
    pub fn new(
        index: usize,
        request: &'a Request,
        settings: &'a SearchSettings,
        model: &dyn StepModel,
    ) -> Self {
        let special = model.special();
        let seed = settings.sampling.as_ref().map_or(0, |sampling| sampling.seed);
        Self {
            index,
            request,
            settings,
            special,
            limit: request.limit(settings, model),
            choices: Choices::of(request, special, model.target_vocab()),
            key: request.random_key(seed),
        }
    }

    /// The number of hypotheses with which the search begins: the samples, or one.
    pub fn starts(&self) -> usize {
        if self.settings.sampling.is_some() { self.settings.n_best } else { 1 }
    }

    /// The logarithm of the sum of the exponentials of `logits`, after `step` tokens.
    ///
    /// # Errors
    /// [`SentenceError::NotFinite`].
    pub fn normaliser(&self, logits: &[f32], step: usize) -> Result<f64, InferError> {
        let normaliser = log_sum_exp(logits);
        let error = || SentenceError::NotFinite(step).of(self.index + 1);
        normaliser.is_finite().then_some(normaliser).ok_or_else(error)
    }

    /// The logit of a token that must be a choice: of the prefix or a term, or `</s>`.
    pub fn logit(&self, logits: &[f32], token: u32) -> f32 {
        let position = self.choices.position(token);
        logits[position.unwrap_or_else(|| panic!("token {token} is not among the choices"))]
    }

    /// The number of extensions that a step considers: 2k, so that k live on even if k end. Greedy
    /// search considers one.
    pub fn candidates(&self) -> usize {
        match self.settings.beam_size {
            1 => 1,
            k => 2 * k,
        }
    }

    /// The rule by which a search closes hypotheses and stops; sampling closes them by that of
    /// GNMT.
    pub fn rule(&self) -> BeamRule {
        match self.settings.sampling {
            Some(_) => BeamRule::Gnmt,
            None => self.settings.beam_rule,
        }
    }

    /// Returns the reason why the extension of this `rank`, the token of number `step` (from 1),
    /// ends; `None` if it does not end.
    pub fn end_of(&self, extension: Extension, rank: usize, step: usize) -> Option<FinishReason> {
        let closed = extension.token == self.special.eos;
        let at_limit = self.rule() == BeamRule::Transformers && step >= self.limit;
        match (closed, at_limit && rank < self.settings.width()) {
            (true, _) => Some(FinishReason::EndOfSentence),
            (false, true) => Some(FinishReason::Limit),
            (false, false) => None,
        }
    }

    /// `live` as a hypothesis that ends for the reason `finish`.
    pub fn hypothesis(&self, live: Live, finish: FinishReason) -> Hypothesis {
        let score = live.total / self.settings.length_penalty.divisor(live.tokens.len());
        Hypothesis {
            tokens: live.tokens,
            log_probs: live.log_probs,
            score,
            finish,
            ..Hypothesis::empty()
        }
    }
}

/// A hypothesis that may still grow.
#[derive(Clone, Debug, Default)]
pub(super) struct Live {
    pub tokens: Vec<u32>,
    pub log_probs: Vec<f32>,
    /// The sum of `log_probs`, in float64.
    pub total: f64,
    /// The number of the sample; 0 in beam search.
    pub sample: usize,
}

/// A live hypothesis extended by one token.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extension {
    pub parent: usize,
    pub token: u32,
    pub log_prob: f64,
    pub total: f64,
}
