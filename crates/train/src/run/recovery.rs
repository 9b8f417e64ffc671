//! The answer of a run to numbers that are no longer finite.

use serde::{Deserialize, Serialize};

use crate::config::RecoverySettings;
use crate::float_text;

/// The answers of a run to divergence so far. They are a part of the run's state, so that a resumed
/// run behaves in the same way as one that was not killed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recovery {
    /// The number of consecutive updates skipped until now.
    pub skipped: u64,
    /// The number of times that the run went back.
    pub rollbacks: u64,
    /// The factor by which the schedule's learning rate is multiplied.
    #[serde(with = "float_text")]
    pub rate_scale: f64,
    /// The number of records of divergence in `metrics.jsonl`.
    pub records: u64,
}

impl Default for Recovery {
    fn default() -> Self {
        Self { skipped: 0, rollbacks: 0, rate_scale: 1.0, records: 0 }
    }
}

impl Recovery {
    /// Notes whether an update was finite. Returns true if the run has to go back now.
    pub(crate) fn record(&mut self, settings: &RecoverySettings, finite: bool) -> bool {
        self.skipped = if finite { 0 } else { self.skipped + 1 };
        self.skipped > 0 && self.skipped >= settings.skips
    }

    /// The state after going back, with the rate lowered; `None` if the run has already gone back
    /// as often as allowed.
    pub(crate) fn go_back(&self, settings: &RecoverySettings) -> Option<Self> {
        (self.rollbacks < settings.rollbacks).then_some(Self {
            skipped: 0,
            rollbacks: self.rollbacks + 1,
            rate_scale: self.rate_scale * settings.rate,
            records: self.records,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_skips_in_a_row_send_the_run_back_and_one_good_update_forgives() {
        let settings = RecoverySettings { skips: 3, ..RecoverySettings::default() };
        let mut recovery = Recovery::default();
        let answers =
            [false, false, true, false, false, false].map(|f| recovery.record(&settings, f));
        assert_eq!(answers, [false, false, false, false, false, true]);
        let mut at_once = Recovery::default();
        assert!(at_once.record(&RecoverySettings { skips: 0, ..settings }, false));
        assert!(!at_once.record(&RecoverySettings { skips: 0, ..settings }, true));
    }

    #[test]
    fn each_return_lowers_the_rate_until_there_are_none_left() {
        let settings = RecoverySettings { rollbacks: 2, ..RecoverySettings::default() };
        let once = Recovery::default().go_back(&settings).unwrap();
        let twice = once.go_back(&settings).unwrap();
        assert_eq!((once.rate_scale, twice.rate_scale, twice.rollbacks), (0.5, 0.25, 2));
        assert_eq!(twice.go_back(&settings), None);
    }
}
