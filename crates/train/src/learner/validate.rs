//! Validation: the regular one, which decides the model in `best/`, and an early one, which puts a
//! model on disk before the first regular validation or checkpoint.
//!
//! The time of the early validation depends on the clock. It therefore changes neither the state of
//! the run nor `metrics.jsonl`, and the first regular validation always replaces its model.

use burnformer_infer::{InferError, SentenceError};

use super::Learner;
use super::divergence::has_finite_weights;
use crate::advice::Measures;
use crate::config::{EarlyStoppingMetric, TrainConfig};
use crate::error::{Result, TrainError};
use crate::report::{PairRecord, ValidRecord};
use crate::run::{RunDir, checkpoint, write_file};
use crate::validation::{PairValidation, Subject, Validation, Validator};

impl Learner {
    /// The metric that chooses the best model.
    fn metric(&self) -> EarlyStoppingMetric {
        metric(self.validator.as_ref(), &self.setup.config)
    }

    /// Validates the current model, which is `subject`, and saves it as `best` if no validation was
    /// better. Returns false if its weights or its output are not finite. An average does not count
    /// for early stopping.
    pub(super) fn validate(&mut self, subject: Subject) -> Result<bool> {
        let Some(validator) = &self.validator else {
            return Ok(true);
        };
        if !has_finite_weights(self.model()) {
            return Ok(false);
        }
        let validation =
            match validator.validate(&self.setup.first.config, self.model(), self.device()) {
                Err(TrainError::Infer(InferError::Sentence {
                    error: SentenceError::NotFinite(_),
                    ..
                })) => return Ok(false),
                validation => validation?,
            };
        if !(validation.loss.is_finite() && validation.nll.is_finite()) {
            return Ok(false);
        }
        let metric = self.metric();
        let step = self.state.step;
        let score = validation.score(metric);
        let averaged = subject == Subject::Average;
        let best = self.state.validation.record(metric, score, step, averaged);
        self.report_validation(&validation, best, subject)?;
        if best {
            self.save_best()?;
        }
        Ok(true)
    }

    /// Saves the model as `best/`, unless the model there is better. That model may be newer than
    /// the checkpoint that the run resumed from, and the resumed run need not find it again.
    fn save_best(&mut self) -> Result<()> {
        let metric = self.metric();
        let best = self
            .state
            .validation
            .best_model
            .expect("a validation was recorded");
        if let Some(there) = self.best_on_disk
            && metric.is_better(there.score, Some(best.score))
        {
            return self.reporter.note(&format!(
                "best/ stays as it is: it holds {there}, which is better"
            ));
        }
        checkpoint::save_best_model(
            &self.checkpoints.run.model("best"),
            &self.saved(),
            best,
            metric,
        )?;
        self.best_on_disk = Some(best);
        Ok(())
    }

    fn report_validation(
        &mut self,
        validation: &Validation,
        best: bool,
        subject: Subject,
    ) -> Result<()> {
        self.state.seconds = self.clock.seconds();
        let metric = self.metric();
        let step = self.state.step;
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
            pairs: validation.pairs.iter().map(pair_record).collect(),
        })?;
        if subject == Subject::Model {
            let Validation {
                nll,
                bleu,
                chrf,
                length_ratio,
                relation,
                ..
            } = *validation;
            let score = if metric == EarlyStoppingMetric::Chrf {
                chrf
            } else {
                bleu
            };
            for warning in self.diagnostics.after(Measures {
                step,
                nll,
                score,
                length_ratio,
                relation,
            }) {
                self.reporter.note(&warning)?;
            }
        }
        for PairValidation { pair, validation } in &validation.pairs {
            self.write_hypotheses(&validation.hypotheses, Some(pair), subject)?;
        }
        self.write_hypotheses(&validation.hypotheses, None, subject)
    }

    /// Writes the decoded validation text, in a run with several pairs of languages the text of
    /// `pair`.
    fn write_hypotheses(
        &self,
        hypotheses: &[String],
        pair: Option<&str>,
        subject: Subject,
    ) -> Result<()> {
        if hypotheses.is_empty() {
            return Ok(());
        }
        let averaged = subject == Subject::Average;
        let run = &self.checkpoints.run;
        let path = run.hypotheses(self.state.step, averaged, pair);
        let text = hypotheses.join("\n") + "\n";
        write_file(&path, text.as_bytes())
    }

    /// Returns whether early validation is due.
    pub(super) fn early_validation_is_due(&self) -> bool {
        self.early_validation_after
            .is_some_and(|after| self.clock.seconds() >= after)
    }

    /// Measures the validation loss and writes the model to `best/`, or to `last/` if there is no
    /// validation text. Does nothing if the run will write its first model before the number of
    /// updates has doubled, if the last update was skipped, or if the model is not sound.
    pub(super) fn early_validation(&mut self) -> Result<()> {
        self.early_validation_after = None;
        let step = self.state.step;
        let next = first_model(&self.setup.config, self.validator.is_some());
        if next <= 2 * step || self.state.recovery.skipped > 0 || !self.is_sound() {
            return Ok(());
        }
        let device = self.device();
        let nll = self
            .validator
            .as_ref()
            .map(|validator| validator.nll(self.model(), device));
        let (name, found) = match nll.transpose()? {
            Some(nll) if !nll.is_finite() => return Ok(()),
            Some(nll) => (
                "best",
                format!("perplexity {:.1} on the validation text; ", nll.exp()),
            ),
            None => ("last", String::new()),
        };
        checkpoint::save_model(&self.checkpoints.run.model(name), &self.saved())?;
        self.reporter.note(&format!(
            "early validation after update {step}: {found}{name}/ holds this model until the run saves its next"
        ))
    }
}

fn pair_record(PairValidation { pair, validation }: &PairValidation) -> PairRecord {
    PairRecord {
        pair: pair.clone(),
        nll: validation.nll,
        ppl: validation.perplexity(),
        bleu: validation.bleu,
        chrf: validation.chrf,
        signature: validation.signature.clone(),
    }
}

/// The metric that chooses the best model of a run with `config`.
pub(super) fn metric(validator: Option<&Validator>, config: &TrainConfig) -> EarlyStoppingMetric {
    validator.map_or(config.validation.metric, Validator::metric)
}

/// The seconds of training before early validation.
const EARLY_VALIDATION_AFTER: f64 = 60.0;

/// The number of updates before the first model without early validation: the model of the first
/// validation or, without a validation text, of the first checkpoint.
fn first_model(config: &TrainConfig, validates: bool) -> u64 {
    if validates {
        config.validation.every
    } else {
        config.checkpoints.every
    }
}

/// The seconds of training before early validation of the run in `run`; `None` if the run has a
/// model already or writes none.
pub(super) fn early_validation_after(config: &TrainConfig, run: &RunDir) -> Option<f64> {
    let has_model = ["best", "last"].iter().any(|name| run.model(name).exists());
    let asks_for_one = first_model(config, config.data.validates()) > 0;
    (asks_for_one && !has_model).then_some(EARLY_VALIDATION_AFTER)
}
