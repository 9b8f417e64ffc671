//! The section `[validation]`: how often a model is measured, and how.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What decides which model is best and when to stop: `validation.metric`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EarlyStoppingMetric {
    /// BLEU of the translated validation text; higher is better.
    #[default]
    Bleu,
    /// Perplexity per token, e to the mean negative log-likelihood; lower is better.
    Ppl,
    /// The label-smoothed loss per token; lower is better.
    Loss,
}

impl EarlyStoppingMetric {
    /// Whether `value` is better than `other`, or is the first one. NaN is never better.
    pub fn is_better(self, value: f64, other: Option<f64>) -> bool {
        match (self, other) {
            (_, None) => !value.is_nan(),
            (Self::Bleu, Some(other)) => value > other,
            (Self::Ppl | Self::Loss, Some(other)) => value < other,
        }
    }
}

/// How often the model is measured on text that it does not learn from, and how.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ValidationSettings {
    /// The number of updates between two validations; 0 validates only at the end of the run.
    pub every: u64,
    /// Whether a validation translates its text and scores it by BLEU, beside measuring the loss. Switch it off
    /// to validate faster, and choose another `validation.metric` with it.
    pub bleu: bool,
    /// The number of sentences, from the start of the validation text, that are translated for BLEU; 0 takes
    /// all. The loss is always that of the whole text.
    pub max_sentences: usize,
    /// The number of hypotheses of the beam search that translates the validation text, from 1, which is greedy
    /// search and fastest, to 1,000.
    pub beam: usize,
    /// The length penalty α of that search (paper §6.1); 0 or more. Larger values favour longer translations.
    pub alpha: f64,
    /// The number that decides which model becomes `best/` and when `validation.patience` is used up.
    pub metric: EarlyStoppingMetric,
    /// The run ends after this many validations in a row without a better one; 0 never ends it.
    pub patience: u64,
    /// The number of hypotheses of the beam search on the test text after training, from 1 to 1,000; the paper
    /// has 4 (§6.1).
    pub test_beam: usize,
    /// The length penalty α of that search; 0 or more. The paper has 0.6 (§6.1).
    pub test_alpha: f64,
    /// Length penalties α to choose from when the run ends, each 0 or more: the model in `best/` translates the validation
    /// text (`max_sentences` of it) with a beam of `test_beam` under each of them, and the one with the highest BLEU is written
    /// into its `generation.json` and takes the place of `test_alpha`. An empty list chooses nothing. Short runs give
    /// models that end their sentences early, which a larger α mends.
    pub test_alphas: Vec<f64>,
}

impl Default for ValidationSettings {
    fn default() -> Self {
        Self {
            every: 1000,
            bleu: true,
            max_sentences: 0,
            beam: 1,
            alpha: 0.0,
            metric: EarlyStoppingMetric::Bleu,
            patience: 0,
            test_beam: 4,
            test_alpha: 0.6,
            test_alphas: vec![],
        }
    }
}
