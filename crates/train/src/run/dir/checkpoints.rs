//! The checkpoints of a run, and the record of its end.

use std::path::PathBuf;
use std::{fs, io};

use serde::{Deserialize, Serialize};

use super::{FINISHED, RunDir, TEST_SCORE_FILE, step_of};
use crate::error::{At, TrainError};
use crate::run::folder::{remove, write_file};
use crate::run::state::{CheckpointKind, ValidationState};

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
    /// The updates of the existing checkpoints, oldest first.
    ///
    /// # Errors
    /// [`TrainError::Io`] if the folder cannot be read.
    pub fn checkpoint_steps(&self) -> Result<Vec<u64>, TrainError> {
        let folder = self.checkpoints();
        let entries = fs::read_dir(&folder).at(&folder)?;
        let mut steps: Vec<u64> =
            entries.filter_map(|entry| step_of(&entry.ok()?.path())).collect();
        steps.sort_unstable();
        Ok(steps)
    }

    /// Removes all checkpoints but the newest `keep`; with 0, only those that interruptions left.
    ///
    /// `kind` returns the reason why the checkpoint of an update was written. A checkpoint of an
    /// interruption is removed as soon as there is a newer checkpoint, and never displaces the
    /// newest scheduled one, so that a run that was interrupted ends with the same checkpoints as
    /// one that was not. The same holds for the checkpoint of an earlier end of the run, unless all
    /// are kept. Call it right after a checkpoint was written: the newest one is good, and is kept.
    ///
    /// # Errors
    /// [`TrainError::Io`] if a folder cannot be removed.
    pub fn prune(
        &self,
        keep: usize,
        kind: impl Fn(u64) -> CheckpointKind,
    ) -> Result<(), TrainError> {
        let steps = self.checkpoint_steps()?;
        let Some((&newest, older)) = steps.split_last() else { return Ok(()) };
        let stays = |step: &u64| match kind(*step) {
            CheckpointKind::Scheduled => true,
            CheckpointKind::Final => keep == 0,
            CheckpointKind::Interrupted => false,
        };
        let (staying, going): (Vec<u64>, Vec<u64>) = older.iter().partition(|step| stays(step));
        // The newest counts as one; if it is not scheduled, at least one scheduled stays beside it.
        let beside = usize::from(kind(newest) != CheckpointKind::Scheduled);
        let stay = if keep == 0 { usize::MAX } else { (keep - 1).max(beside) };
        let surplus = staying.len().saturating_sub(stay);
        for &step in staying[..surplus].iter().chain(&going) {
            let path = self.checkpoint(step);
            remove(&path).at(&path)?;
        }
        Ok(())
    }

    /// Renames the damaged checkpoint of `step` to `step-000100.damaged`.
    ///
    /// # Errors
    /// [`TrainError::Io`] if it cannot be moved.
    pub fn set_aside(&self, step: u64) -> Result<PathBuf, TrainError> {
        let path = self.checkpoint(step);
        let aside = path.with_added_extension("damaged");
        remove(&aside).and_then(|()| fs::rename(&path, &aside)).at(&path)?;
        Ok(aside)
    }

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
        [FINISHED, TEST_SCORE_FILE].iter().try_for_each(|name| {
            let path = self.path.join(name);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    Err(TrainError::io(&path, error))
                }
                _ => Ok(()),
            }
        })
    }
}
