use std::fs;

use burnformer_infer::{InferError, SentenceError};

use super::Learner;
use crate::advice::Measured;
use crate::config::EarlyStoppingMetric;
use crate::error::{At, TrainError};
use crate::report::ValidRecord;
use crate::run::checkpoint;
use crate::validation::{Subject, Validation};

impl Learner {
    /// Measures `subject`, which is the present model, and keeps it as `best` if it is the best of
    /// all. Returns false if its weights or its output are not finite. An average does not count
    /// for early stopping.
    pub(super) fn validate(&mut self, subject: Subject) -> Result<bool, TrainError> {
        let Some(validator) = &self.setup.validator else { return Ok(true) };
        if !self.has_finite_weights() {
            return Ok(false);
        }
        let validation =
            match validator.validate(&self.setup.first.shape, self.model(), self.device()) {
                Err(TrainError::Infer(InferError::Sentence {
                    error: SentenceError::NotFinite(_),
                    ..
                })) => return Ok(false),
                validation => validation?,
            };
        if !(validation.loss.is_finite() && validation.nll.is_finite()) {
            return Ok(false);
        }
        let (metric, step) = (self.setup.metric(), self.state.step);
        let standing = validation.standing(metric);
        let averaged = subject == Subject::Average;
        let best = self.state.validation.record(metric, standing, step, averaged);
        self.report_validation(&validation, best, subject)?;
        if best {
            self.save_best()?;
        }
        Ok(true)
    }

    /// Puts the model into `best/`, unless the one there is better. That one may be better: it may
    /// have been found after the checkpoint from which the run was resumed, with other settings or
    /// on another device, and will not necessarily be found again.
    fn save_best(&mut self) -> Result<(), TrainError> {
        let metric = self.setup.metric();
        let best = self.state.validation.best_model.expect("a validation was recorded");
        if let Some(there) = self.best_on_disk
            && metric.is_better(there.standing, Some(best.standing))
        {
            return self
                .reporter
                .note(&format!("best/ stays as it is: it holds {there}, which is better"));
        }
        checkpoint::save_best_model(&self.setup.run.model("best"), &self.saved(), best, metric)?;
        self.best_on_disk = Some(best);
        Ok(())
    }

    fn report_validation(
        &mut self,
        validation: &Validation,
        best: bool,
        subject: Subject,
    ) -> Result<(), TrainError> {
        self.state.seconds = self.clock.seconds();
        let (metric, step) = (self.setup.metric(), self.state.step);
        self.reporter.valid(&ValidRecord {
            step,
            seconds: self.state.seconds,
            loss: validation.loss,
            nll: validation.nll,
            ppl: validation.perplexity(),
            bleu: validation.bleu,
            chrf: validation.chrf,
            signature: validation.signature.clone(),
            best,
            averaged: subject == Subject::Average,
        })?;
        if subject == Subject::Model {
            let Validation { nll, bleu, chrf, length_ratio, .. } = *validation;
            let score = if metric == EarlyStoppingMetric::Chrf { chrf } else { bleu };
            for warning in self.adviser.after(Measured { step, nll, score, length_ratio }) {
                self.reporter.note(&warning)?;
            }
        }
        if validation.hypotheses.is_empty() {
            return Ok(());
        }
        let path = self.setup.run.hypotheses(step, subject == Subject::Average);
        let text = validation.hypotheses.join("\n") + "\n";
        fs::write(&path, text).at(&path)
    }
}
