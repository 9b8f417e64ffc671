//! The first look at a run, so that a model is on disk before its first validation or checkpoint.
//!
//! Its time depends on the clock. Therefore it changes nothing of the run, neither its state nor
//! `metrics.jsonl`, and the first validation replaces its model even if that model is better.

use super::Learner;
use crate::config::TrainConfig;
use crate::error::TrainError;
use crate::run::checkpoint;
use crate::run::dir::RunDir;

/// The number of seconds of training after which the first look comes.
const AFTER: f64 = 60.0;

/// The number of updates after which a run would write its first model otherwise: the validation
/// that writes `best/`, or the checkpoint that writes `last/`.
fn first_model(config: &TrainConfig, validates: bool) -> u64 {
    if validates { config.validation.every } else { config.checkpoints.every }
}

/// The number of seconds after which the first look at the run in `run` is due; `None` if it has a
/// model already.
pub(super) fn look_after(config: &TrainConfig, run: &RunDir) -> Option<f64> {
    let has_model = ["best", "last"].iter().any(|name| run.model(name).exists());
    let asks_for_one = first_model(config, !config.data.valid.is_empty()) > 0;
    (asks_for_one && !has_model).then_some(AFTER)
}

impl Learner {
    /// Returns whether the first look is due.
    pub(super) fn look_is_due(&self) -> bool {
        self.look_after.is_some_and(|after| self.clock.seconds() >= after)
    }

    /// Measures the loss on the validation text and writes the model to `best/`, or without such a
    /// text to `last/`, unless that comes within about as long again by itself.
    pub(super) fn first_look(&mut self) -> Result<(), TrainError> {
        self.look_after = None;
        let (step, next) =
            (self.state.step, first_model(&self.setup.config, self.setup.validator.is_some()));
        if next <= 2 * step || self.state.recovery.skipped > 0 || !self.is_sound() {
            return Ok(());
        }
        let device = self.device();
        let nll =
            self.setup.validator.as_ref().map(|validator| validator.nll(self.model(), device));
        let (name, found) = match nll.transpose()? {
            Some(nll) if !nll.is_finite() => return Ok(()),
            Some(nll) => ("best", format!("perplexity {:.1} on the validation text; ", nll.exp())),
            None => ("last", String::new()),
        };
        checkpoint::save_model(&self.setup.run.model(name), &self.saved())?;
        self.reporter.note(&format!(
            "first look after update {step}: {found}{name}/ holds this model until the run saves its next"
        ))
    }
}
