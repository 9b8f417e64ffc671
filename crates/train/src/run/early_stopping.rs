//! Early stopping: a run ends when validations no longer improve.

use serde::{Deserialize, Serialize};

use crate::config::EarlyStoppingMetric;
use crate::float_text;

/// The best validation of a run's models so far, and the number of validations since then. Averages of checkpoints are
/// not counted: they are better than the models that they average, so that a run that is continued after its end would
/// seem to have stopped improving.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EarlyStopping {
    /// The best value of the metric.
    #[serde(with = "float_text::option")]
    pub value: Option<f64>,
    /// The update at which it was reached.
    pub step: u64,
    /// The number of validations since then, none of which was better.
    pub waited: u64,
}

impl EarlyStopping {
    /// Adds a validation.
    pub fn record(&mut self, metric: EarlyStoppingMetric, value: f64, step: u64) {
        if metric.is_better(value, self.value) {
            *self = Self { value: Some(value), step, waited: 0 };
        } else {
            self.waited += 1;
        }
    }

    /// Whether `patience` consecutive validations were not better. A patience of 0 never ends the run.
    pub fn exhausted(&self, patience: u64) -> bool {
        patience > 0 && self.waited >= patience
    }

    /// The state after the run has gone back to where it was at `then`. The best validation stays; of the validations
    /// that were not better, only those before that point count.
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
