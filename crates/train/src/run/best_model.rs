//! The model in `best/`, and its value in validation.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::config::{EarlyStoppingMetric, Standing};
use crate::error::{At, TrainError};

/// The file of `best/` with the value of its model.
const FILE: &str = "validation.json";

/// The validation that made a model the best of its run: a model of the run itself, or an average
/// of checkpoints.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BestModel {
    /// The number of updates made.
    pub step: u64,
    /// If true, it is the average of the checkpoints up to that update.
    pub averaged: bool,
    /// The value of the metric, and the loss.
    #[serde(flatten)]
    pub standing: Standing,
}

/// The content of [`FILE`].
#[derive(Serialize, Deserialize)]
struct File {
    metric: EarlyStoppingMetric,
    #[serde(flatten)]
    best: BestModel,
}

impl BestModel {
    /// Writes the value of the model, measured by `metric`, to the model directory `folder`.
    pub(crate) fn write(
        self,
        folder: &Path,
        metric: EarlyStoppingMetric,
    ) -> Result<(), TrainError> {
        let path = folder.join(FILE);
        let json = serde_json::to_vec_pretty(&File { metric, best: self });
        let json = json.expect("a validation is plain data");
        fs::write(&path, json).at(&path)
    }

    /// The value of the model in `folder`, measured by `metric`; `None` if it is not known.
    pub(crate) fn read(folder: &Path, metric: EarlyStoppingMetric) -> Option<Self> {
        let file: File = serde_json::from_slice(&fs::read(folder.join(FILE)).ok()?).ok()?;
        (file.metric == metric).then_some(file.best)
    }
}

impl std::fmt::Display for BestModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = match self.averaged {
            false => "the model of update",
            true => "the average of the checkpoints up to update",
        };
        write!(f, "{what} {} ({:.4})", self.step, self.standing.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_model_is_worth_comes_back_bit_for_bit_for_its_own_metric_alone() {
        let folder = tempfile::tempdir().unwrap();
        let standing = Standing { value: 35.13 + f64::EPSILON * 16.0, nll: 1.0 / 3.0 };
        let best = BestModel { step: 300, averaged: true, standing };
        best.write(folder.path(), EarlyStoppingMetric::Bleu).unwrap();
        assert_eq!(BestModel::read(folder.path(), EarlyStoppingMetric::Bleu), Some(best));
        assert_eq!(BestModel::read(folder.path(), EarlyStoppingMetric::Loss), None);
        assert_eq!(BestModel::read(&folder.path().join("none"), EarlyStoppingMetric::Bleu), None);
    }
}
