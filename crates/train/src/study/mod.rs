//! The variations of the paper's Table 3, trained one after another and compared; and positions beyond the lengths that
//! were trained on; and what each attention head of a trained model is worth.
//!
//! A study is a folder. Each of its [`Row`]s is a run in a folder of its own, and a JSON file with the measured values
//! once it is finished. A study that is started again skips what is finished and resumes what is not.

mod extrapolation;
mod heads;
mod measure;
mod row;
mod table3;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use burn::tensor::Device;

pub use extrapolation::{extrapolation, extrapolation_table};
pub use heads::{AttentionUse, Head, HeadMeasure, HeadResult, HeadStudy, heads_table};
pub use measure::Measure;
pub use row::{Paper, Row, RowResult};
pub use table3::{Change, table3, table3_change, table3_is_base, table3_table};

use crate::error::TrainError;
use crate::report::Verbosity;
use crate::run::texts::Texts;

/// The folder, texts and devices of a study.
pub struct Study {
    /// The folder of the study.
    pub folder: PathBuf,
    /// Where the texts of its rows are read.
    pub texts: Texts,
    /// The devices on which to train and decode.
    pub device: Device,
    /// What to print of the updates of its rows.
    pub verbosity: Verbosity,
}

impl Study {
    /// The result of `row`: read from its file, or found by training it, which resumes an interrupted run. `None` if
    /// `interrupted` is set before the row is finished.
    ///
    /// # Errors
    /// [`TrainError::Study`] if the row was run with other settings; those of training and decoding.
    pub fn run(
        &self,
        row: &Row,
        interrupted: &AtomicBool,
    ) -> Result<Option<RowResult>, TrainError> {
        if let Some(result) = row.result(&self.folder)? {
            return Ok(Some(result));
        }
        row.train(self, interrupted)
    }

    /// The results of those `rows` that are finished. All rows are checked before any is trained.
    ///
    /// # Errors
    /// [`TrainError::Row`] for a row whose configuration cannot be trained; those of [`run`](Self::run).
    pub fn done(&self, rows: &[Row]) -> Result<Vec<RowResult>, TrainError> {
        rows.iter().try_for_each(Row::check)?;
        let results = rows.iter().map(|row| row.result(&self.folder));
        Ok(results.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}
