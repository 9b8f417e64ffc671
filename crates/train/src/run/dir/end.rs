//! The record of a run's end.

use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};

use super::{FINISHED, RunDir, TESTED};
use crate::error::TrainError;
use crate::run::folder::write_file;
use crate::run::state::ValidationState;

/// The end of a run, in `finished.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finished {
    /// The number of updates made.
    pub step: u64,
    /// The reason why the run ended.
    pub reason: String,
    /// The results of the validations, including those at the end: the checkpoint of this update
    /// was written before them.
    pub validation: ValidationState,
}

impl RunDir {
    /// Records that the run has ended.
    ///
    /// # Errors
    /// [`TrainError::Io`] if the file cannot be written.
    pub fn set_finished(&self, finished: &Finished) -> Result<(), TrainError> {
        let json = serde_json::to_vec(finished).expect("an end is plain data");
        write_file(&self.path.join(FINISHED), &json)
    }

    /// The end of the run, if it ended after update `step`; `None` if it was killed before.
    pub fn finished(&self, step: u64) -> Option<Finished> {
        let json = fs::read(self.path.join(FINISHED)).ok()?;
        let finished: Finished = serde_json::from_slice(&json).ok()?;
        (finished.step == step).then_some(finished)
    }

    /// Removes the record of the run's end, unless that was after update `step`, from which the run
    /// goes on: when it arrives there again, it has to make its end again.
    ///
    /// # Errors
    /// [`TrainError::Io`] if the file cannot be removed.
    pub(crate) fn forget_other_end(&self, step: u64) -> Result<(), TrainError> {
        if self.finished(step).is_some() {
            return Ok(());
        }
        [FINISHED, TESTED].iter().try_for_each(|name| {
            let path = self.path.join(name);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    Err(TrainError::io(&path, error))
                }
                _ => Ok(()),
            }
        })
    }

    /// The file with the score of the test text in the folder `run`, once that has been scored
    /// after the run's end.
    pub fn test_score_in(run: &Path) -> PathBuf {
        run.join(TESTED)
    }
}
