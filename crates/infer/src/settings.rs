mod checks;
mod error;
mod length_penalty;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use self::checks::check;
use self::checks::{above_zero, finite, in_range, within};
use self::error::Result;
pub use self::error::SettingsError;
pub use self::length_penalty::{LengthPenalty, length_penalty};

/// The largest number of hypotheses of a sentence. It bounds memory: each hypothesis has a row in the
/// model's batch and in its cache.
pub(crate) const MAX_HYPOTHESES: usize = 1000;
/// The largest `max_length_extra`.
const MAX_LENGTH_EXTRA: usize = 1_000_000;
/// The largest `max_length_factor`.
const MAX_LENGTH_FACTOR: f64 = 1000.0;
/// The largest `repetition_penalty`.
const MAX_REPETITION_PENALTY: f64 = 1000.0;

/// The settings of the search. The default is the paper's (§6.1): beam 4, α 0.6, at most 50 tokens
/// more than in the source.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default, expecting = "a table")]
pub struct SearchSettings {
    /// The beam size: live hypotheses per sentence, from 1 (greedy search) to 1,000. A larger beam
    /// finds more probable translations and takes more time; beyond 5 or so BLEU seldom rises.
    /// Sampling ignores it.
    pub beam_size: usize,
    /// The correction of scores for length. Without it, short translations win, since each token
    /// lowers the probability.
    pub length_penalty: LengthPenalty,
    /// A number that is subtracted from log P for each token, `</s>` included, before the correction
    /// for length: `word-penalty` in Marian. Below 0, it favours longer translations.
    pub word_penalty: f64,
    /// The number of returned hypotheses per sentence, best first; from 1 to `beam_size`, or to
    /// 1,000 in sampling. In a beam search, hypotheses closed by the model come before hypotheses
    /// cut by the length limit.
    pub n_best: usize,
    /// The smallest number of tokens of a translation, without the closing `</s>`; at most
    /// `max_length`. A lower length limit of a sentence wins.
    pub min_length: usize,
    /// The largest number of tokens of a translation, with `</s>`, for any source; at least 1.
    /// Without it only the two keys below limit the length.
    pub max_length: Option<usize>,
    /// The factor of the length limit: a translation has at most `max_length_factor` × source +
    /// `max_length_extra` tokens, with `</s>` on both sides. From 0 to 1,000.
    pub max_length_factor: f64,
    /// The constant part of the length limit, in tokens; the paper has 50 (§6.1). At most
    /// 1,000,000.
    pub max_length_extra: usize,
    /// No sequence of this many tokens occurs twice in a translation; 0 allows repetition. Set it
    /// to 3 or 4 against models that repeat themselves.
    pub no_repeat_ngram: usize,
    /// No sequence of this many tokens of the source occurs in a translation; 0 allows copies. It
    /// is `encoder_no_repeat_ngram_size` in transformers.
    pub no_repeat_source_ngram: usize,
    /// The factor of the log-probability of tokens that the translation already has (Keskar et al.,
    /// 2019); at least 1, which changes nothing. The start token counts as a token of the
    /// translation. As in transformers, a search with a beam of 1 and sampling apply it to the
    /// model's outputs before the softmax, with division where these are positive.
    pub repetition_penalty: f64,
    /// The bias towards the prefix of a request, from 0 to 1: `prefix_bias_beta` in CTranslate2
    /// (Arivazhagan et al., 2020). 0 forces the prefix. Above 0, while a
    /// hypothesis agrees with the prefix, its next token gets the probability (1 − β)·p + β, and all
    /// others (1 − β)·p.
    pub prefix_bias: f64,
    /// The ids of tokens that are never generated, besides padding and `<s>`.
    pub suppress: Vec<u32>,
    /// Sequences of token ids that are never generated: `suppress_sequences` in CTranslate2. The last
    /// token of a sequence is not generated after the others.
    pub suppress_sequences: Vec<Vec<u32>>,
    /// The ids of tokens that are not generated as the first token after a forced prefix or
    /// `forced_bos`.
    pub begin_suppress: Vec<u32>,
    /// The id of the first token of a translation without a forced prefix, such as the code of a
    /// language.
    pub forced_bos: Option<u32>,
    /// The ids of tokens that end a translation, besides `</s>`. They are part of the translation.
    pub end_tokens: Vec<u32>,
    /// The rule of a beam search for closing hypotheses and stopping.
    pub beam_rule: BeamRule,
    /// When a beam search with the rule `transformers` stops.
    pub early_stopping: EarlyStopping,
    /// The number of hypotheses that a beam search with the rule `ctranslate2` closes before it stops,
    /// as a multiple of `beam_size` (Kasai et al., 2022); above 0. A larger number finds more
    /// probable translations and takes more time.
    pub patience: f64,
    /// The weight β of the coverage penalty (Wu et al., 2016, equation 14), which is added to the
    /// score: β · Σ log(min(Σ attention, 1)), a sum over source tokens of the attention from all
    /// target tokens; 0 switches it off. As in CTranslate2, it ranks the hypotheses after the search,
    /// by the mean of the last layer's heads. It favours translations of the whole source, and
    /// needs a model with attention.
    pub coverage_penalty: f64,
    /// The treatment of hypotheses that reach the length limit.
    pub at_limit: AtLimit,
    /// Samples translations with these settings instead of searching for the most probable one, for
    /// example for back-translation.
    pub sampling: Option<Sampling>,
}

/// The rule of a beam search for closing hypotheses and stopping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BeamRule {
    /// The rule of tensor2tensor, after Wu et al., 2016: each `</s>` among the best 2k extensions
    /// closes a hypothesis, and the search stops when no live hypothesis can displace a closed one,
    /// even at the length limit.
    #[default]
    Gnmt,
    /// The rule `gnmt`, without waiting for hypotheses longer than 1.5 times a closed one plus two
    /// tokens. It takes a quarter to a third fewer steps, and the omitted hypotheses mostly ramble.
    /// The default of models trained here.
    Near,
    /// The rule of Hugging Face's transformers: only `</s>` among the best k extensions closes a
    /// hypothesis, and `early_stopping` says when the search stops. Hypotheses cut by the limit are
    /// ranked together with closed ones.
    Transformers,
    /// The rule of Marian: a step takes the best k extensions; `</s>` among them closes a hypothesis,
    /// and k falls by one for each. The search stops when no hypothesis lives. Hypotheses cut by the
    /// limit are ranked together with closed ones, and a limit of 10.5 tokens allows 11.
    Marian,
    /// The rule of CTranslate2: only `</s>` among the best k extensions closes a hypothesis, and the
    /// search stops when k · `patience` hypotheses are closed; without penalties for length and
    /// coverage, when `n_best` are, one of them by the best extension of a step. Forced tokens have
    /// probability 1, and probabilities are normalised over the allowed tokens.
    Ctranslate2,
}

/// When a beam search with [`BeamRule::Transformers`] stops: `early_stopping` in transformers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EarlyStopping {
    /// When no live hypothesis, scored at its current length, is better than the worst of k closed
    /// ones: `false` in transformers.
    #[default]
    Current,
    /// When k hypotheses are closed: `true` in transformers.
    Full,
    /// When no live hypothesis, scored at the length limit, is better than the worst of k closed
    /// ones: `"never"` in transformers.
    Never,
}

/// The treatment of hypotheses that reach the length limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AtLimit {
    /// Hypotheses at the length limit end there, without `</s>`.
    #[default]
    Cut,
    /// Hypotheses at the length limit end with a free `</s>`: `forced_eos_token_id` in transformers.
    Close,
}

/// The distribution for sampling. Scores are still from the model's distribution.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct Sampling {
    /// The divisor of logits before the softmax; above 0. Below 1 it sharpens the distribution,
    /// above 1 it flattens it.
    pub temperature: f64,
    /// The number of most probable tokens to draw from; 0 allows all.
    pub top_k: usize,
    /// The probability mass of the most probable tokens to draw from (Holtzman et al., 2020), after
    /// `top_k`; above 0 and at most 1, which allows all.
    pub top_p: f64,
    /// The seed of all draws. A draw depends only on the seed, the source, the number of the sample
    /// and the position of the token.
    pub seed: u64,
}

impl Default for SearchSettings {
    fn default() -> Self {
        Self {
            beam_size: 4,
            length_penalty: LengthPenalty::default(),
            word_penalty: 0.0,
            n_best: 1,
            min_length: 0,
            max_length: None,
            max_length_factor: 1.0,
            max_length_extra: 50,
            no_repeat_ngram: 0,
            no_repeat_source_ngram: 0,
            repetition_penalty: 1.0,
            prefix_bias: 0.0,
            suppress: Vec::new(),
            suppress_sequences: Vec::new(),
            begin_suppress: Vec::new(),
            forced_bos: None,
            end_tokens: Vec::new(),
            beam_rule: BeamRule::default(),
            early_stopping: EarlyStopping::default(),
            patience: 1.0,
            coverage_penalty: 0.0,
            at_limit: AtLimit::default(),
            sampling: None,
        }
    }
}

impl Default for Sampling {
    fn default() -> Self {
        Self {
            temperature: 1.0,
            top_k: 0,
            top_p: 1.0,
            seed: 1,
        }
    }
}

impl SearchSettings {
    /// Greedy search: the most probable token at each step, scored by log P.
    pub fn greedy() -> Self {
        Self::beam(1, 0.0)
    }

    /// Beam search with GNMT's length penalty. It returns all hypotheses of the beam.
    pub fn beam(beam_size: usize, alpha: f64) -> Self {
        Self {
            beam_size,
            length_penalty: LengthPenalty::Gnmt(alpha),
            n_best: beam_size,
            ..Self::default()
        }
    }

    /// Sets the number of returned hypotheses and the beam size, as a caller asks for them. Without a
    /// `beam`, the beam of the settings is widened to `n_best` if it is narrower. Sampling needs none.
    ///
    /// # Errors
    /// Returns [`SettingsError::Above`] if `beam` is below `n_best`, and the other errors of
    /// [`validate`](Self::validate).
    pub fn set_n_best(&mut self, n_best: usize, beam: Option<usize>) -> Result<()> {
        self.n_best = n_best;
        self.beam_size = match beam {
            Some(beam) => beam,
            None if self.sampling.is_some() => self.beam_size,
            None => self.beam_size.max(n_best),
        };
        self.validate()
    }

    /// The ids of target tokens in the settings, with the names of their settings.
    pub(crate) fn token_ids(&self) -> impl Iterator<Item = (&'static str, u32)> {
        let lists = [
            ("suppress", &self.suppress[..]),
            ("begin_suppress", &self.begin_suppress),
            ("forced_bos", self.forced_bos.as_slice()),
            ("end_tokens", &self.end_tokens),
        ];
        let sequences = self.suppress_sequences.iter();
        lists
            .into_iter()
            .chain(sequences.map(|ids| ("suppress_sequences", &ids[..])))
            .flat_map(|(name, ids)| ids.iter().map(move |&id| (name, id)))
    }

    /// Replaces each id of a target token by `new` of it, for a vocabulary in another order.
    pub fn renumber(&mut self, new: impl Fn(u32) -> u32) {
        for list in [
            &mut self.suppress,
            &mut self.begin_suppress,
            &mut self.end_tokens,
        ] {
            list.iter_mut().for_each(|id| *id = new(*id));
            list.sort_unstable();
        }
        for sequence in &mut self.suppress_sequences {
            sequence.iter_mut().for_each(|id| *id = new(*id));
        }
        self.forced_bos = self.forced_bos.map(new);
    }

    /// The number of hypotheses per sentence: the beam, or the samples.
    pub(crate) fn width(&self) -> usize {
        if self.sampling.is_some() {
            self.n_best
        } else {
            self.beam_size
        }
    }

    /// The number of closed hypotheses that a search keeps: the beam, or all if they are ranked again
    /// by the coverage penalty.
    pub(crate) fn kept(&self) -> usize {
        if self.coverage_penalty == 0.0 {
            self.width()
        } else {
            usize::MAX
        }
    }

    /// The largest number of tokens, with `</s>`, for a source of `source_len` tokens with `</s>`.
    ///
    /// `max_positions` is the number of learned positions, one of which is for `<s>`.
    pub fn limit(&self, source_len: usize, max_positions: Option<usize>) -> usize {
        let relative = match self.beam_rule {
            // Marian stops at the first length that is not below the product, in float32.
            BeamRule::Marian => (self.max_length_factor as f32 * source_len as f32).ceil() as usize,
            _ => (self.max_length_factor * source_len as f64) as usize,
        };
        let relative = relative.saturating_add(self.max_length_extra);
        let absolute = self.max_length.unwrap_or(usize::MAX);
        let positions = max_positions.map_or(usize::MAX, |positions| positions.saturating_sub(1));
        relative.min(absolute).min(positions).max(1)
    }

    /// The score of a hypothesis of `n` tokens, `</s>` included, with the log-probability `total`.
    pub fn score(&self, total: f64, n: usize) -> f64 {
        (total - self.word_penalty * n as f64) / self.length_penalty.divisor(n)
    }

    /// A bound of the score that a hypothesis of `n` tokens can still reach with `length` tokens.
    pub(crate) fn best_score(&self, total: f64, n: usize, length: usize) -> f64 {
        // A penalty lowers the score with each further token, a bonus raises it.
        let words = if self.word_penalty > 0.0 { n } else { length };
        let total = total - self.word_penalty * words as f64;
        let divided_at = if total > 0.0 { n } else { length };
        total / self.length_penalty.divisor(divided_at)
    }

    /// Checks that the settings are in their ranges.
    ///
    /// # Errors
    /// Returns a [`SettingsError`] that names the first setting out of its range.
    pub fn validate(&self) -> Result<()> {
        in_range("beam_size", self.beam_size, 1..=MAX_HYPOTHESES)?;
        in_range("n_best", self.n_best, 1..=MAX_HYPOTHESES)?;
        within("n_best", self.n_best, "beam_size", self.width())?;
        self.length_penalty.validate()?;
        finite("word_penalty", self.word_penalty)?;
        in_range(
            "max_length_factor",
            self.max_length_factor,
            0.0..=MAX_LENGTH_FACTOR,
        )?;
        in_range(
            "max_length_extra",
            self.max_length_extra,
            0..=MAX_LENGTH_EXTRA,
        )?;
        in_range(
            "repetition_penalty",
            self.repetition_penalty,
            1.0..=MAX_REPETITION_PENALTY,
        )?;
        in_range("prefix_bias", self.prefix_bias, 0.0..=1.0)?;
        above_zero("patience", self.patience, MAX_HYPOTHESES as f64)?;
        self.validate_rule()?;
        finite("coverage_penalty", self.coverage_penalty)?;
        let has_empty = self.suppress_sequences.iter().any(Vec::is_empty);
        let remedy = "each sequence needs a token";
        check(!has_empty, "suppress_sequences", &"[[]]", remedy)?;
        let max_length = self.max_length.unwrap_or(usize::MAX);
        let remedy = "at least 1 is needed, for </s>";
        check(max_length > 0, "max_length", &max_length, remedy)?;
        within("min_length", self.min_length, "max_length", max_length)?;
        self.sampling.as_ref().map_or(Ok(()), Sampling::validate)
    }

    /// The number of hypotheses that a search by the rule of CTranslate2 closes before it stops.
    pub(crate) fn patient_beam(&self) -> usize {
        (self.beam_size as f64 * self.patience).round() as usize
    }

    /// Checks that the search can return `n_best` translations by its rule.
    fn validate_rule(&self) -> Result<()> {
        let is_limited = self.beam_rule == BeamRule::Ctranslate2 && self.sampling.is_none();
        check(
            !is_limited || self.n_best <= self.patient_beam(),
            "n_best",
            &self.n_best,
            "at most beam_size × patience translations are possible by the rule of CTranslate2",
        )
    }
}

impl Sampling {
    fn validate(&self) -> Result<()> {
        let temperature = self.temperature;
        check(
            temperature.is_finite() && temperature > 0.0,
            "sampling.temperature",
            &temperature,
            "a positive number is needed; for the most probable token search with a beam of 1",
        )?;
        above_zero("sampling.top_p", self.top_p, 1.0)
    }
}

#[cfg(test)]
mod tests;
