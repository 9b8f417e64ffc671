//! Updates that are made but not checked yet, because their statistics are still on the device.

use burnformer_data::SamplerState;

use crate::run::RunState;
use crate::update::{PendingStatistics, UpdateSize};

/// The largest number of updates between two reads, which bounds the updates after a divergence.
const MAX_PENDING: usize = 100;

/// An update that is not checked yet.
pub(super) struct PendingUpdate {
    pub(super) statistics: PendingStatistics,
    pub(super) size: UpdateSize,
    /// The position in the batches after it.
    pub(super) sampler: SamplerState,
}

/// The updates after the last checked one.
#[derive(Default)]
pub(super) struct PendingUpdates {
    pub(super) updates: Vec<PendingUpdate>,
    /// The learning rate of the last update, for the log.
    pub(super) last_rate: f64,
}

impl PendingUpdates {
    /// Adds an update made at this learning `rate`.
    pub(super) fn push(&mut self, update: PendingUpdate, rate: f64) {
        self.last_rate = rate;
        self.updates.push(update);
    }

    /// Returns whether the statistics must be read before the next update.
    pub(super) fn is_full(&self) -> bool {
        self.updates.len() >= MAX_PENDING
    }

    /// The state after these updates, if all are finite. `state` is the state before them, and
    /// `seconds` the new time.
    pub(super) fn after(&self, state: &RunState, seconds: f64) -> RunState {
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
