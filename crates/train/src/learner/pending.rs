//! Updates with unread statistics, and the clock of a run.

use std::time::{Duration, Instant};

use burnformer_data::SamplerState;

use crate::run::RunState;
use crate::update::{PendingStatistics, UpdateSize};

/// The largest number of updates between two reads, which bounds the updates after a divergence.
const MAX_PENDING: usize = 100;

/// An update that is not checked yet.
pub(super) struct PendingUpdate {
    pub statistics: PendingStatistics,
    pub size: UpdateSize,
    /// The position in the batches after it.
    pub sampler: SamplerState,
}

/// The updates after the last checked one.
#[derive(Default)]
pub(super) struct PendingUpdates {
    pub updates: Vec<PendingUpdate>,
    /// The learning rate of the last update, for the log.
    pub last_rate: f64,
}

impl PendingUpdates {
    /// Returns whether the statistics must be read before the next update.
    pub fn is_full(&self) -> bool {
        self.updates.len() >= MAX_PENDING
    }

    /// The state after these updates, if all are finite. `state` is the state before them, and
    /// `seconds` the new time.
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

/// The clock of a run.
pub(super) struct Clock {
    /// The start of training in this process.
    started: Instant,
    /// The seconds of training before.
    earlier: f64,
    /// The time spent waiting for data since the last log line.
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

    /// Resets the time of this process, after preparations that do not count as training.
    pub fn start(&mut self) {
        self.started = Instant::now();
    }

    /// The number of seconds trained, including those before a resume.
    pub fn seconds(&self) -> f64 {
        self.earlier + self.started.elapsed().as_secs_f64()
    }
}
