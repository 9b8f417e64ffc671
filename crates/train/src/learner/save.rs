use burnformer_core::model_dir;
use burnformer_infer::{LengthPenalty, SearchSettings, Translator};

use super::soundness::has_finite_weights;
use super::{Learner, StopReason};
use crate::average::average_models;
use crate::checkpoint::{self, CheckpointKind, Saved, TrainerState};
use crate::error::TrainError;
use crate::run_dir::{Finished, RunDir};

impl Learner {
    pub(super) fn saved(&self) -> Saved<'_> {
        Saved {
            config: &self.shape,
            model: self.model(),
            tokenizers: &self.tokenizers,
            search: &self.search,
        }
    }

    /// Writes the checkpoint of this update unless it exists, and `last`, then removes old checkpoints. If the
    /// configuration asks for a checkpoint here, it is a scheduled one; otherwise it is of the kind `otherwise`.
    pub(super) fn save_checkpoint(&mut self, otherwise: CheckpointKind) -> Result<(), TrainError> {
        // The weights are further than the state otherwise.
        assert!(self.unread.is_empty(), "{} updates unread at a checkpoint", self.unread.len());
        let path = self.run.checkpoint(self.state.step);
        if !path.exists() {
            // The metrics reach the disk first: no update of a checkpoint may lack its line.
            self.reporter.sync()?;
            let kind = match self.is_scheduled(self.state.step) {
                true => CheckpointKind::Scheduled,
                false => otherwise,
            };
            let (state, config, origin) = (&self.state, &self.config, &self.origin);
            let trainer =
                TrainerState { kind, optimizer: &self.updater.optimizer, state, config, origin };
            checkpoint::save(&path, &self.saved(), &trainer)?;
        }
        checkpoint::publish(&path, &self.run.model("last"))?;
        self.run.prune(self.config.checkpoints.kept(), |step| kind_of(&self.run, step))
    }

    /// The end of a run after its last checkpoint: writes the average, and `best` if that or the last model is better. If
    /// it is killed, the end is made again from that checkpoint, with the same outcome. Returns false if the output of
    /// the last model is not finite.
    pub(super) fn finish(&mut self, reason: StopReason) -> Result<bool, TrainError> {
        let step = self.state.step;
        if self.state.validation.validated != step && !self.validate()? {
            return Ok(false);
        }
        if self.config.checkpoints.average > 1 {
            self.average()?;
        }
        if self.validator.is_none() && self.config.checkpoints.average <= 1 {
            checkpoint::publish(&self.run.checkpoint(step), &self.run.model("best"))?;
        }
        self.choose_alpha()?;
        // The checkpoint knows nothing of the average: who goes on from it has to.
        let validation = Some(self.state.validation);
        self.run.set_finished(&Finished { step, reason: reason.to_string(), validation })?;
        Ok(true)
    }

    fn average(&mut self) -> Result<(), TrainError> {
        let steps = self.whole_checkpoints()?;
        let dirs: Vec<_> = steps.iter().map(|&step| self.run.checkpoint(step)).collect();
        let (_, model) = average_models(&dirs, self.device())?;
        if !has_finite_weights(&model) {
            return Ok(self
                .reporter
                .note("the average is left out: its weights are not finite")?);
        }
        self.model = Some(model);
        checkpoint::save_model(&self.run.model("average"), &self.saved())?;
        self.reporter.note(&format!("averaged the checkpoints of updates {steps:?}"))?;
        if self.validator.is_none() {
            return checkpoint::save_model(&self.run.model("best"), &self.saved());
        }
        self.validate_average().map(drop)
    }

    /// Finds the length penalty with which the model in `best/` translates the validation text best, and writes it into
    /// its `generation.json`.
    fn choose_alpha(&mut self) -> Result<(), TrainError> {
        let (beam, alphas) =
            (self.config.validation.test_beam, &self.config.validation.test_alphas);
        let Some(validator) = self.validator.as_ref().filter(|_| !alphas.is_empty()) else {
            return Ok(());
        };
        let best = self.run.model("best");
        let translator = Translator::load(&best, &self.device().clone().inner())?;
        let scores = validator.scores_by_alpha(&translator, beam, alphas)?;
        let alpha = highest(&scores);
        let list: Vec<_> =
            scores.iter().map(|(alpha, bleu)| format!("{alpha}: {bleu:.2}")).collect();
        let search = SearchSettings {
            beam_size: beam,
            length_penalty: LengthPenalty::Gnmt(alpha),
            ..self.search.clone()
        };
        checkpoint::set_search(&best, &search)?;
        Ok(self.reporter.note(&format!(
            "length penalty of best/: {alpha}, by BLEU on the validation text with a beam of {beam}: {}",
            list.join(", ")
        ))?)
    }

    /// The newest checkpoints to average. Damaged ones are reported and left out.
    fn whole_checkpoints(&mut self) -> Result<Vec<u64>, TrainError> {
        let mut steps = self.run.checkpoint_steps()?;
        let current = self.state.step;
        steps.retain(|&step| {
            step == current || kind_of(&self.run, step) == CheckpointKind::Scheduled
        });
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

/// The α with the highest BLEU of `scores`; the first one of several.
fn highest(scores: &[(f64, f64)]) -> f64 {
    let better = |best: (f64, f64), next: &(f64, f64)| if next.1 > best.1 { *next } else { best };
    scores.iter().fold((0.0, f64::NEG_INFINITY), better).0
}

/// The reason why the checkpoint of `step` was written. A checkpoint that cannot be read counts as scheduled: it is
/// kept as long, and the error is reported by whoever needs it.
pub(super) fn kind_of(run: &RunDir, step: u64) -> CheckpointKind {
    checkpoint::kind(&run.checkpoint(step)).unwrap_or(CheckpointKind::Scheduled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_equal_length_penalties_is_chosen() {
        assert_eq!(highest(&[(0.6, 30.0), (1.0, 31.0), (1.4, 31.0)]), 1.0);
        assert_eq!(highest(&[(0.6, 30.0)]), 0.6);
    }
}
