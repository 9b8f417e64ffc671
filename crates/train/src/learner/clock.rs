use std::time::{Duration, Instant};

/// The time of a run.
pub(super) struct Clock {
    /// The time at which this process began to train.
    started: Instant,
    /// The seconds of training before.
    earlier: f64,
    /// The time for which this process has waited for data since the last log line.
    pub waited: Duration,
}

impl Clock {
    /// A clock of a run that has trained for `earlier` seconds.
    pub fn new(earlier: f64) -> Self {
        Self { started: Instant::now(), earlier, waited: Duration::ZERO }
    }

    /// Starts the time of this process anew.
    pub fn start(&mut self) {
        self.started = Instant::now();
    }

    /// The number of seconds trained, including those before a resume.
    pub fn seconds(&self) -> f64 {
        self.earlier + self.started.elapsed().as_secs_f64()
    }
}
