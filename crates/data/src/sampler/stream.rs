//! Streams of batches, one epoch after another, each batch with its position.
//!
//! An [`UpdateStream`] yields the batches of whole updates; each process reads its share of them.

use std::sync::Arc;

use super::{BatchSampler, EpochPlan, SamplerState};
use crate::batch::Batch;
use crate::error::{DataError, Result};

/// A batch and its position in the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedBatch {
    /// The arrays.
    pub batch: Batch,
    /// The epoch this batch belongs to, from 0.
    pub epoch: u64,
    /// Index of the batch within the epoch, from 0.
    pub index: u64,
    /// Number of batches in this epoch.
    pub batches: u64,
    /// The position after this batch. A run that saves it resumes with the next batch.
    pub next: SamplerState,
}

/// An endless iterator of batches. An item is an error if the corpus can no longer be read.
pub struct BatchStream {
    sampler: BatchSampler,
    /// The number of batches of the epoch up to the end of each window.
    ends: Arc<Vec<u64>>,
    /// The last window that was needed: its epoch and number, and its batches.
    window: Option<([u64; 2], Arc<EpochPlan>)>,
    state: SamplerState,
}

impl BatchStream {
    /// The position of the next batch.
    pub fn state(&self) -> SamplerState {
        self.state
    }

    /// The number of batches in the epoch of [`state`](Self::state).
    pub fn batches(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Returns whether no batch of the epoch is left.
    pub(super) fn is_at_end(&self) -> bool {
        self.state.next_batch >= self.batches()
    }

    /// Passes the next batch.
    pub(super) fn pass(&mut self) -> Result<()> {
        if self.is_at_end() {
            let SamplerState { seed, epoch, .. } = self.state;
            self.ends = self.sampler.ends(seed, epoch + 1)?;
            self.state = SamplerState { seed, epoch: epoch + 1, next_batch: 0 };
        }
        self.state.next_batch += 1;
        Ok(())
    }

    /// Reads the batch that was passed last.
    pub(super) fn read(&mut self) -> Result<PlannedBatch> {
        let SamplerState { seed, epoch, next_batch } = self.state;
        let index = next_batch - 1;
        let number = self.ends.partition_point(|&end| end <= index);
        let key = [epoch, number as u64];
        let plan = match self.window.take().filter(|(found, _)| *found == key) {
            Some((_, plan)) => plan,
            None => self.sampler.window(seed, epoch, number)?,
        };
        let before = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        let pairs = &plan.batches()[(index - before) as usize].pairs;
        let batch = self.sampler.batch(pairs)?;
        self.window = Some((key, plan));
        Ok(PlannedBatch { batch, epoch, index, batches: self.batches(), next: self.state })
    }

    /// Groups the batches into updates of `size` batches each. The batches of other processes are
    /// planned but not read.
    pub fn updates(self, size: usize, rank: Rank) -> UpdateStream {
        UpdateStream { stream: self, size, rank }
    }
}

impl Iterator for BatchStream {
    type Item = Result<PlannedBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.pass().and_then(|()| self.read()))
    }
}

impl BatchSampler {
    /// Returns an endless stream of the batches from `state` on, one epoch after another.
    ///
    /// # Errors
    /// Returns [`DataError::StalePosition`] if the epoch of `state` has fewer batches, and the
    /// errors of [`TokenizedCorpus::lengths`](crate::TokenizedCorpus::lengths).
    pub fn stream(&self, state: SamplerState) -> Result<BatchStream> {
        let SamplerState { seed, epoch, next_batch } = state;
        let (ends, batches) = (self.ends(seed, epoch)?, self.batches_in(seed, epoch)?);
        if next_batch > batches {
            return Err(DataError::StalePosition { next_batch, epoch, batches });
        }
        Ok(BatchStream { sampler: self.clone(), ends, window: None, state })
    }
}

/// One of several processes that share the batches of each update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rank {
    /// The number of this process, from 0.
    pub number: usize,
    /// The number of processes.
    pub count: usize,
}

impl Rank {
    /// The rank of the only process, to which all batches belong.
    pub const ALONE: Self = Self { number: 0, count: 1 };

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

/// An endless iterator of updates; see [`BatchStream::updates`].
pub struct UpdateStream {
    stream: BatchStream,
    size: usize,
    rank: Rank,
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
