//! Where a run stands: what a checkpoint keeps beside the model and the optimiser.

use burnformer_data::SamplerState;
use serde::{Deserialize, Serialize};

use crate::best_model::BestModel;
use crate::early_stopping::{EarlyStopping, EarlyStoppingMetric};
use crate::float_text;
use crate::log_interval::LogInterval;
use crate::loss_scale::LossScale;
use crate::recovery::Recovery;
use crate::report::ResumePoint;

/// Where a run stands between two updates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunState {
    /// Updates made, skipped ones among them.
    pub step: u64,
    /// Steps the optimiser took.
    pub optimizer_steps: u64,
    /// The batch that comes next: an update takes whole batches, so none is ever half accumulated.
    pub sampler: SamplerState,
    /// Seconds trained, over all sittings.
    #[serde(with = "float_text")]
    pub seconds: f64,
    /// Real target tokens learned from.
    pub tokens: u64,
    /// Sentence pairs learned from.
    pub pairs: u64,
    /// What validations have shown.
    #[serde(flatten)]
    pub validation: ValidationState,
    /// The updates since the last log line, under the name that it has in files.
    #[serde(rename = "window")]
    pub interval: LogInterval,
    /// What was done about divergence.
    pub recovery: Recovery,
    /// What the loss is multiplied by in float16.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_scale: Option<LossScale>,
}

/// What the validations of a run have shown so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ValidationState {
    /// The update of the last validation of the run's own model; 0 before the first.
    pub validated: u64,
    /// The update at whose end the average was validated last; 0 before the first.
    #[serde(default)]
    pub averaged: u64,
    /// The best validation of the run's own models, and how many have passed since.
    #[serde(alias = "best")]
    pub early_stopping: EarlyStopping,
    /// The best validation of all, whose model `best/` holds.
    #[serde(default)]
    pub best_model: Option<BestModel>,
}

impl ValidationState {
    /// Takes in that the model at `step`, or the average of the checkpoints up to there, was worth `value`; true if
    /// it is the best of all.
    pub(crate) fn record(
        &mut self,
        metric: EarlyStoppingMetric,
        value: f64,
        step: u64,
        averaged: bool,
    ) -> bool {
        if averaged {
            self.averaged = step;
        } else {
            self.validated = step;
            self.early_stopping.record(metric, value, step);
        }
        let best = metric.is_better(value, self.best_model.map(|best| best.value));
        if best {
            self.best_model = Some(BestModel { step, averaged, value });
        }
        best
    }

    /// What a run knows that goes back to where it knew `then`: what is best stays so.
    pub(crate) fn back_at(self, then: Self) -> Self {
        let early_stopping = self.early_stopping.back_at(then.early_stopping);
        Self { early_stopping, best_model: self.best_model, ..then }
    }

    /// The state as versions wrote it that did not know of `best_model`.
    pub(crate) fn completed(self) -> Self {
        let EarlyStopping { value, step, .. } = self.early_stopping;
        let own = value.map(|value| BestModel { step, averaged: false, value });
        Self { best_model: self.best_model.or(own), ..self }
    }
}

impl RunState {
    /// What the run had reported when it stood here.
    pub(crate) fn reported(&self) -> ResumePoint {
        let ValidationState { validated, averaged, best_model, .. } = self.validation;
        ResumePoint {
            step: self.step,
            validated,
            averaged,
            best: best_model.map(|best| (best.step, best.averaged)),
            divergences: self.recovery.records,
        }
    }
}
