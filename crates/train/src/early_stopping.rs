use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::exact;

/// What decides which model is best and when to stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Metric {
    /// BLEU of the translated validation text; higher is better.
    #[default]
    Bleu,
    /// Perplexity per token, e to the mean negative log-likelihood; lower is better.
    Ppl,
    /// The label-smoothed loss per token; lower is better.
    Loss,
}

/// The best validation so far, and how many have passed since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Best {
    /// The metric's value at its best.
    #[serde(with = "exact::option")]
    pub value: Option<f64>,
    /// The update it was reached at.
    pub step: u64,
    /// Validations since that did no better.
    pub waited: u64,
}

impl Best {
    /// Takes in a validation; true if it is the best so far. A value that is not a number never is.
    pub fn record(&mut self, metric: Metric, value: f64, step: u64) -> bool {
        let better = match (self.value, metric) {
            (None, _) => !value.is_nan(),
            (Some(best), Metric::Bleu) => value > best,
            (Some(best), Metric::Ppl | Metric::Loss) => value < best,
        };
        if better {
            *self = Self { value: Some(value), step, waited: 0 };
        } else {
            self.waited += 1;
        }
        better
    }

    /// Whether `patience` validations in a row did no better; a patience of 0 never ends.
    pub fn exhausted(&self, patience: u64) -> bool {
        patience > 0 && self.waited >= patience
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bleu_should_rise_and_perplexity_fall() {
        let mut best = Best::default();
        assert!(best.record(Metric::Bleu, 10.0, 1));
        assert!(!best.record(Metric::Bleu, 10.0, 2));
        assert!(best.record(Metric::Bleu, 11.0, 3));
        let mut best = Best::default();
        assert!(best.record(Metric::Ppl, 10.0, 1));
        assert!(!best.record(Metric::Ppl, 11.0, 2));
        assert!(!best.record(Metric::Ppl, f64::NAN, 3));
        assert!(best.exhausted(2) && !best.exhausted(3) && !best.exhausted(0));
    }
}
