use burnformer_core::model_dir;
use burnformer_infer::{InferError, LengthPenalty, Translator};

use super::Learner;
use super::checkpoints::is_damage;
use super::divergence::has_finite_weights;
use super::outcome::StopReason;
use crate::error::{Result, TrainError};
use crate::run::{CheckpointKind, RunEnd, Saved, TrainerState, average_as, checkpoint, try_sizes};
use crate::validation::Subject;

impl Learner {
    pub(super) fn saved(&self) -> Saved<'_> {
        Saved {
            config: &self.setup.first.config,
            model: self.model(),
            tokenizers: &self.tokenizers,
            generation: &self.setup.first.generation,
        }
    }

    /// Fails if there is no room for a checkpoint.
    pub(super) fn try_room(&self) -> Result<()> {
        let weights = 4 * self.setup.first.config.parameter_count() as u64;
        let sizes = [weights, self.updater.optimizer.moments.bytes()];
        try_sizes(&self.checkpoints.run.checkpoint(self.state.step), sizes)
    }

    /// Writes the checkpoint of this update unless it exists, and `last`, then removes old
    /// checkpoints. A checkpoint that is not scheduled here is of the kind `otherwise`.
    pub(super) fn save_checkpoint(&mut self, otherwise: CheckpointKind) -> Result<()> {
        // With pending updates, the weights are newer than the state.
        let pending = self.pending.updates.len();
        assert_eq!(pending, 0, "{pending} updates pending at a checkpoint");
        let path = self.checkpoints.run.checkpoint(self.state.step);
        if !path.exists() {
            // The metrics reach the disk first: no update of a checkpoint may lack its line.
            self.reporter.sync()?;
            let kind = if self.setup.is_scheduled(self.state.step) {
                CheckpointKind::Scheduled
            } else {
                otherwise
            };
            let state = &self.state;
            let config = &self.setup.config;
            let origin = &self.checkpoints.origin;
            let trainer = TrainerState {
                kind,
                optimizer: &self.updater.optimizer,
                state,
                config,
                origin,
            };
            checkpoint::save(&path, &self.saved(), &trainer)?;
        }
        checkpoint::publish(&path, &self.checkpoints.run.model("last"))?;
        self.checkpoints
            .run
            .prune(self.setup.config.checkpoints.kept(), |step| {
                self.checkpoints.kind_of(step)
            })
    }

    /// Ends a run after its last checkpoint: writes the average, and `best` if the average or the
    /// last model is better. If it is killed, a resumed run repeats the end with the same outcome.
    /// Returns false if the output of the last model is not finite.
    pub(super) fn finish(&mut self, reason: StopReason) -> Result<bool> {
        let step = self.state.step;
        if self.state.validation.validated != step && !self.validate(Subject::Model)? {
            return Ok(false);
        }
        if self.setup.config.checkpoints.average > 1 {
            self.average()?;
        }
        if self.validator.is_none() {
            // The average, or the last model if the average is left out.
            checkpoint::save_model(&self.checkpoints.run.model("best"), &self.saved())?;
        }
        self.choose_alpha()?;
        // The checkpoint has no score of the average; a resumed run reads it from here.
        let validation = self.state.validation;
        // A finished run is not repeated, so its numbers must be on the disk before its end is.
        self.reporter.sync()?;
        self.checkpoints.run.set_finished(&RunEnd {
            step,
            reason: reason.to_string(),
            validation,
        })?;
        Ok(true)
    }

    /// Writes `average`, and `best` if a validation finds that the average is better. The model is
    /// the average then.
    fn average(&mut self) -> Result<()> {
        let steps = self.whole_checkpoints()?;
        if steps.is_empty() {
            return self
                .reporter
                .note("the average is left out: none of its checkpoints is whole");
        }
        let dirs: Vec<_> = steps
            .iter()
            .map(|&step| self.checkpoints.run.checkpoint(step))
            .collect();
        let model = average_as(&dirs, &self.setup.first.config, self.device())?;
        if !has_finite_weights(&model) {
            return self
                .reporter
                .note("the average is left out: its weights are not finite");
        }
        self.model = Some(model);
        checkpoint::save_model(&self.checkpoints.run.model("average"), &self.saved())?;
        self.reporter
            .note(&format!("averaged the checkpoints of updates {steps:?}"))?;
        if self.validator.is_some() {
            self.validate(Subject::Average)?;
        }
        Ok(())
    }

    /// Finds the best length penalty for the model in `best/` on the validation text. Each better
    /// one is written into its `generation.json` at once, as the process may be killed.
    fn choose_alpha(&mut self) -> Result<()> {
        let settings = &self.setup.config.validation;
        let beam = settings.test_beam;
        let mut coming = settings.test_alphas.clone();
        let best = self.checkpoints.run.model("best");
        let grows = coming.len() > 1;
        let Some(validator) = self.validator.as_ref().filter(|_| !coming.is_empty()) else {
            return Ok(());
        };
        self.reporter.note(&format!(
            "choosing the length penalty of best/ among {coming:?}: the validation text is translated with a beam of {beam}"
        ))?;
        let translator = Translator::load(&best, &self.device().clone().inner())?;
        let mut settings = self.setup.first.generation.clone();
        let set = settings
            .search
            .set_n_best(settings.search.n_best, Some(beam));
        set.map_err(InferError::from)?;
        coming.sort_by(|a, b| b.total_cmp(a));
        coming.dedup();
        let most = coming.len() + MAX_EXTRA_ALPHAS;
        let mut scores = Vec::new();
        while let Some(alpha) = coming.pop() {
            let (name, score) = validator.score_with(&translator, beam, alpha)?;
            self.reporter
                .note(&format!("length penalty {alpha}: {name} {score:.2}"))?;
            scores.push((alpha, score));
            if highest(&scores).0 == alpha {
                settings.search.length_penalty = LengthPenalty::Gnmt(alpha);
                checkpoint::set_generation(&best, &settings)?;
            }
            if grows && coming.is_empty() && scores.len() < most {
                coming.extend(beyond(&scores));
            }
        }
        let (alpha, _) = highest(&scores);
        settings.search.length_penalty = LengthPenalty::Gnmt(alpha);
        settings.calibration = validator.calibration(&translator, &settings)?;
        checkpoint::set_generation(&best, &settings)?;
        self.reporter
            .note(&format!("length penalty of best/: {alpha}"))
    }

    /// The newest checkpoints to average. Damaged ones are reported and left out. One that cannot
    /// be read at the moment is an error, because the next process may read it.
    fn whole_checkpoints(&mut self) -> Result<Vec<u64>> {
        let mut steps = self.checkpoints.run.checkpoint_steps()?;
        let current = self.state.step;
        steps.retain(|&step| {
            step == current || self.checkpoints.kind_of(step) == CheckpointKind::Scheduled
        });
        let newest = steps
            .len()
            .saturating_sub(self.setup.config.checkpoints.average);
        let mut whole = Vec::new();
        for &step in &steps[newest..] {
            let verified = model_dir::verify(&self.checkpoints.run.checkpoint(step));
            match verified.map_err(TrainError::from) {
                Ok(()) => whole.push(step),
                Err(error) if is_damage(&error) => self
                    .reporter
                    .note(&format!("left out of the average: {error}"))?,
                Err(error) => return Err(error),
            }
        }
        Ok(whole)
    }
}

/// The largest number of length penalties tried beyond the list.
const MAX_EXTRA_ALPHAS: usize = 8;

/// The α with the highest score, the first of several, and that score.
fn highest(scores: &[(f64, f64)]) -> (f64, f64) {
    let mut best = (0.0, f64::NEG_INFINITY);
    for next in scores {
        if next.1 > best.1 {
            best = *next;
        }
    }
    best
}

/// The next α to try: if the single best α is the smallest or the largest, the α beyond it at the
/// distance of its neighbour; otherwise `None`.
fn beyond(scores: &[(f64, f64)]) -> Option<f64> {
    let mut alphas: Vec<f64> = scores.iter().map(|it| it.0).collect();
    alphas.sort_by(f64::total_cmp);
    let (best, score) = highest(scores);
    if scores.iter().filter(|it| it.1 == score).count() > 1 {
        return None;
    }
    let next = match alphas[..] {
        [first, second, ..] if best == first => extrapolated(second, first),
        [.., second, last] if best == last => extrapolated(second, last),
        _ => return None,
    };
    (!alphas.contains(&next)).then_some(next)
}

/// The value after `from` and `to` at the same distance, at least 0 and rounded to 6 decimals.
fn extrapolated(from: f64, to: f64) -> f64 {
    (1e6 * (2.0 * to - from)).round().max(0.0) / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The α that are tried, beginning with `list`, if `score` is the score of each.
    fn tried(list: &[f64], score: impl Fn(f64) -> f64) -> Vec<f64> {
        let mut scores: Vec<_> = list.iter().map(|&alpha| (alpha, score(alpha))).collect();
        while let Some(next) = beyond(&scores) {
            scores.push((next, score(next)));
        }
        scores.into_iter().map(|(alpha, _)| alpha).collect()
    }

    /// Scores by length penalty with the highest score at `best`.
    fn with_best(best: f64) -> impl Fn(f64) -> f64 {
        move |alpha| -(alpha - best).abs()
    }

    #[test]
    fn the_list_of_length_penalties_grows_until_the_best_is_inside() {
        let list = [0.6, 0.8, 1.0, 1.2];
        for (best, more) in [
            (0.8, &[][..]),
            (1.05, &[]),
            (1.25, &[1.4]),
            (1.6, &[1.4, 1.6, 1.8]),
            (0.5, &[0.4]),
            (0.0, &[0.4, 0.2, 0.0]),
        ] {
            assert_eq!(tried(&list, with_best(best))[4..], *more, "{best}");
        }
        assert_eq!(tried(&list, |_| 0.0), list);
        assert_eq!(tried(&[1.0, 0.5], with_best(1.4))[2..], [1.5, 2.0]);
        assert_eq!(tried(&[1.0], with_best(1.4)), [1.0]);
    }
}
