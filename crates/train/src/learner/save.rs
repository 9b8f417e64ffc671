use std::sync::OnceLock;

use burnformer_infer::SearchSettings;

use super::{Learner, StopReason, metric_value};
use crate::average::average_models;
use crate::checkpoint::{self, Saved};
use crate::error::TrainError;

impl Learner {
    pub(super) fn saved(&self) -> Saved<'_> {
        static SEARCH: OnceLock<SearchSettings> = OnceLock::new();
        Saved {
            config: &self.shape,
            model: self.model(),
            tokenizers: &self.tokenizers,
            search: SEARCH.get_or_init(SearchSettings::default),
        }
    }

    pub(super) fn save_checkpoint(&mut self) -> Result<(), TrainError> {
        let path = self.run.checkpoint(self.state.step);
        checkpoint::save(&path, &self.saved(), &self.updater.adam, &self.state)?;
        self.run.prune(self.config.checkpoints.keep)
    }

    /// The last checkpoint, `last`, the average, and `best` if the average is better.
    pub(super) fn finish(&mut self, reason: StopReason) -> Result<(), TrainError> {
        let step = self.state.step;
        self.reporter.note(&format!("stopped after update {step}: {reason}"))?;
        if self.config.validation.every == 0 || !step.is_multiple_of(self.config.validation.every) {
            self.validate()?;
        }
        if !self.run.checkpoint(step).exists() {
            self.save_checkpoint()?;
        }
        checkpoint::publish(&self.run.checkpoint(step), &self.run.model("last"))?;
        if self.config.checkpoints.average > 1 {
            self.average()?;
        }
        if self.validator.is_none() && self.config.checkpoints.average <= 1 {
            checkpoint::publish(&self.run.model("last"), &self.run.model("best"))?;
        }
        Ok(())
    }

    fn average(&mut self) -> Result<(), TrainError> {
        let steps = self.run.checkpoint_steps()?;
        let newest = &steps[steps.len().saturating_sub(self.config.checkpoints.average)..];
        let dirs: Vec<_> = newest.iter().map(|&step| self.run.checkpoint(step)).collect();
        let (_, model) = average_models(&dirs, &self.device)?;
        self.model = Some(model);
        checkpoint::save_model(&self.run.model("average"), &self.saved())?;
        self.reporter.note(&format!("averaged the checkpoints of updates {newest:?}"))?;
        let better = match &self.validator {
            None => true,
            Some(validator) => {
                let validation = validator.validate(&self.shape, self.model(), &self.device)?;
                let metric = self.config.validation.metric;
                let value = metric_value(metric, &validation);
                let better = self.state.best.record(metric, value, self.state.step);
                self.report_validation(&validation, better)?;
                better
            }
        };
        if better {
            checkpoint::save_model(&self.run.model("best"), &self.saved())?;
        }
        Ok(())
    }
}
