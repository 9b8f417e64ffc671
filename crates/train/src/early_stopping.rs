//! When a run stops for want of improvement.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::float_text;
use crate::validate::Validation;

/// What decides which model is best and when to stop: `validation.metric`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EarlyStoppingMetric {
    /// BLEU of the translated validation text; higher is better.
    #[default]
    Bleu,
    /// Perplexity per token, e to the mean negative log-likelihood; lower is better.
    Ppl,
    /// The label-smoothed loss per token; lower is better.
    Loss,
}

impl EarlyStoppingMetric {
    /// Its value in `validation`. Without decoding, BLEU falls back to perplexity, negated so that higher is better.
    pub fn value(self, validation: &Validation) -> f64 {
        match self {
            Self::Bleu => validation.bleu.unwrap_or(-validation.perplexity()),
            Self::Ppl => validation.perplexity(),
            Self::Loss => validation.loss,
        }
    }

    /// Whether `value` is better than `other`, or the first. A value that is NaN never is.
    pub fn is_better(self, value: f64, other: Option<f64>) -> bool {
        match (self, other) {
            (_, None) => !value.is_nan(),
            (Self::Bleu, Some(other)) => value > other,
            (Self::Ppl | Self::Loss, Some(other)) => value < other,
        }
    }
}

/// The best validation of a run's models so far, and how many have passed since. Averages of checkpoints are not
/// counted: they are better than the models that they average, and a run that goes on after its end would seem to
/// have stopped improving.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EarlyStopping {
    /// The metric's value at its best.
    #[serde(with = "float_text::option")]
    pub value: Option<f64>,
    /// The update it was reached at.
    pub step: u64,
    /// Validations since that did no better.
    pub waited: u64,
}

impl EarlyStopping {
    /// Takes in a validation.
    pub fn record(&mut self, metric: EarlyStoppingMetric, value: f64, step: u64) {
        if metric.is_better(value, self.value) {
            *self = Self { value: Some(value), step, waited: 0 };
        } else {
            self.waited += 1;
        }
    }

    /// Whether `patience` validations in a row did no better; a patience of 0 never ends.
    pub fn exhausted(&self, patience: u64) -> bool {
        patience > 0 && self.waited >= patience
    }

    /// What a run knows that goes back to where it knew `then`: its best validation still, but of those that did no
    /// better only the ones that are not taken back.
    pub(crate) fn back_at(self, then: Self) -> Self {
        let since_then = (self.value, self.step) != (then.value, then.step);
        Self { waited: if since_then { 0 } else { then.waited }, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bleu_should_rise_and_perplexity_fall() {
        let is_better = EarlyStoppingMetric::is_better;
        for (metric, better, worse) in [
            (EarlyStoppingMetric::Bleu, 11.0, 9.0),
            (EarlyStoppingMetric::Ppl, 9.0, 11.0),
            (EarlyStoppingMetric::Loss, 9.0, 11.0),
        ] {
            assert!(is_better(metric, worse, None) && !is_better(metric, f64::NAN, None));
            assert!(is_better(metric, better, Some(10.0)));
            let no_better = [worse, 10.0, f64::NAN];
            assert!(no_better.iter().all(|&value| !is_better(metric, value, Some(10.0))));
        }
    }

    #[test]
    fn validations_that_do_no_better_exhaust_the_patience() {
        let mut memory = EarlyStopping::default();
        for (step, value) in [(1, 10.0), (2, 11.0), (3, f64::NAN)] {
            memory.record(EarlyStoppingMetric::Ppl, value, step);
        }
        assert_eq!(memory, EarlyStopping { value: Some(10.0), step: 1, waited: 2 });
        assert!(memory.exhausted(2) && !memory.exhausted(3) && !memory.exhausted(0));
    }

    #[test]
    fn a_run_that_goes_back_keeps_its_best_and_forgets_the_validations_it_takes_back() {
        let then = EarlyStopping { value: Some(10.0), step: 4, waited: 1 };
        let no_better = EarlyStopping { waited: 3, ..then };
        assert_eq!(no_better.back_at(then), then);
        let better = EarlyStopping { value: Some(12.0), step: 6, waited: 2 };
        assert_eq!(better.back_at(then), EarlyStopping { waited: 0, ..better });
    }
}
