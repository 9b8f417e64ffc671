//! The records of a run: training numbers, validations and divergence.

use serde::{Deserialize, Deserializer, Serialize};

/// One line of a metrics file: `{"kind":"train","epoch":1,…}` or `{"kind":"valid","step":100,…}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Record {
    /// Training numbers.
    Train(TrainRecord),
    /// A validation.
    Valid(ValidRecord),
    /// The answer to a divergence.
    Divergence(DivergenceRecord),
}

/// The training numbers of several consecutive updates, of which the last is `step`.
///
/// JSON knows no infinity and no NaN: such a value (a diverged loss) is written as `null` and read
/// back as NaN.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrainRecord {
    /// The epoch (pass over the corpus), from 1.
    pub epoch: u64,
    /// The number of updates done.
    pub step: u64,
    /// The label-smoothed loss in nats per target token.
    #[serde(deserialize_with = "nan_if_null")]
    pub loss: f64,
    /// The negative log-likelihood without smoothing, in nats per target token.
    #[serde(deserialize_with = "nan_if_null")]
    pub nll: f64,
    /// The perplexity, `exp(nll)`.
    #[serde(deserialize_with = "nan_if_null")]
    pub ppl: f64,
    /// The learning rate of the last update.
    #[serde(deserialize_with = "nan_if_null")]
    pub lr: f64,
    /// The global norm of the gradient before clipping.
    #[serde(deserialize_with = "nan_if_null")]
    pub gnorm: f64,
    /// The number of real target tokens (without padding) per second.
    #[serde(deserialize_with = "nan_if_null")]
    pub tokens_per_second: f64,
    /// The share of padding in the computed tokens, 0 to 1.
    #[serde(deserialize_with = "nan_if_null")]
    pub padding: f64,
    /// The share of the elapsed time that was spent waiting for data, 0 to 1.
    #[serde(deserialize_with = "nan_if_null")]
    pub data_wait: f64,
    /// The seconds of training since the first start, including those before a resume.
    #[serde(deserialize_with = "nan_if_null")]
    pub seconds: f64,
    /// The number of target tokens seen so far.
    pub tokens: u64,
    /// The number of sentence pairs seen so far.
    pub pairs: u64,
}

/// The result of one validation. Floats that are not finite are written in the way of
/// [`TrainRecord`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ValidRecord {
    /// The number of updates done.
    pub step: u64,
    /// The seconds of training since the first start, including those before a resume.
    #[serde(deserialize_with = "nan_if_null")]
    pub seconds: f64,
    /// The label-smoothed loss in nats per target token.
    #[serde(deserialize_with = "nan_if_null")]
    pub loss: f64,
    /// The negative log-likelihood without smoothing, in nats per target token.
    #[serde(deserialize_with = "nan_if_null")]
    pub nll: f64,
    /// The perplexity, `exp(nll)`.
    #[serde(deserialize_with = "nan_if_null")]
    pub ppl: f64,
    /// The corpus BLEU of the decoded validation text, 0 to 100; `None` if nothing was decoded.
    pub bleu: Option<f64>,
    /// The corpus chrF, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chrf: Option<f64>,
    /// The signature, which says how `bleu` was computed.
    pub signature: Option<String>,
    /// If true, this is the best validation so far.
    pub best: bool,
    /// If true, the average of the last checkpoints was measured, rather than the model itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub averaged: bool,
}

/// The answer to a loss or gradient that is not finite, or to a model whose output is not finite.
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

/// A record of divergence. Floats that are not finite are written in the way of [`TrainRecord`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DivergenceRecord {
    /// The number of this record among those of its kind, from 1.
    pub number: u64,
    /// The update.
    pub step: u64,
    /// The answer.
    pub answer: Answer,
    /// The label-smoothed loss of the update in nats per target token.
    #[serde(deserialize_with = "nan_if_null")]
    pub loss: f64,
    /// The global norm of its gradient.
    #[serde(deserialize_with = "nan_if_null")]
    pub gnorm: f64,
    /// The update to which the run went back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_to: Option<u64>,
    /// The factor by which the schedule's learning rate is multiplied from now on.
    #[serde(deserialize_with = "nan_if_null")]
    pub rate_scale: f64,
}

fn nan_if_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(deserializer)?.unwrap_or(f64::NAN))
}
