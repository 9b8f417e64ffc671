//! Updates whose statistics have not been read, and the time of a run.

use std::time::{Duration, Instant};

use burnformer_data::SamplerState;

use crate::run::RunState;
use crate::update::{PendingStatistics, UpdateSize};

/// The largest number of updates between two readings. It bounds how long a run continues after it
/// has diverged.
const MAX_PENDING: usize = 100;

/// An update that was made but not checked yet.
pub(super) struct PendingUpdate {
    pub statistics: PendingStatistics,
    pub size: UpdateSize,
    /// The position of the batches after it.
    pub sampler: SamplerState,
}

/// The updates after the last one that was checked, whose statistics have not been read.
#[derive(Default)]
pub(super) struct PendingUpdates {
    pub updates: Vec<PendingUpdate>,
    /// The learning rate of the last of them, for the log.
    pub last_rate: f64,
}

impl PendingUpdates {
    /// Returns whether the statistics have to be read before another update is made.
    pub fn is_full(&self) -> bool {
        self.updates.len() >= MAX_PENDING
    }

    /// The state of a run that was in `state` before these updates, if all of them are finite.
    /// `seconds` is the run's new time.
    pub fn after(&self, state: &RunState, seconds: f64) -> RunState {
        let step = state.step + self.updates.len() as u64;
        let sampler = self
            .updates
            .last()
            .map_or(state.sampler, |update| update.sampler);
        RunState {
            step,
            sampler,
            seconds,
            ..*state
        }
    }
}

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
        Self {
            started: Instant::now(),
            earlier,
            waited: Duration::ZERO,
        }
    }

    /// Sets the time of this process back to 0, after preparations that do not count as training.
    pub fn start(&mut self) {
        self.started = Instant::now();
    }

    /// The number of seconds trained, including those before a resume.
    pub fn seconds(&self) -> f64 {
        self.earlier + self.started.elapsed().as_secs_f64()
    }
}
