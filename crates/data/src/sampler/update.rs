//! The batches of whole updates, of which each process makes its share.

use super::{Batch, BatchStream, SamplerState};
use crate::error::Result;

/// One of several processes that share the batches of each update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rank {
    /// The number of this process, from 0.
    pub number: usize,
    /// The number of processes.
    pub count: usize,
}

impl Rank {
    /// A process that is alone.
    pub const ALONE: Self = Self { number: 0, count: 1 };

    /// Returns whether the batch with number `index` of an update belongs to this process.
    pub fn has(self, index: usize) -> bool {
        index % self.count == self.number
    }
}

/// The batches of one update that a process makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedUpdate {
    /// The batches with the numbers `number`, `number + count`, … of the update, where these are
    /// those of the [`Rank`].
    pub batches: Vec<Batch>,
    /// The position before the update.
    pub from: SamplerState,
    /// The position after all batches of the update. After the last batch of an epoch it is the
    /// beginning of the next epoch, so that whole epochs can be counted.
    pub next: SamplerState,
}

/// An endless iterator of updates; see [`BatchStream::updates`].
pub struct UpdateStream {
    stream: BatchStream,
    size: usize,
    rank: Rank,
}

impl BatchStream {
    /// Gives updates of `size` batches each. The batches of other processes are planned and not
    /// read.
    pub fn updates(self, size: usize, rank: Rank) -> UpdateStream {
        UpdateStream { stream: self, size, rank }
    }
}

impl UpdateStream {
    fn update(&mut self) -> Result<PlannedUpdate> {
        let from = self.state();
        let mut batches = Vec::with_capacity(self.size.div_ceil(self.rank.count));
        for index in 0..self.size {
            self.stream.pass()?;
            if self.rank.has(index) {
                batches.push(self.stream.read()?.batch);
            }
        }
        Ok(PlannedUpdate { batches, from, next: self.state() })
    }

    /// The position of the next batch; after the last batch of an epoch the beginning of the next
    /// one.
    fn state(&self) -> SamplerState {
        let state = self.stream.state();
        match self.stream.is_at_end() {
            true => SamplerState { epoch: state.epoch + 1, next_batch: 0, ..state },
            false => state,
        }
    }
}

impl Iterator for UpdateStream {
    type Item = Result<PlannedUpdate>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.update())
    }
}
