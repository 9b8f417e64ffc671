use std::sync::OnceLock;

use burnformer_core::model_dir;
use burnformer_infer::SearchSettings;

use super::{Learner, StopReason};
use crate::average::average_models;
use crate::checkpoint::{self, Progress, Saved};
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

    /// Writes the checkpoint of this update unless it is there, and `last`, then removes what is old.
    pub(super) fn save_checkpoint(&mut self) -> Result<(), TrainError> {
        // The weights are further than the state otherwise.
        assert!(self.unread.is_empty(), "{} updates unread at a checkpoint", self.unread.len());
        let path = self.run.checkpoint(self.state.step);
        if !path.exists() {
            // The metrics reach the disk first: no update of a checkpoint may lack its line.
            self.reporter.sync()?;
            let (state, config, origin) = (&self.state, &self.config, &self.origin);
            let progress = Progress { adam: &self.updater.adam, state, config, origin };
            checkpoint::save(&path, &self.saved(), &progress)?;
        }
        checkpoint::publish(&path, &self.run.model("last"))?;
        self.run.prune(self.config.checkpoints.keep, |step| self.is_regular(step))
    }

    /// The end of a run: the last checkpoint, `last`, the average, and `best` if the average is better.
    /// Killed on the way, it is done again from that checkpoint, with the same outcome.
    pub(super) fn finish(&mut self, reason: StopReason) -> Result<(), TrainError> {
        let step = self.state.step;
        if self.state.validated != step && !self.validate()? {
            let crate::Recovery { rollbacks, rate_scale, .. } = self.state.recovery;
            let (loss, norm) = (f64::NAN, f64::NAN);
            return Err(TrainError::Diverged { step, loss, norm, rollbacks, rate_scale });
        }
        self.save_checkpoint()?;
        let state = self.state;
        if self.config.checkpoints.average > 1 {
            self.average()?;
        }
        if self.validator.is_none() && self.config.checkpoints.average <= 1 {
            checkpoint::publish(&self.run.checkpoint(step), &self.run.model("best"))?;
        }
        // The average is measured beside the run.
        self.state = state;
        self.run.set_finished(step, &reason.to_string())
    }

    fn average(&mut self) -> Result<(), TrainError> {
        let steps = self.whole_checkpoints()?;
        let dirs: Vec<_> = steps.iter().map(|&step| self.run.checkpoint(step)).collect();
        let (_, model) = average_models(&dirs, self.device())?;
        self.model = Some(model);
        checkpoint::save_model(&self.run.model("average"), &self.saved())?;
        self.reporter.note(&format!("averaged the checkpoints of updates {steps:?}"))?;
        if self.validator.is_none() {
            return checkpoint::save_model(&self.run.model("best"), &self.saved());
        }
        self.measure(true).map(drop)
    }

    /// The newest checkpoints to average; damaged ones are named and left out.
    fn whole_checkpoints(&mut self) -> Result<Vec<u64>, TrainError> {
        let mut steps = self.run.checkpoint_steps()?;
        steps.retain(|&step| self.is_regular(step) || step == self.state.step);
        let newest = steps.len().saturating_sub(self.config.checkpoints.average);
        let mut whole = Vec::new();
        for &step in &steps[newest..] {
            match model_dir::verify(&self.run.checkpoint(step)) {
                Ok(()) => whole.push(step),
                Err(error) => self.reporter.note(&format!("left out of the average: {error}"))?,
            }
        }
        Ok(whole)
    }
}
