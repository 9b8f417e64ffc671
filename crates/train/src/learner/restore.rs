//! Where a run starts: at the beginning, at its newest complete checkpoint, or at the one to which it goes back.

use std::io::ErrorKind::{InvalidData, IsADirectory, NotADirectory, NotFound, UnexpectedEof};

use burn::tensor::Device;
use burnformer_core::model_dir::ModelDirError;
use burnformer_core::{Model, Precision};
use burnformer_data::BatchSampler;

use super::Learner;
use super::save::kind_of;
use crate::checkpoint::{self, CheckpointKind, Loaded, RunState};
use crate::config::TrainConfig;
use crate::error::TrainError;
use crate::freeze::freeze;
use crate::optimizer::Optimizer;
use crate::origin::Origin;
use crate::report::{Answer, DivergenceRecord};
use crate::run_dir::RunDir;
use crate::start_model::FirstModel;

/// A model, its optimiser and the state of the run.
pub(super) struct Start {
    pub(super) model: Model,
    pub(super) optimizer: Optimizer,
    pub(super) state: RunState,
    /// Messages for the user about the start.
    pub(super) notes: Vec<String>,
}

impl Start {
    /// The start of a run.
    pub(super) fn fresh(
        config: &TrainConfig,
        first: &FirstModel,
        sampler: &BatchSampler,
        device: &Device,
    ) -> Result<Self, TrainError> {
        let model = first.init(config.training.seed, device)?;
        let model = freeze(model, &config.training.freeze)?;
        let optimizer = Optimizer::new(config.optimizer, &model);
        let state = RunState { sampler: sampler.start(), ..RunState::default() };
        let start = Self { model, optimizer, state, notes: Vec::new() };
        Ok(start.in_precision(config.training.precision.number_type()))
    }

    /// The start with the model in `precision`.
    fn in_precision(mut self, precision: Precision) -> Self {
        self.model.set_precision(precision);
        self.optimizer = self.optimizer.in_precision(precision);
        let scaled = precision == Precision::Float16;
        self.state.loss_scale = scaled.then(|| self.state.loss_scale.unwrap_or_default());
        self
    }
}

/// The newest whole checkpoint of `run` among those of the updates that `wanted` names; its start if there is none yet.
/// Damaged ones that are newer are named and set aside. A checkpoint at which the run came to its end knows what that
/// end has shown.
pub(super) fn newest(
    run: &RunDir,
    config: &TrainConfig,
    origin: &Origin,
    first: &FirstModel,
    sampler: &BatchSampler,
    device: &Device,
    wanted: impl Fn(u64) -> bool,
) -> Result<Start, TrainError> {
    let mut steps = run.checkpoint_steps()?;
    steps.retain(|&step| wanted(step));
    let mut damaged = Vec::new();
    for &step in steps.iter().rev() {
        match checkpoint::load(&run.checkpoint(step), config, origin, device) {
            Ok(loaded) => {
                run.forget_other_end(step)?;
                let start = start(run, loaded, &damaged)?;
                return Ok(start.in_precision(config.training.precision.number_type()));
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
    let mut start = Start::fresh(config, first, sampler, device)?;
    start.notes.push("no checkpoint yet: the run starts again from its beginning".into());
    Ok(start)
}

/// Whether an older checkpoint may be used instead: not if this one is undamaged but belongs to something else or to a
/// newer version of the program, or cannot be read now by this process.
fn is_damage(error: &TrainError) -> bool {
    match error {
        TrainError::Checkpoint { .. } => true,
        TrainError::ModelDir(
            ModelDirError::Version { .. } | ModelDirError::Architecture { .. },
        ) => false,
        TrainError::ModelDir(_) => error.io_kind().is_none_or(|kind| {
            matches!(kind, NotFound | UnexpectedEof | InvalidData | NotADirectory | IsADirectory)
        }),
        _ => false,
    }
}

fn start(run: &RunDir, loaded: Loaded, damaged: &[(u64, TrainError)]) -> Result<Start, TrainError> {
    let Loaded { model, optimizer, mut state, changes } = loaded;
    if let Some(validation) = run.finished(state.step).and_then(|finished| finished.validation) {
        state.validation = validation;
    }
    let mut notes = Vec::new();
    for (step, error) in damaged {
        let aside = run.set_aside(*step)?;
        notes.push(format!("damaged checkpoint: {error}"));
        notes.push(format!(
            "moved it to {} (remove it when you like); going on from update {}",
            aside.display(),
            state.step
        ));
    }
    notes.extend(changes.into_iter().map(|change| format!("changed since: {change}")));
    Ok(Start { model, optimizer, state, notes })
}

impl Learner {
    /// Whether the configuration asks for a checkpoint after update `step`.
    pub(super) fn is_scheduled(&self, step: u64) -> bool {
        let every = self.config.checkpoints.every;
        every > 0 && step.is_multiple_of(every)
    }

    /// Goes back to the last checkpoint that was scheduled or that an earlier end of the run left, and from which
    /// something finite followed, with a lower learning rate. Newer ones are set aside. The best model so far stays the
    /// best.
    ///
    /// # Errors
    /// [`TrainError::Diverged`] if the run went back often enough.
    pub(super) fn go_back(&mut self, loss: f64, norm: f64) -> Result<(), TrainError> {
        let step = self.state.step;
        let Some(recovery) = self.state.recovery.go_back(&self.config.recovery) else {
            self.report_divergence(Answer::Stop, loss, norm, None)?;
            let crate::Recovery { rollbacks, rate_scale, .. } = self.state.recovery;
            return Err(TrainError::Diverged { step, loss, norm, rollbacks, rate_scale });
        };
        let device = self.device().clone();
        // A loss that is finite was computed with the weights before its update.
        let last_finite = step - self.state.recovery.skipped.min(step);
        let wanted =
            |at: u64| at < last_finite && kind_of(&self.run, at) != CheckpointKind::Interrupted;
        let start = newest(
            &self.run,
            &self.config,
            &self.origin,
            &self.first,
            &self.sampler,
            &device,
            wanted,
        )?;
        start.notes.iter().try_for_each(|note| self.reporter.note(note))?;
        self.set_aside_after(start.state.step)?;
        self.state.recovery = recovery;
        self.report_divergence(Answer::RollBack, loss, norm, Some(start.state.step))?;
        let validation = self.state.validation.back_at(start.state.validation);
        self.state = RunState { recovery: self.state.recovery, validation, ..start.state };
        self.updater.optimizer = start.optimizer;
        self.updater.loss_scale = self.state.loss_scale;
        self.model = Some(start.model);
        Ok(self.reporter.go_back(self.state.reported())?)
    }

    /// Sets the checkpoints after update `step` aside, which the run writes anew when it comes there again.
    fn set_aside_after(&mut self, step: u64) -> Result<(), TrainError> {
        for newer in self.run.checkpoint_steps()?.into_iter().filter(|&at| at > step) {
            let aside = self.run.set_aside(newer)?;
            let note = format!(
                "nothing good followed from the checkpoint of update {newer}; moved it to {} (remove it when you like)",
                aside.display()
            );
            self.reporter.note(&note)?;
        }
        Ok(())
    }

    /// Reports divergence to log and metrics, once per record.
    pub(super) fn report_divergence(
        &mut self,
        answer: Answer,
        loss: f64,
        gnorm: f64,
        back_to: Option<u64>,
    ) -> Result<(), TrainError> {
        self.state.recovery.records += 1;
        let crate::Recovery { records: number, rate_scale, .. } = self.state.recovery;
        let step = self.state.step;
        let point = DivergenceRecord { number, step, answer, loss, gnorm, back_to, rate_scale };
        Ok(self.reporter.divergence(&point)?)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Error;

    use super::*;

    #[test]
    fn a_checkpoint_that_cannot_be_read_now_or_is_of_a_newer_version_is_not_damaged() {
        let path = std::path::PathBuf::from("step-000010/config.json");
        let io = |source| TrainError::from(ModelDirError::Io { path: path.clone(), source });
        // EACCES, EIO, ENFILE, EMFILE.
        for number in [13, 5, 23, 24] {
            assert!(!is_damage(&io(Error::from_raw_os_error(number))), "{number}");
        }
        assert!(is_damage(&io(Error::from(UnexpectedEof))));
        assert!(is_damage(&ModelDirError::Missing { path: path.clone() }.into()));
        assert!(!is_damage(&ModelDirError::Version { path, found: 2 }.into()));
    }
}
