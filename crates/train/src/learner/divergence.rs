//! Divergence and rollback.

use burnformer_core::{Mode, Model, Parameters};

use super::Learner;
use super::divergence_error::DivergenceError;
use super::outcome::Divergence;
use super::processes::send_state;
use crate::error::Result;
use crate::optimizer::is_finite;
use crate::report::{Answer, DivergenceRecord};
use crate::run::{CheckpointKind, Recovery, RunState};
use crate::validation::as_saved;

impl Learner {
    /// Rolls back to the newest scheduled or final checkpoint with a finite loss after it, with a
    /// lower learning rate. Newer checkpoints are set aside. The best model stays.
    ///
    /// # Errors
    /// Returns a [`DivergenceError`] if no rollback is left.
    pub(super) fn roll_back(&mut self, divergence: Divergence) -> Result<()> {
        let step = self.state.step;
        let Some(recovery) = self
            .state
            .recovery
            .after_rollback(&self.setup.config.recovery)
        else {
            self.report_divergence(Answer::Stop, divergence, None)?;
            let (loss, norm) = divergence.loss_and_norm();
            let Recovery {
                rollbacks,
                rate_scale,
                ..
            } = self.state.recovery;
            let run = self.checkpoints.run.path().into();
            let error = DivergenceError {
                run,
                step,
                loss,
                norm,
                rollbacks,
                rate_scale,
            };
            return Err(error.into());
        };
        // The loss of an update depends on the weights before it.
        let last_finite = step - self.state.recovery.skipped.min(step);
        let checkpoints = &self.checkpoints;
        let start = checkpoints.newest(&self.setup, |at| {
            at < last_finite && checkpoints.kind_of(at) != CheckpointKind::Interrupted
        })?;
        start
            .notes
            .iter()
            .try_for_each(|note| self.reporter.note(note))?;
        self.set_aside_after(start.state.step)?;
        self.state.recovery = recovery;
        self.report_divergence(Answer::RollBack, divergence, Some(start.state.step))?;
        let validation = self.state.validation.back_at(start.state.validation);
        self.state = RunState {
            recovery: self.state.recovery,
            validation,
            ..start.state
        };
        self.updater.optimizer = start.optimizer;
        self.updater.loss_scale = self.state.loss_scale;
        self.model = Some(start.model);
        send_state(&self.setup.replicas, self.model(), &self.updater);
        self.reporter.rewind_reports(self.state.reported())
    }

    /// Sets aside the checkpoints after update `step`; the run will write them again.
    fn set_aside_after(&mut self, step: u64) -> Result<()> {
        for newer in self
            .checkpoints
            .run
            .checkpoint_steps()?
            .into_iter()
            .filter(|&at| at > step)
        {
            let aside = self.checkpoints.run.set_aside(newer)?;
            let note = format!(
                "nothing good followed from the checkpoint of update {newer}; moved it to {} (remove it when you like)",
                aside.display()
            );
            self.reporter.note(&note)?;
        }
        Ok(())
    }

    /// Reports divergence to log and metrics.
    pub(super) fn report_divergence(
        &mut self,
        answer: Answer,
        divergence: Divergence,
        back_to: Option<u64>,
    ) -> Result<()> {
        self.state.recovery.records += 1;
        let Recovery {
            records: number,
            rate_scale,
            ..
        } = self.state.recovery;
        let step = self.state.step;
        let (loss, gnorm) = divergence.loss_and_norm();
        let point = DivergenceRecord {
            number,
            step,
            answer,
            loss,
            gnorm,
            back_to,
            rate_scale,
        };
        self.reporter.divergence(&point)
    }

    /// Returns whether the model is sound: its weights and moments are finite, and so is its loss
    /// on the worst batch. (The loss of an update says nothing about its new weights.)
    pub(super) fn is_sound(&self) -> bool {
        has_finite_weights(self.model()) && self.updater.optimizer.moments.are_finite() && {
            let model = as_saved(self.model());
            let device = self.device().clone().inner();
            let worst = &self.setup.worst_batch;
            let recipe = self.updater.recipe;
            let sums = recipe.loss(&model, worst, Mode::Inference, &device);
            sums.smoothed.into_scalar::<f32>().is_finite()
        }
    }
}

/// Returns whether all weights of `model` are finite.
pub(super) fn has_finite_weights(model: &Model) -> bool {
    let mut finite = true;
    model.each_parameter(&mut |_, param| finite = finite && is_finite(param.flat()));
    finite
}
