//! What a run records: training numbers, validations and answers to divergence, and what the bar shows between them.

use serde::{Deserialize, Deserializer, Serialize};

/// One line of a metrics file: `{"kind":"train","epoch":1,…}` or `{"kind":"valid","step":100,…}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Record {
    /// Training numbers.
    Train(TrainRecord),
    /// A validation.
    Valid(ValidRecord),
    /// An answer to divergence.
    Divergence(DivergenceRecord),
}

impl Record {
    /// Updates done when the record was written.
    pub fn step(&self) -> u64 {
        match self {
            Self::Train(point) => point.step,
            Self::Valid(point) => point.step,
            Self::Divergence(point) => point.step,
        }
    }
}

/// The training numbers of one stretch of updates, up to and including `step`.
///
/// JSON knows no infinity and no NaN: such a value (a diverged loss) is written as `null` and read back as NaN.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrainRecord {
    /// Pass over the corpus, from 1.
    pub epoch: u64,
    /// Updates done.
    pub step: u64,
    /// Label-smoothed loss, nats a target token.
    #[serde(deserialize_with = "nan_if_null")]
    pub loss: f64,
    /// Negative log-likelihood without smoothing, nats a target token.
    #[serde(deserialize_with = "nan_if_null")]
    pub nll: f64,
    /// Perplexity, `exp(nll)`.
    #[serde(deserialize_with = "nan_if_null")]
    pub ppl: f64,
    /// Learning rate of the last update.
    #[serde(deserialize_with = "nan_if_null")]
    pub lr: f64,
    /// Global norm of the gradient before clipping.
    #[serde(deserialize_with = "nan_if_null")]
    pub gnorm: f64,
    /// Real target tokens (no padding) a second.
    #[serde(deserialize_with = "nan_if_null")]
    pub tokens_per_second: f64,
    /// Share of padding among the tokens computed, 0 to 1.
    #[serde(deserialize_with = "nan_if_null")]
    pub padding: f64,
    /// Share of wall time spent waiting for data, 0 to 1.
    #[serde(deserialize_with = "nan_if_null")]
    pub data_wait: f64,
    /// Seconds of training since the first start; resumed runs add up.
    #[serde(deserialize_with = "nan_if_null")]
    pub seconds: f64,
    /// Target tokens seen so far.
    pub tokens: u64,
    /// Sentence pairs seen so far.
    pub pairs: u64,
}

/// The outcome of one validation. Floats that are not finite travel as in [`TrainRecord`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ValidRecord {
    /// Updates done.
    pub step: u64,
    /// Seconds of training since the first start; resumed runs add up.
    #[serde(deserialize_with = "nan_if_null")]
    pub seconds: f64,
    /// Label-smoothed loss, nats a target token.
    #[serde(deserialize_with = "nan_if_null")]
    pub loss: f64,
    /// Negative log-likelihood without smoothing, nats a target token.
    #[serde(deserialize_with = "nan_if_null")]
    pub nll: f64,
    /// Perplexity, `exp(nll)`.
    #[serde(deserialize_with = "nan_if_null")]
    pub ppl: f64,
    /// Corpus BLEU of the decoded validation text, 0 to 100; none where nothing was decoded.
    pub bleu: Option<f64>,
    /// The signature that says how `bleu` was computed.
    pub signature: Option<String>,
    /// Whether this is the best validation so far.
    pub best: bool,
    /// Whether it measures the average of the last checkpoints rather than the model as it stands.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub averaged: bool,
}

/// What was done about a loss or gradient that is no number, or a model whose output is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The update was not made.
    Skip,
    /// The run went back to a checkpoint.
    RollBack,
    /// The run stopped.
    Stop,
}

/// One step of dealing with divergence. Floats that are not finite travel as in [`TrainRecord`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DivergenceRecord {
    /// Number of this record among its kind, from 1.
    pub number: u64,
    /// The update.
    pub step: u64,
    /// What was done.
    pub answer: Answer,
    /// Label-smoothed loss of the update, nats a target token.
    #[serde(deserialize_with = "nan_if_null")]
    pub loss: f64,
    /// Global norm of its gradient.
    #[serde(deserialize_with = "nan_if_null")]
    pub gnorm: f64,
    /// The update that the run went back to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_to: Option<u64>,
    /// What the schedule's learning rate is multiplied by from here on.
    #[serde(deserialize_with = "nan_if_null")]
    pub rate_scale: f64,
}

/// What the bar shows between two log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BarState {
    /// Label-smoothed loss, nats a target token.
    pub loss: f64,
    /// Perplexity.
    pub ppl: f64,
    /// Real target tokens a second.
    pub tokens_per_second: f64,
    /// Seconds of training since the first start; resumed runs add up.
    pub seconds: f64,
}

impl From<&TrainRecord> for BarState {
    fn from(point: &TrainRecord) -> Self {
        Self {
            loss: point.loss,
            ppl: point.ppl,
            tokens_per_second: point.tokens_per_second,
            seconds: point.seconds,
        }
    }
}

fn nan_if_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(deserializer)?.unwrap_or(f64::NAN))
}
