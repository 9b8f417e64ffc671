//! The section `[validation]`.

use burnformer_metrics::{Chrf, Metric, WritingSystem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::float_text;

/// The measure that decides which model is best and when to stop: `validation.metric`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EarlyStoppingMetric {
    /// `bleu`, or `chrf` if the target text is Korean or has no spaces between words, as in Japanese
    /// and Thai, because BLEU counts words. The log names the metric.
    #[default]
    Auto,
    /// BLEU of the translated validation text, with sacreBLEU's tokeniser `zh` for Chinese and
    /// `char` for other scripts without spaces; higher is better.
    Bleu,
    /// chrF of the translated validation text, which counts characters; higher is better.
    Chrf,
    /// Perplexity per token, e to the mean negative log-likelihood; lower is better.
    Ppl,
    /// The label-smoothed loss per token; lower is better.
    Loss,
}

impl EarlyStoppingMetric {
    /// Returns whether `new` is better than `other`, or is the first one. If the values are equal,
    /// the lower loss is better. NaN never is.
    pub(crate) fn is_better(self, new: ValidationScore, other: Option<ValidationScore>) -> bool {
        let Some(other) = other else {
            return !new.value.is_nan();
        };
        let is_ahead = match self {
            Self::Auto | Self::Bleu | Self::Chrf => new.value > other.value,
            Self::Ppl | Self::Loss => new.value < other.value,
        };
        is_ahead || new.value == other.value && new.nll < other.nll
    }

    /// Resolves `Auto` to BLEU or chrF by the target's writing system; returns others unchanged.
    pub(crate) fn resolved(self, writing: WritingSystem) -> Self {
        match self {
            Self::Auto if writing.fits_bleu() => Self::Bleu,
            Self::Auto => Self::Chrf,
            chosen => chosen,
        }
    }

    /// Returns the metric that scores translations into `writing`: this metric if it is BLEU or
    /// chrF, else the default metric of the writing system.
    pub fn of_translations(self, writing: WritingSystem) -> Box<dyn Metric> {
        match self {
            Self::Bleu => Box::new(writing.bleu()),
            Self::Chrf => Box::new(Chrf::default()),
            _ => writing.metric(),
        }
    }
}

/// The score of a model: the value of the metric, and the loss for equal values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ValidationScore {
    /// The metric's value.
    #[serde(with = "float_text")]
    pub value: f64,
    /// The negative log-likelihood per token, in nats; NaN if it was not recorded.
    #[serde(with = "float_text", default = "nan")]
    pub nll: f64,
}

fn nan() -> f64 {
    f64::NAN
}

/// Validation: the measurement of the model on text that it is not trained on.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct ValidationSettings {
    /// The number of updates between two validations; 0 validates only at the end of the run.
    pub every: u64,
    /// If true, a validation also translates its text and scores the translations by BLEU and chrF.
    /// Switch it off to validate faster, with another `validation.metric`.
    pub bleu: bool,
    /// The number of translated sentences, from the start of the validation text; 0 is all. The loss
    /// is always measured on the whole text.
    pub max_sentences: usize,
    /// The beam size for the validation text, from 1 (greedy search, fastest) to 1,000.
    pub beam: usize,
    /// The length penalty α for the validation text (paper §6.1); 0 or more. Larger values favour
    /// longer translations.
    pub alpha: f64,
    /// The metric that chooses the model in `best/` and that `validation.patience` watches.
    pub metric: EarlyStoppingMetric,
    /// The run ends after this many validations in a row without a better one; 0 never ends it.
    pub patience: u64,
    /// The beam size in `generation.json` of the run's models, also for the test text; from 1 to
    /// 1,000. The paper has 4 (§6.1). A run with `training.from` keeps the beam size of its start
    /// model, unless `test_alphas` is set.
    pub test_beam: usize,
    /// The length penalty α in `generation.json`, likewise; 0 or more. The paper has 0.6 (§6.1).
    pub test_alpha: f64,
    /// Length penalties α to try at the end of the run, each 0 or more. The model in `best/`
    /// translates the validation text (`max_sentences` of it) with each α and a beam of `test_beam`.
    /// The α with the highest BLEU or chrF replaces `test_alpha` in its `generation.json`. If it is
    /// the first or last of the list, further values are tried. An empty list tries none. Models of
    /// short runs end their sentences early and need a larger α.
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
            metric: EarlyStoppingMetric::Auto,
            patience: 0,
            test_beam: 4,
            test_alpha: 0.6,
            test_alphas: vec![],
        }
    }
}
