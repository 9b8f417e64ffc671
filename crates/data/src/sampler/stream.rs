//! Streams of updates, one epoch after another, each update with its position. Each process reads
//! its share of the batches.

use std::sync::Arc;

use super::{BatchSampler, EpochPlan, SamplerError, SamplerState};
use crate::batch::Batch;
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
    /// The rank of a single process, which has all batches.
    pub const ALONE: Self = Self {
        number: 0,
        count: 1,
    };

    /// Returns whether the batch with number `index` of an update belongs to this process.
    pub fn has(self, index: usize) -> bool {
        index % self.count == self.number
    }
}

/// The share of one process in the batches of an update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedUpdate {
    /// The batches of this process. In the update they have the indices `number`, `number + count`,
    /// …, where `number` and `count` are the fields of [`Rank`].
    pub batches: Vec<Batch>,
    /// The position before the update.
    pub from: SamplerState,
    /// The position after all batches of the update. After the last batch of an epoch it is the
    /// beginning of the next epoch, so that whole epochs can be counted.
    pub next: SamplerState,
}

/// An endless iterator of updates; see [`BatchSampler::updates`]. An item is an error if the corpus
/// can no longer be read.
pub struct UpdateStream {
    sampler: BatchSampler,
    /// The number of batches of the epoch up to the end of each window.
    ends: Arc<Vec<u64>>,
    /// The last window that was needed: its epoch and number, and its batches.
    window: Option<([u64; 2], Arc<EpochPlan>)>,
    /// The position after the last batch.
    state: SamplerState,
    size: usize,
    rank: Rank,
}

impl UpdateStream {
    fn update(&mut self) -> Result<PlannedUpdate> {
        let from = self.state();
        let mut batches = Vec::with_capacity(self.size.div_ceil(self.rank.count));
        for index in 0..self.size {
            self.pass()?;
            if self.rank.has(index) {
                batches.push(self.read()?);
            }
        }
        Ok(PlannedUpdate {
            batches,
            from,
            next: self.state(),
        })
    }

    /// Returns the position of the next batch; after the last batch of an epoch the beginning of
    /// the next one.
    fn state(&self) -> SamplerState {
        let SamplerState {
            seed,
            epoch,
            next_batch,
        } = self.state;
        let batches = self.ends.last().copied().unwrap_or(0);
        if next_batch < batches {
            return self.state;
        }
        SamplerState {
            seed,
            epoch: epoch + 1,
            next_batch: 0,
        }
    }

    /// Passes the next batch.
    fn pass(&mut self) -> Result<()> {
        let SamplerState {
            seed,
            epoch,
            next_batch,
        } = self.state();
        if epoch != self.state.epoch {
            self.ends = self.sampler.ends(seed, epoch)?;
        }
        self.state = SamplerState {
            seed,
            epoch,
            next_batch: next_batch + 1,
        };
        Ok(())
    }

    /// Reads the batch that was passed last.
    fn read(&mut self) -> Result<Batch> {
        let SamplerState {
            seed,
            epoch,
            next_batch,
        } = self.state;
        let index = next_batch - 1;
        let number = self.ends.partition_point(|&end| end <= index);
        let key = [epoch, number as u64];
        let plan = match self.window.take().filter(|(found, _)| *found == key) {
            Some((_, plan)) => plan,
            None => self.sampler.window(seed, epoch, number)?,
        };
        let before = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        let batch = self
            .sampler
            .batch(&plan.batches()[(index - before) as usize].pairs);
        self.window = Some((key, plan));
        batch
    }
}

impl Iterator for UpdateStream {
    type Item = Result<PlannedUpdate>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.update())
    }
}

impl BatchSampler {
    /// Returns an endless stream of updates of `size` batches each, from `state` on, one epoch
    /// after another. The batches of other processes than `rank` are planned but not read.
    ///
    /// # Errors
    /// Returns [`SamplerError::StalePosition`] if the epoch of `state` has fewer batches, and the
    /// errors of [`TokenizedCorpus::lengths`](crate::TokenizedCorpus::lengths).
    pub fn updates(&self, state: SamplerState, size: usize, rank: Rank) -> Result<UpdateStream> {
        let SamplerState {
            seed,
            epoch,
            next_batch,
        } = state;
        let ends = self.ends(seed, epoch)?;
        let batches = self.batches_in(seed, epoch)?;
        if next_batch > batches {
            return Err(SamplerError::StalePosition {
                next_batch,
                epoch,
                batches,
            }
            .into());
        }
        Ok(UpdateStream {
            sampler: self.clone(),
            ends,
            window: None,
            state,
            size,
            rank,
        })
    }
}
