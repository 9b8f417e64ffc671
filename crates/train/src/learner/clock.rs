//! The time that a run has trained, over all its processes.

use std::time::{Duration, Instant};

/// The clock of a run.
pub(super) struct Clock {
    /// The start of training in this process.
    started: Instant,
    /// The seconds of training before.
    earlier: f64,
    /// The time spent waiting for data since the last log line.
    pub(super) waited: Duration,
}

impl Clock {
    /// A clock of a run that has trained for `earlier` seconds.
    pub(super) fn new(earlier: f64) -> Self {
        Self {
            started: Instant::now(),
            earlier,
            waited: Duration::ZERO,
        }
    }

    /// Resets the time of this process, after preparations that do not count as training.
    pub(super) fn start(&mut self) {
        self.started = Instant::now();
    }

    /// The number of seconds trained, including those before a resume.
    pub(super) fn seconds(&self) -> f64 {
        self.earlier + self.started.elapsed().as_secs_f64()
    }
}
