use std::fs;

use burnformer_infer::InferError;

use super::Learner;
use crate::checkpoint;
use crate::early_stopping::Metric;
use crate::error::TrainError;
use crate::report::ValidPoint;
use crate::validate::Validation;

impl Learner {
    /// Measures the model and keeps it as `best` if it is; false if its output is no number.
    pub(super) fn validate(&mut self) -> Result<bool, TrainError> {
        let sound = self.measure(false)?;
        if sound {
            self.state.validated = self.state.step;
        }
        Ok(sound)
    }

    /// The same for the `averaged` model, which the state does not count as a validation of the run.
    pub(super) fn measure(&mut self, averaged: bool) -> Result<bool, TrainError> {
        let Some(validator) = &self.validator else { return Ok(true) };
        let validation = match validator.validate(&self.shape, self.model(), self.device()) {
            Err(TrainError::Infer(InferError::NotFinite { .. })) => return Ok(false),
            validation => validation?,
        };
        let metric = self.config.validation.metric;
        let best = self.state.best.record(metric, value(metric, &validation), self.state.step);
        self.report_validation(&validation, best, averaged)?;
        if best {
            checkpoint::save_model(&self.run.model("best"), &self.saved())?;
        }
        Ok(true)
    }

    fn report_validation(
        &mut self,
        validation: &Validation,
        best: bool,
        averaged: bool,
    ) -> Result<(), TrainError> {
        self.state.seconds = self.seconds();
        let step = self.state.step;
        self.reporter.valid(&ValidPoint {
            step,
            seconds: self.state.seconds,
            loss: validation.loss,
            nll: validation.nll,
            ppl: validation.perplexity(),
            bleu: validation.bleu,
            signature: validation.signature.clone(),
            best,
            averaged,
        })?;
        if validation.hypotheses.is_empty() {
            return Ok(());
        }
        let path = self.run.hypotheses(step);
        let text = validation.hypotheses.join("\n") + "\n";
        fs::write(&path, text).map_err(|e| TrainError::io(&path, e))
    }
}

/// The value of `metric`; without decoding, BLEU falls back to perplexity, negated so that higher is
/// better.
fn value(metric: Metric, validation: &Validation) -> f64 {
    match metric {
        Metric::Bleu => validation.bleu.unwrap_or(-validation.perplexity()),
        Metric::Ppl => validation.perplexity(),
        Metric::Loss => validation.loss,
    }
}
