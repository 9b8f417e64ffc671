use std::time::{Duration, Instant};

use burnformer_data::{PlannedUpdate, Prefetch};

/// The time of a run.
pub(super) struct Clock {
    /// The time at which this process began to train.
    started: Instant,
    /// The seconds of training before.
    earlier: f64,
    /// The time for which this process had waited for data at the last log line.
    waited: Duration,
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

    /// Begins to count how long new batches are waited for.
    pub fn new_stream(&mut self) {
        self.waited = Duration::ZERO;
    }

    /// The seconds spent waiting for `batches` since the last call.
    pub fn waited(&mut self, batches: &Prefetch<PlannedUpdate>) -> f64 {
        let before = std::mem::replace(&mut self.waited, batches.waited());
        (self.waited - before).as_secs_f64()
    }
}
