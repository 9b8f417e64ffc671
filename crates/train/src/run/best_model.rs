//! The model in `best/` with its score, and early stopping: a run ends when validations no longer
//! improve.

use std::fs;
use std::path::Path;

use burnformer_files::{FileKind, read_whole};
use serde::{Deserialize, Serialize};

use crate::config::{EarlyStoppingMetric, ValidationScore};
use crate::error::{Result, TrainError};

/// The file of `best/` with the score of its model.
const FILE: &str = "validation.json";

/// The validation of the best model of a run, which may be an average of checkpoints.
#[derive(Clone, Copy, Debug, derive_more::Display, PartialEq, Serialize, Deserialize)]
#[display("{} {step} ({:.4})", if *averaged {
    "the average of the checkpoints up to update"
} else {
    "the model of update"
}, score.value)]
pub struct BestModel {
    /// The number of updates made.
    pub step: u64,
    /// If true, the model is the average of the checkpoints up to that update.
    pub averaged: bool,
    /// The value of the metric, and the loss.
    #[serde(flatten)]
    pub score: ValidationScore,
}

/// The content of [`FILE`].
#[derive(Serialize, Deserialize)]
struct File {
    metric: EarlyStoppingMetric,
    #[serde(flatten)]
    best: BestModel,
}

impl BestModel {
    /// Writes the score of the model by `metric` to the model directory `folder`.
    pub(crate) fn write(self, folder: &Path, metric: EarlyStoppingMetric) -> Result<()> {
        let path = folder.join(FILE);
        let json = serde_json::to_vec_pretty(&File { metric, best: self });
        let json = json.expect("a validation is plain data");
        fs::write(&path, json).map_err(TrainError::io(&path))
    }

    /// The score of the model in `folder` by `metric`; `None` if unknown.
    pub(crate) fn read(folder: &Path, metric: EarlyStoppingMetric) -> Option<Self> {
        let file: File =
            serde_json::from_slice(&read_whole(&folder.join(FILE), FileKind::NOTES).ok()?).ok()?;
        (file.metric == metric).then_some(file.best)
    }
}

/// The best validation of a run's models so far, and the number of validations since. Averages do
/// not count: they are better than their checkpoints, and a run continued after its end would seem
/// to have stopped improving.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EarlyStopping {
    /// The best value of the metric, with its loss.
    #[serde(flatten)]
    pub best: Option<ValidationScore>,
    /// The update of `best`.
    pub step: u64,
    /// The number of validations since `step`, none better.
    pub waited: u64,
}

impl EarlyStopping {
    /// Records the result `new` of the validation after update `step`.
    pub fn record(&mut self, metric: EarlyStoppingMetric, new: ValidationScore, step: u64) {
        if metric.is_better(new, self.best) {
            *self = Self {
                best: Some(new),
                step,
                waited: 0,
            };
        } else {
            self.waited += 1;
        }
    }

    /// Returns whether `patience` consecutive validations were not better. A patience of 0 never
    /// ends the run.
    pub fn exhausted(&self, patience: u64) -> bool {
        patience > 0 && self.waited >= patience
    }

    /// The state after a rollback to `then`. The best validation stays; later validations do not
    /// count.
    pub(crate) fn back_at(self, then: Self) -> Self {
        let since_then = self.step != then.step;
        Self {
            waited: if since_then { 0 } else { then.waited },
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_score_of_a_model_is_restored_bit_for_bit_for_its_metric_alone() {
        let folder = tempfile::tempdir().unwrap();
        let score = ValidationScore {
            value: 35.13 + f64::EPSILON * 16.0,
            nll: 1.0 / 3.0,
        };
        let best = BestModel {
            step: 300,
            averaged: true,
            score,
        };
        best.write(folder.path(), EarlyStoppingMetric::Bleu)
            .unwrap();
        assert_eq!(
            BestModel::read(folder.path(), EarlyStoppingMetric::Bleu),
            Some(best)
        );
        assert_eq!(
            BestModel::read(folder.path(), EarlyStoppingMetric::Loss),
            None
        );
        assert_eq!(
            BestModel::read(&folder.path().join("none"), EarlyStoppingMetric::Bleu),
            None
        );
    }

    fn score(value: f64, nll: f64) -> ValidationScore {
        ValidationScore { value, nll }
    }

    #[test]
    fn of_equal_values_the_lower_loss_wins() {
        use EarlyStoppingMetric::{Auto, Bleu, Chrf, Loss, Ppl};
        for (metric, better, worse) in [
            (Auto, 11.0, 9.0),
            (Bleu, 11.0, 9.0),
            (Chrf, 11.0, 9.0),
            (Ppl, 9.0, 11.0),
            (Loss, 9.0, 11.0),
        ] {
            let is_better =
                |value, nll| metric.is_better(score(value, nll), Some(score(10.0, 2.0)));
            assert!(metric.is_better(score(worse, 2.0), None));
            assert!(!metric.is_better(score(f64::NAN, 2.0), None));
            assert!(is_better(better, 3.0) && is_better(10.0, 1.9));
            let no_better = [(worse, 1.0), (10.0, 2.0), (10.0, f64::NAN), (f64::NAN, 1.0)];
            assert!(no_better.iter().all(|&(value, nll)| !is_better(value, nll)));
        }
    }

    #[test]
    fn validations_without_improvement_exhaust_the_patience() {
        let mut early_stopping = EarlyStopping::default();
        for (step, value) in [(1, 10.0), (2, 11.0), (3, f64::NAN)] {
            early_stopping.record(EarlyStoppingMetric::Ppl, score(value, value), step);
        }
        let best = Some(score(10.0, 10.0));
        assert_eq!(
            early_stopping,
            EarlyStopping {
                best,
                step: 1,
                waited: 2
            }
        );
        assert!(
            early_stopping.exhausted(2)
                && !early_stopping.exhausted(3)
                && !early_stopping.exhausted(0)
        );
    }

    #[test]
    fn a_score_that_stays_0_does_not_exhaust_the_patience_while_the_loss_falls() {
        let mut early_stopping = EarlyStopping::default();
        for (step, nll) in [(1, 5.0), (2, 4.0), (3, 3.0)] {
            early_stopping.record(EarlyStoppingMetric::Bleu, score(0.0, nll), step);
        }
        assert_eq!((early_stopping.step, early_stopping.waited), (3, 0));
    }

    #[test]
    fn a_rollback_keeps_the_best_and_drops_later_validations() {
        let best = Some(score(10.0, 1.0));
        let then = EarlyStopping {
            best,
            step: 4,
            waited: 1,
        };
        let no_better = EarlyStopping { waited: 3, ..then };
        assert_eq!(no_better.back_at(then), then);
        let better = EarlyStopping {
            best: Some(score(12.0, 0.9)),
            step: 6,
            waited: 2,
        };
        assert_eq!(
            better.back_at(then),
            EarlyStopping {
                waited: 0,
                ..better
            }
        );
    }

    #[test]
    fn a_state_without_a_best_loss_is_read() {
        let json = r#"{"value":"10.5","step":4,"waited":1}"#;
        let old: EarlyStopping = serde_json::from_str(json).unwrap();
        assert_eq!(
            (old.best.unwrap().value, old.step, old.waited),
            (10.5, 4, 1)
        );
        let none: EarlyStopping =
            serde_json::from_str(r#"{"value":null,"step":0,"waited":0}"#).unwrap();
        assert_eq!(none, EarlyStopping::default());
        let json = serde_json::to_string(&none).unwrap();
        assert_eq!(serde_json::from_str::<EarlyStopping>(&json).unwrap(), none);
    }
}
