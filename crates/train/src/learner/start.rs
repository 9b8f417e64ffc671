//! The start of a run: at the beginning, or at its newest complete checkpoint.

use std::io::ErrorKind::{InvalidData, IsADirectory, NotADirectory, NotFound, UnexpectedEof};

use burnformer_core::Precision;
use burnformer_core::model_dir::{ModelDirError, ModelDirProblem};

use super::outcome::limit_reached;
use super::setup::Setup;
use crate::error::TrainError;
use crate::optimizer::Optimizer;
use crate::run::checkpoint::{self, Start};
use crate::run::dir::RunMode;
use crate::run::start_model::freeze;
use crate::run::state::RunState;

impl Start {
    /// The start with the model in the precision of `setup`.
    fn in_precision(mut self, setup: &Setup) -> Self {
        let precision = setup.config.training.precision.number_type();
        self.model.set_precision(precision);
        self.optimizer = self.optimizer.in_precision(precision);
        let scaled = precision == Precision::Float16;
        self.state.loss_scale = scaled.then(|| self.state.loss_scale.unwrap_or_default());
        self
    }
}

impl Setup {
    /// The state from which the run starts.
    ///
    /// # Errors
    /// [`TrainError::NothingToDo`] if the run has already ended there. Nothing is written then, so
    /// that what the run reported at its end stays.
    pub fn start(&self, mode: RunMode) -> Result<Start, TrainError> {
        let start = match mode {
            RunMode::New => self.fresh()?,
            RunMode::Resume => self.newest(|_| true)?,
        };
        let step = start.state.step;
        let is_over = |_: &_| self.run.finished(step).is_some();
        match limit_reached(&self.config, &start.state).filter(is_over) {
            Some(limit) => Err(TrainError::NothingToDo { step, limit: limit.to_string() }),
            None => Ok(start),
        }
    }

    /// The start of a run.
    pub fn fresh(&self) -> Result<Start, TrainError> {
        let Self { config, first, sampler, replicas, .. } = self;
        let model = first.init(config.training.seed, replicas.first())?;
        let model = freeze(model, &config.training.freeze)?;
        let optimizer = Optimizer::new(config.optimizer, &model);
        let state = RunState { sampler: sampler.start(), ..RunState::default() };
        Ok(Start { model, optimizer, state, notes: Vec::new() }.in_precision(self))
    }

    /// The newest whole checkpoint among those of the updates that `wanted` names; the start of the
    /// run if there is none yet. Damaged ones that are newer are named and set aside. A checkpoint
    /// at which the run came to its end knows what that end has shown.
    pub fn newest(&self, wanted: impl Fn(u64) -> bool) -> Result<Start, TrainError> {
        let Self { config, first, origin, run, replicas, .. } = self;
        let mut steps = run.checkpoint_steps()?;
        steps.retain(|&step| wanted(step));
        let mut damaged = Vec::new();
        for &step in steps.iter().rev() {
            let path = run.checkpoint(step);
            match checkpoint::load(&path, config, &first.shape, origin, replicas.first()) {
                Ok(loaded) => {
                    run.forget_other_end(step)?;
                    return Ok(self.at(loaded, &damaged)?.in_precision(self));
                }
                Err(error) if is_damage(&error) => damaged.push((step, error)),
                Err(error) => return Err(error),
            }
        }
        if !damaged.is_empty() {
            let damage = damaged.iter().map(|(_, error)| error.to_string()).collect();
            return Err(TrainError::AllDamaged { path: run.path().into(), damage });
        }
        run.forget_other_end(0)?;
        let mut start = self.fresh()?;
        start.notes.push("no checkpoint yet: the run starts again from its beginning".into());
        Ok(start)
    }

    /// The start at the checkpoint that was `loaded`, after the `damaged` ones were set aside.
    fn at(&self, start: Start, damaged: &[(u64, TrainError)]) -> Result<Start, TrainError> {
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
        Ok(Start { state, notes, ..start })
    }
}

/// Returns whether an older checkpoint may be used instead: not if this one is undamaged but
/// belongs to something else or to a newer version of the program, or cannot be read now by this
/// process.
fn is_damage(error: &TrainError) -> bool {
    match error {
        TrainError::Checkpoint { .. } => true,
        TrainError::ModelDir(ModelDirError {
            problem:
                ModelDirProblem::Version(_) | ModelDirProblem::Architecture(_) | ModelDirProblem::Other,
            ..
        }) => false,
        TrainError::ModelDir(_) => error.io_kind().is_none_or(|kind| {
            matches!(kind, NotFound | UnexpectedEof | InvalidData | NotADirectory | IsADirectory)
        }),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Error;

    use super::*;

    #[test]
    fn a_checkpoint_that_cannot_be_read_now_or_is_of_a_newer_version_is_not_damaged() {
        let path = std::path::PathBuf::from("step-000010/config.json");
        let io = |cause| TrainError::from(ModelDirProblem::Io(cause).at(&path));
        // EACCES, EIO, ENFILE, EMFILE.
        for number in [13, 5, 23, 24] {
            assert!(!is_damage(&io(Error::from_raw_os_error(number))), "{number}");
        }
        assert!(is_damage(&io(Error::from(UnexpectedEof))));
        assert!(is_damage(&ModelDirProblem::Missing.at(&path).into()));
        assert!(!is_damage(&ModelDirProblem::Version(2).at(path).into()));
    }
}
