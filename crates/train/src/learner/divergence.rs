//! Divergence: how it is found, and how a run goes back.

use burnformer_core::{Mode, Model, Parameters};

use super::Learner;
use super::error::DivergenceError;
use super::outcome::Divergence;
use crate::error::Result;
use crate::optimizer::is_finite;
use crate::report::{Answer, DivergenceRecord};
use crate::run::{CheckpointKind, Recovery, RunState};
use crate::validation::as_saved;

impl Learner {
    /// Goes back to the last checkpoint that was scheduled or that an earlier end of the run left,
    /// and from which something finite followed, with a lower learning rate. Newer ones are set
    /// aside. The best model so far stays the best.
    ///
    /// # Errors
    /// Returns a [`DivergenceError`] if the run has already gone back as often as allowed.
    pub(super) fn go_back(&mut self, divergence: Divergence) -> Result<()> {
        let step = self.state.step;
        let Some(recovery) = self.state.recovery.go_back(&self.setup.config.recovery) else {
            self.report_divergence(Answer::Stop, divergence, None)?;
            let (loss, norm) = divergence.loss_and_norm();
            let Recovery {
                rollbacks,
                rate_scale,
                ..
            } = self.state.recovery;
            let run = self.setup.run.path().into();
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
        // A loss that is finite was computed with the weights before its update.
        let last_finite = step - self.state.recovery.skipped.min(step);
        let wanted = |at| at < last_finite && self.setup.kind_of(at) != CheckpointKind::Interrupted;
        let start = self.setup.newest(wanted)?;
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
        self.send_state();
        self.reporter.go_back(self.state.reported())
    }

    /// Sets the checkpoints after update `step` aside, which the run writes anew when it comes
    /// there again.
    fn set_aside_after(&mut self, step: u64) -> Result<()> {
        for newer in self
            .setup
            .run
            .checkpoint_steps()?
            .into_iter()
            .filter(|&at| at > step)
        {
            let aside = self.setup.run.set_aside(newer)?;
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
        divergence: Divergence,
        back_to: Option<u64>,
    ) -> Result<()> {
        self.state.recovery.records += 1;
        let Recovery {
            records: number,
            rate_scale,
            ..
        } = self.state.recovery;
        let (step, (loss, gnorm)) = (self.state.step, divergence.loss_and_norm());
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

    /// Returns whether the model may be kept: its weights and moments are finite, and so is its
    /// loss on the batch that needs the most memory. The loss of an update is computed before its
    /// weights change, so that it does not show whether the new weights are sound.
    pub(super) fn is_sound(&self) -> bool {
        has_finite_weights(self.model()) && self.updater.optimizer.moments.are_finite() && {
            let model = as_saved(self.model());
            let device = self.device().clone().inner();
            let (worst, recipe) = (&self.setup.worst_batch, self.updater.recipe);
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
