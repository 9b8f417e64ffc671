//! The state of a run: what a checkpoint contains beside the model and the optimiser.

use burnformer_data::SamplerState;
use serde::{Deserialize, Serialize};

use crate::best_model::BestModel;
use crate::early_stopping::{EarlyStopping, EarlyStoppingMetric};
use crate::float_text;
use crate::log_interval::LogInterval;
use crate::loss_scale::LossScale;
use crate::recovery::Recovery;
use crate::report::ResumePoint;

/// The state of a run between two updates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunState {
    /// The number of updates made, including skipped ones.
    pub step: u64,
    /// The number of steps that the optimiser made.
    pub optimizer_steps: u64,
    /// The next batch. An update takes whole batches, so that no batch is half accumulated.
    pub sampler: SamplerState,
    /// The number of seconds trained, including those before a resume.
    #[serde(with = "float_text")]
    pub seconds: f64,
    /// The number of real target tokens learned from.
    pub tokens: u64,
    /// The number of sentence pairs learned from.
    pub pairs: u64,
    /// The results of validations.
    #[serde(flatten)]
    pub validation: ValidationState,
    /// The updates since the last log line, under the name that they have in files.
    #[serde(rename = "window")]
    pub interval: LogInterval,
    /// What was done about divergence.
    pub recovery: Recovery,
    /// The factor of the loss in float16.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_scale: Option<LossScale>,
}

/// The results of the validations of a run so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ValidationState {
    /// The update of the last validation of the run's own model; 0 before the first.
    pub validated: u64,
    /// The update at whose end the average was last validated; 0 before the first time.
    #[serde(default)]
    pub averaged: u64,
    /// The best validation of the run's own models, and how many have passed since.
    #[serde(alias = "best")]
    pub early_stopping: EarlyStopping,
    /// The best of all validations, whose model is in `best/`.
    #[serde(default)]
    pub best_model: Option<BestModel>,
}

impl ValidationState {
    /// Notes that the model at `step`, or the average of the checkpoints up to there, has the value `value`. Returns
    /// true if it is the best of all.
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

    /// The results after the run has gone back to the state that it had at `then`: the best model stays the best.
    pub(crate) fn back_at(self, then: Self) -> Self {
        let early_stopping = self.early_stopping.back_at(then.early_stopping);
        Self { early_stopping, best_model: self.best_model, ..then }
    }

    /// The state in files of versions that did not know `best_model`.
    pub(crate) fn completed(self) -> Self {
        let EarlyStopping { value, step, .. } = self.early_stopping;
        let own = value.map(|value| BestModel { step, averaged: false, value });
        Self { best_model: self.best_model.or(own), ..self }
    }
}

impl RunState {
    /// What the run had reported in this state.
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
