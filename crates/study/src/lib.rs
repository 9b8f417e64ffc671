//! The paper's comparisons: a recurrent [`baseline`] beside the Transformer, the costs of layers ([`table_1`]), the variations
//! of [`table3()`], [`extrapolation()`] beyond the lengths that were trained on, and what each attention head of a trained model
//! is worth ([`HeadStudy`]).
//!
//! Nothing else of the workspace depends on this crate but the programs. A program that loads or trains the baseline calls
//! [`register`] at its start.
//!
//! A [`Study`] is a folder. Each of its [`Row`]s is a run in a folder of its own, and a JSON file with the measured values
//! once it is finished. A study that is started again skips what is finished and resumes what is not.

pub mod baseline;
mod error;
mod extrapolation;
mod heads;
mod measure;
mod row;
mod table3;
pub mod table_1;

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use burn::tensor::Device;
use burnformer_train::Texts;
use burnformer_train::report::Verbosity;

use baseline::RnnConfig;
pub use error::StudyError;
pub use extrapolation::{extrapolation, extrapolation_table};
pub use heads::{AttentionUse, Head, HeadMeasure, HeadResult, HeadStudy, heads_table};
pub use measure::Measure;
pub use row::{Paper, Row, RowResult};
pub use table3::{Change, table3, table3_change, table3_is_base, table3_table};

/// Makes the recurrent baseline known to this process: model directories and training configurations may name it then.
pub fn register() {
    burnformer_core::register(RnnConfig::ARCHITECTURE, |fields| {
        serde_json::from_value(fields).map(|own: RnnConfig| own.into())
    });
}

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
    /// [`StudyError::File`] if the row was run with other settings; those of training and decoding.
    pub fn run(
        &self,
        row: &Row,
        interrupted: &AtomicBool,
    ) -> Result<Option<RowResult>, StudyError> {
        if let Some(result) = row.result(&self.folder)? {
            return Ok(Some(result));
        }
        row.train(self, interrupted)
    }

    /// The results of those `rows` that are finished. All rows are checked before any is trained.
    ///
    /// # Errors
    /// [`StudyError::Row`] for a row whose configuration cannot be trained; those of [`run`](Self::run).
    pub fn done(&self, rows: &[Row]) -> Result<Vec<RowResult>, StudyError> {
        rows.iter().try_for_each(Row::check)?;
        let results = rows.iter().map(|row| row.result(&self.folder));
        Ok(results.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }
}

/// The program in the README, which the tests compile and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
