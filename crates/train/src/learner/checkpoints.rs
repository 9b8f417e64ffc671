//! The checkpoints of a run, from which it starts, resumes and goes back.

use std::io::ErrorKind::{InvalidData, IsADirectory, NotADirectory, NotFound, UnexpectedEof};

use burnformer_core::model_dir::{ModelDirError, ModelDirProblem};

use super::outcome::limit_reached;
use super::setup::Setup;
use crate::error::{Result, TrainError};
use crate::run::{CheckpointError, CheckpointKind, Origin, RunDir, RunMode, Start, checkpoint};

/// The folder of a run with its checkpoints, and the hashes of its data.
pub(super) struct Checkpoints {
    pub run: RunDir,
    pub origin: Origin,
}

impl Checkpoints {
    /// The reason why the checkpoint of `step` was written.
    pub fn kind_of(&self, step: u64) -> CheckpointKind {
        checkpoint::kind(&self.run.checkpoint(step))
    }

    /// The state that the run starts from.
    ///
    /// # Errors
    /// Returns [`TrainError::NothingToDo`] if the run has already ended with this state. Nothing is
    /// written then, and the reports of the finished run stay.
    pub fn start(&self, setup: &Setup, mode: RunMode) -> Result<Start> {
        let start = match mode {
            RunMode::New => setup.fresh()?,
            RunMode::Resume => self.newest(setup, |_| true)?,
        };
        let step = start.state.step;
        if let Some(limit) = limit_reached(&setup.config, &start.state)
            && self.run.finished(step).is_some()
        {
            return Err(TrainError::NothingToDo {
                step,
                limit: limit.to_string(),
            });
        }
        Ok(start)
    }

    /// The newest undamaged checkpoint of a `wanted` update, or the start of the run if there is
    /// none. Newer damaged checkpoints are reported and set aside. The checkpoint of a finished run
    /// includes the results of its end.
    ///
    /// # Errors
    /// Returns [`CheckpointError::AllDamaged`] if every checkpoint is damaged, and the errors of a
    /// checkpoint that cannot be used for another reason.
    pub fn newest(&self, setup: &Setup, wanted: impl Fn(u64) -> bool) -> Result<Start> {
        let Self { run, origin } = self;
        let config = &setup.config;
        let shape = &setup.first.config;
        let device = setup.replicas.first();
        let mut steps = run.checkpoint_steps()?;
        steps.retain(|&step| wanted(step));
        let mut damaged = Vec::new();
        for &step in steps.iter().rev() {
            let path = run.checkpoint(step);
            match checkpoint::load(&path, config, shape, origin, device) {
                Ok(loaded) => {
                    run.forget_other_end(step)?;
                    let precision = config.training.precision.number_type();
                    return Ok(self.at(loaded, &damaged)?.in_precision(precision));
                }
                Err(error) if is_damage(&error) => damaged.push((step, error)),
                Err(error) => return Err(error),
            }
        }
        if !damaged.is_empty() {
            let damage = damaged.iter().map(|(_, error)| error.to_string()).collect();
            return Err(CheckpointError::AllDamaged {
                path: run.path().into(),
                damage,
            }
            .into());
        }
        run.forget_other_end(0)?;
        let mut start = setup.fresh()?;
        start
            .notes
            .push("no checkpoint yet: the run starts again from its beginning".into());
        Ok(start)
    }

    /// Sets the `damaged` checkpoints aside and starts at `start`.
    fn at(&self, start: Start, damaged: &[(u64, TrainError)]) -> Result<Start> {
        let mut notes = Vec::new();
        for (step, error) in damaged {
            let aside = self.run.set_aside(*step)?;
            notes.push(format!("damaged checkpoint: {error}"));
            notes.push(format!(
                "moved it to {} (remove it when you like); going on from update {}",
                aside.display(),
                start.state.step
            ));
        }
        notes.extend(start.notes);
        let mut state = start.state;
        if let Some(finished) = self.run.finished(state.step) {
            state.validation = finished.validation;
        }
        Ok(Start {
            state,
            notes,
            ..start
        })
    }
}

/// Returns whether the checkpoint is damaged, so that an older one may replace it. A checkpoint of
/// another run, of a newer version, or without read permission is not damaged.
pub(super) fn is_damage(error: &TrainError) -> bool {
    match error {
        TrainError::Checkpoint(CheckpointError::Damaged { .. }) => true,
        TrainError::ModelDir(ModelDirError {
            problem:
                ModelDirProblem::Version(_) | ModelDirProblem::Architecture(_) | ModelDirProblem::Other,
            ..
        }) => false,
        TrainError::ModelDir(_) => error.io_kind().is_none_or(|kind| {
            matches!(
                kind,
                NotFound | UnexpectedEof | InvalidData | NotADirectory | IsADirectory
            )
        }),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Error;

    use super::*;

    #[test]
    fn an_unreadable_or_newer_checkpoint_is_not_damaged() {
        let path = std::path::PathBuf::from("step-000010/config.json");
        let io = |cause| TrainError::from(ModelDirProblem::Io(cause).at(&path));
        // EACCES, EIO, ENFILE, EMFILE.
        for number in [13, 5, 23, 24] {
            assert!(
                !is_damage(&io(Error::from_raw_os_error(number))),
                "{number}"
            );
        }
        assert!(is_damage(&io(Error::from(UnexpectedEof))));
        assert!(is_damage(&ModelDirProblem::Missing.at(&path).into()));
        assert!(!is_damage(&ModelDirProblem::Version(2).at(path).into()));
    }
}
