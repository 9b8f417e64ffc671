//! The state of a run in a checkpoint, besides the model and the optimiser, and the recovery from
//! NaN and infinity.

use burnformer_data::SamplerState;
use serde::{Deserialize, Serialize};

use crate::config::{EarlyStoppingMetric, RecoverySettings, ValidationScore};
use crate::float_text;
use crate::report::{ResumePoint, TrainRecord};
use crate::run::{BestModel, EarlyStopping, LogInterval};
use crate::update::LossScale;

/// The state of a run between two updates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunState {
    /// The number of updates made, including skipped ones.
    pub step: u64,
    /// The number of optimiser steps.
    pub optimizer_steps: u64,
    /// The position of the next batch.
    pub sampler: SamplerState,
    /// The number of seconds trained, including those before a resume.
    #[serde(with = "float_text")]
    pub seconds: f64,
    /// The number of real target tokens trained on.
    pub tokens: u64,
    /// The number of sentence pairs trained on.
    pub pairs: u64,
    /// The results of validations.
    #[serde(flatten)]
    pub validation: ValidationState,
    /// The updates since the last log line.
    pub interval: LogInterval,
    /// The recovery from divergence.
    pub recovery: Recovery,
    /// The factor of the loss in float16.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_scale: Option<LossScale>,
}

/// The kind of a checkpoint, which determines how long it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckpointKind {
    /// A checkpoint of `checkpoints.every`, kept until there are enough newer ones.
    Scheduled,
    /// The checkpoint at the end of the run, between two scheduled ones. If the run continues, it
    /// is kept only if all checkpoints are kept.
    Final,
    /// The checkpoint of an interruption, removed as soon as there is a newer one.
    Interrupted,
}

/// The results of the validations of a run so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ValidationState {
    /// The update of the last validation of the run's own model; 0 before the first.
    pub validated: u64,
    /// The last update with a validated average; 0 before the first.
    pub averaged: u64,
    /// The best validation of the run's own models, and the number of validations since.
    pub early_stopping: EarlyStopping,
    /// The best of all validations. Its model is in `best/`.
    pub best_model: Option<BestModel>,
}

impl ValidationState {
    /// Records the score of the model at `step` or, if `averaged`, of the average of the
    /// checkpoints up to it. Returns true if it is the best of all.
    pub(crate) fn record(
        &mut self,
        metric: EarlyStoppingMetric,
        score: ValidationScore,
        step: u64,
        averaged: bool,
    ) -> bool {
        if averaged {
            self.averaged = step;
        } else {
            self.validated = step;
            self.early_stopping.record(metric, score, step);
        }
        let best = metric.is_better(score, self.best_model.map(|best| best.score));
        if best {
            self.best_model = Some(BestModel {
                step,
                averaged,
                score,
            });
        }
        best
    }

    /// The results after a rollback to `then`. The best model stays.
    pub(crate) fn back_at(self, then: Self) -> Self {
        let early_stopping = self.early_stopping.back_at(then.early_stopping);
        Self {
            early_stopping,
            best_model: self.best_model,
            ..then
        }
    }
}

impl RunState {
    /// The state of the report.
    pub(crate) fn reported(&self) -> ResumePoint {
        let ValidationState {
            validated,
            averaged,
            best_model,
            ..
        } = self.validation;
        ResumePoint {
            step: self.step,
            validated,
            averaged,
            best: best_model.map(|best| (best.step, best.averaged)),
            divergences: self.recovery.records,
        }
    }

    /// Ends the interval, begins the next, and returns its means. `lr` is the last learning rate,
    /// and `waited` the seconds of the interval spent waiting for data.
    pub(crate) fn log_point(&mut self, lr: f64, waited: f64) -> TrainRecord {
        let done = std::mem::replace(&mut self.interval, LogInterval::since(self.seconds));
        TrainRecord {
            epoch: self.sampler.epoch + 1,
            step: self.step,
            lr,
            seconds: self.seconds,
            tokens: self.tokens,
            pairs: self.pairs,
            ..done.means(self.seconds, waited)
        }
    }
}

/// The recovery of a run from divergence so far. It belongs to the run's state, so that a resumed
/// run continues in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recovery {
    /// The number of consecutive skipped updates.
    pub skipped: u64,
    /// The number of rollbacks.
    pub rollbacks: u64,
    /// The factor on the schedule's learning rate.
    #[serde(with = "float_text")]
    pub rate_scale: f64,
    /// The number of records of divergence in `metrics.jsonl`.
    pub records: u64,
}

impl Default for Recovery {
    fn default() -> Self {
        Self {
            skipped: 0,
            rollbacks: 0,
            rate_scale: 1.0,
            records: 0,
        }
    }
}

impl Recovery {
    /// Records whether an update was finite. Returns true if the run must roll back.
    pub(crate) fn record(&mut self, settings: &RecoverySettings, finite: bool) -> bool {
        self.skipped = if finite { 0 } else { self.skipped + 1 };
        self.skipped > 0 && self.skipped >= settings.skips
    }

    /// The state after a rollback, with a lower rate; `None` if no rollback is left.
    pub(crate) fn after_rollback(&self, settings: &RecoverySettings) -> Option<Self> {
        (self.rollbacks < settings.rollbacks).then_some(Self {
            skipped: 0,
            rollbacks: self.rollbacks + 1,
            rate_scale: self.rate_scale * settings.rate,
            records: self.records,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::update::{UpdateSize, UpdateStatistics};

    /// Adds updates with the numbers from `from` to before `to`.
    fn add(state: &mut RunState, from: u32, to: u32) {
        for i in from..to {
            let x = 1.0 / f64::from(i);
            let statistics = UpdateStatistics {
                loss: x,
                nll: x * x,
                norm: x / 3.0,
                tokens: 7,
                overflowed: false,
            };
            state.interval.add(UpdateSize::default(), &statistics);
        }
    }

    #[test]
    fn an_interval_saved_in_the_middle_closes_with_the_same_means() {
        let mut whole = RunState::default();
        add(&mut whole, 1, 50);
        let mut parts = RunState::default();
        add(&mut parts, 1, 20);
        let saved = serde_json::to_vec(&parts).unwrap();
        let mut parts: RunState = serde_json::from_slice(&saved).unwrap();
        add(&mut parts, 20, 50);
        assert_eq!(whole.log_point(1e-3, 0.0), parts.log_point(1e-3, 0.0));
    }

    #[test]
    fn consecutive_skips_roll_back_and_a_good_update_resets_them() {
        let settings = RecoverySettings {
            skips: 3,
            ..RecoverySettings::default()
        };
        let mut recovery = Recovery::default();
        let answers =
            [false, false, true, false, false, false].map(|f| recovery.record(&settings, f));
        assert_eq!(answers, [false, false, false, false, false, true]);
        let mut at_once = Recovery::default();
        assert!(at_once.record(
            &RecoverySettings {
                skips: 0,
                ..settings
            },
            false
        ));
        assert!(!at_once.record(
            &RecoverySettings {
                skips: 0,
                ..settings
            },
            true
        ));
    }

    #[test]
    fn each_rollback_lowers_the_rate_until_none_is_left() {
        let settings = RecoverySettings {
            rollbacks: 2,
            ..RecoverySettings::default()
        };
        let once = Recovery::default().after_rollback(&settings).unwrap();
        let twice = once.after_rollback(&settings).unwrap();
        assert_eq!(
            (once.rate_scale, twice.rate_scale, twice.rollbacks),
            (0.5, 0.25, 2)
        );
        assert_eq!(twice.after_rollback(&settings), None);
    }
}
