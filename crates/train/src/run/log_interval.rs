use serde::{Deserialize, Serialize};

use crate::float_text;
use crate::report::TrainRecord;
use crate::update::{UpdateSize, UpdateStatistics};

/// The sums over the updates since the last log line. They belong to the run's state, so that a log
/// line shows the same numbers after a kill and a resume.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LogInterval {
    updates: u64,
    tokens: u64,
    positions: u64,
    real: u64,
    #[serde(with = "float_text")]
    loss: f64,
    #[serde(with = "float_text")]
    nll: f64,
    #[serde(with = "float_text")]
    norm: f64,
    /// The seconds of training at the start of the interval.
    #[serde(with = "float_text")]
    since: f64,
}

impl LogInterval {
    /// Adds an update.
    pub(crate) fn add(&mut self, size: UpdateSize, statistics: &UpdateStatistics) {
        self.updates += 1;
        self.tokens += statistics.tokens as u64;
        self.positions += size.positions;
        self.real += size.real;
        self.loss += statistics.loss;
        self.nll += statistics.nll;
        self.norm += statistics.norm;
    }

    /// An empty interval after `since` seconds of training.
    pub(super) fn since(since: f64) -> Self {
        Self {
            since,
            ..Self::default()
        }
    }

    /// The means over the interval until `now` seconds of training; NaN if every update was
    /// skipped. `waited` is the seconds of the interval spent waiting for data.
    pub(super) fn means(self, now: f64, waited: f64) -> TrainRecord {
        let tokens = self.tokens as f64;
        let nll = self.nll / tokens;
        let seconds = (now - self.since).max(f64::MIN_POSITIVE);
        TrainRecord {
            loss: self.loss / tokens,
            nll,
            ppl: nll.exp(),
            gnorm: self.norm / self.updates as f64,
            tokens_per_second: tokens / seconds,
            padding: 1.0 - self.real as f64 / self.positions.max(1) as f64,
            data_wait: (waited / seconds).min(1.0),
            ..TrainRecord::default()
        }
    }
}
