//! Decides which pairs form a batch, and the order of the batches.
//!
//! Pairs are shuffled, sorted by length (keeping the shuffled order among equal lengths), and divided into batches
//! that are as large as the budget allows; then the batches are shuffled. All of this is a pure function of the
//! corpus, the settings, the seed and the epoch. Pairs of equal length meet different neighbours in each epoch. A run
//! resumes from a [`SamplerState`] of three integers.
//! An epoch of a [mixture](TokenizedCorpus::mixed) has the number of pairs of all corpora together. The weight of a corpus
//! decides its share. Each corpus has an order of its own, which begins again when it is used up, also between epochs.
//! The plan of an epoch needs about 20 bytes of memory per pair;
//! the text stays on the disk.
//!
//! With [BPE-dropout](BpeDropout) every epoch has another segmentation of the pairs. Its batches are planned by the lengths
//! of that segmentation, and therefore keep the budget. The segmentation is drawn for the plan and again for each batch,
//! which is cheaper than keeping it; only its lengths are kept, 8 bytes per pair.

mod update;
mod variation;

use std::collections::VecDeque;
use std::sync::Arc;

use rand::seq::SliceRandom;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::batch::Batch;
use crate::cache::{MixedPart, TokenizedCorpus};
use crate::error::{DataError, Result};
use crate::random::generator;
use crate::tokenizer::{BpeDropout, SpecialIds};
pub use update::{PlannedUpdate, Rank, UpdateStream};
use variation::{Lengths, Pair, Variation, ordinary};

/// The limits on the size of a batch, and the order of batches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SamplerSettings {
    /// The token budget: rows × max(longest source, longest target), each with its `</s>`, is at most this number.
    pub budget: usize,
    /// Largest number of rows of a batch, whatever their length.
    pub max_sentences: Option<usize>,
    /// Lengths, including `</s>`, are padded up to a multiple of this number. Batches then have few different shapes,
    /// which helps a device that compiles or tunes its kernels for each shape. 1 adds no padding.
    pub multiple: usize,
    /// The seed of the order of batches; the order also depends on the epoch.
    pub seed: u64,
    /// The special ids of the batches.
    pub special: SpecialIds,
}

impl Default for SamplerSettings {
    fn default() -> Self {
        Self { budget: 4096, max_sentences: None, multiple: 1, seed: 1, special: SpecialIds::OURS }
    }
}

/// A position between two batches, which is all that is needed to resume.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SamplerState {
    /// The seed.
    pub seed: u64,
    /// The epoch, from 0.
    pub epoch: u64,
    /// Index of the next batch in that epoch, from 0.
    pub next_batch: u64,
}

/// The batches of one epoch, in order, as indices of pairs in the corpus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EpochPlan {
    batches: Vec<Vec<u32>>,
    real: usize,
    padded: usize,
}

impl EpochPlan {
    /// Number of batches.
    pub fn len(&self) -> usize {
        self.batches.len()
    }

    /// Whether there is no batch.
    pub fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }

    /// The batches, each a list of indices of pairs.
    pub fn batches(&self) -> &[Vec<u32>] {
        &self.batches
    }

    /// Share of padding among all positions of both sides in the epoch, in `[0, 1)`.
    pub fn padding_share(&self) -> f64 {
        self.padded as f64 / (self.real + self.padded).max(1) as f64
    }
}

/// Divides a corpus into batches. Cheap to clone.
#[derive(Clone)]
pub struct BatchSampler {
    corpus: Arc<TokenizedCorpus>,
    /// Pairs that fit the budget, in the order of the corpus.
    fitting: Arc<Vec<u32>>,
    settings: SamplerSettings,
    variation: Arc<Variation>,
}

impl BatchSampler {
    /// A sampler over `corpus`. Pairs that alone exceed the budget are left out; see [`BatchSampler::over_budget`].
    ///
    /// # Errors
    /// [`DataError::BudgetTooSmall`] if no pair fits; [`DataError::InvalidSetting`] for a limit of 0 rows.
    pub fn new(corpus: Arc<TokenizedCorpus>, settings: SamplerSettings) -> Result<Self> {
        if settings.max_sentences == Some(0) {
            let remedy = "choose at least 1, or leave it out";
            return Err(DataError::setting("max_sentences", 0, remedy));
        }
        if settings.multiple == 0 {
            let remedy = "choose at least 1, which pads no further";
            return Err(DataError::setting("multiple", 0, remedy));
        }
        let all = 0..corpus.len() as u32;
        let multiple = settings.multiple;
        let cost = |i: u32| cost(ordinary(&corpus, i), multiple);
        let fitting: Vec<u32> = all.clone().filter(|&i| cost(i) <= settings.budget).collect();
        if fitting.is_empty() {
            let shortest = all.map(cost).min().unwrap_or(0);
            return Err(DataError::BudgetTooSmall { budget: settings.budget, shortest });
        }
        let variation = Arc::new(Variation::default());
        Ok(Self { corpus, fitting: Arc::new(fitting), settings, variation })
    }

    /// The sampler with another segmentation of its pairs in each epoch, drawn from the seed and the epoch. No side gets
    /// more tokens than `dropout` and the budget allow: it keeps its ordinary segmentation instead.
    #[must_use]
    pub fn with_bpe_dropout(mut self, dropout: BpeDropout) -> Self {
        let SamplerSettings { budget, multiple, .. } = self.settings;
        let dropout = dropout.within((budget / multiple * multiple).saturating_sub(1));
        self.variation = Arc::new(Variation::of(dropout));
        self
    }

    /// The corpus.
    pub fn corpus(&self) -> &Arc<TokenizedCorpus> {
        &self.corpus
    }

    /// The settings.
    pub fn settings(&self) -> &SamplerSettings {
        &self.settings
    }

    /// Number of pairs that are left out because they alone exceed the budget.
    pub fn over_budget(&self) -> usize {
        self.corpus.len() - self.fitting.len()
    }

    /// The position before the first batch of the first epoch.
    pub fn start(&self) -> SamplerState {
        SamplerState { seed: self.settings.seed, epoch: 0, next_batch: 0 }
    }

    /// The plan of an epoch: a pure function of the corpus, the limits, `seed` and `epoch`.
    pub fn plan(&self, seed: u64, epoch: u64) -> EpochPlan {
        let mut order = self.drawn(seed, epoch);
        order.shuffle(&mut generator("pairs", seed, epoch));
        let mut plan = match self.variation.lengths(&self.corpus, &order, seed, epoch) {
            None => self.cut(order, |i| ordinary(&self.corpus, i)),
            Some(lengths) => self.cut(order, |i| lengths[i as usize].map(|length| length as usize)),
        };
        plan.batches.shuffle(&mut generator("batches", seed, epoch));
        plan
    }

    /// The pairs of an epoch: all of them, or of a mixture those that the weights draw.
    fn drawn(&self, seed: u64, epoch: u64) -> Vec<u32> {
        let parts = self.corpus.parts();
        if parts.is_empty() {
            return self.fitting.to_vec();
        }
        let all: f64 = parts.iter().map(|part| part.weight).sum();
        let share = |weight: f64| (self.fitting.len() as f64 * weight / all).round().max(1.0);
        let draw = |(number, part): (usize, &MixedPart)| {
            let place = |pair| self.fitting.partition_point(|&fitting| fitting < pair);
            let pairs = &self.fitting[place(part.pairs.start)..place(part.pairs.end)];
            draw(pairs, share(part.weight) as u64, &format!("corpus {number}"), seed, epoch)
        };
        parts.iter().enumerate().flat_map(draw).collect()
    }

    /// The batches of an epoch with the sampler's own seed.
    pub fn batches(&self, epoch: u64) -> Vec<Vec<u32>> {
        self.plan(self.settings.seed, epoch).batches
    }

    /// A plan with every pair once, in order of length, without random choices. It is for validation and scoring.
    pub fn ordered(&self) -> EpochPlan {
        self.cut(self.fitting.to_vec(), |i| ordinary(&self.corpus, i))
    }

    /// The most source and target columns, `</s>` and padding to [`multiple`](SamplerSettings::multiple) included, that
    /// a batch of any epoch can have.
    ///
    /// # Errors
    /// Those of [`TokenizedCorpus::pair`].
    pub fn most_columns(&self) -> Result<[usize; 2]> {
        let longest = |&i: &u32| self.variation.longest(&self.corpus, i);
        let larger = |[a, b]: Lengths, [c, d]: Lengths| Ok([a.max(c), b.max(d)]);
        let longest = self.fitting.par_iter().map(longest).try_reduce(|| [0, 0], larger)?;
        Ok(columns(longest, self.settings.multiple))
    }

    /// Reads the pairs of one planned batch, in their ordinary segmentation.
    ///
    /// # Errors
    /// Those of [`TokenizedCorpus::pair`].
    ///
    /// # Panics
    /// If an index is not below the number of pairs in the corpus.
    pub fn batch(&self, pairs: &[u32]) -> Result<Batch> {
        self.batch_of(pairs, |pair, _| pair)
    }

    /// Reads the pairs of a batch that was planned for an epoch: as [`batch`](Self::batch), but with the dropout of merges in that
    /// epoch.
    ///
    /// # Errors
    /// Those of [`TokenizedCorpus::pair`].
    ///
    /// # Panics
    /// If an index is not below the number of pairs in the corpus.
    pub fn batch_in(&self, pairs: &[u32], seed: u64, epoch: u64) -> Result<Batch> {
        self.batch_of(pairs, |pair, i| self.variation.pair(pair, seed, epoch, i))
    }

    fn batch_of(&self, pairs: &[u32], varied: impl Fn(Pair, u32) -> Pair) -> Result<Batch> {
        let row = |&i: &u32| Ok(varied(self.corpus.pair(i as usize)?, i));
        let rows: Vec<_> = pairs.iter().map(row).collect::<Result<_>>()?;
        let SamplerSettings { multiple, special, .. } = self.settings;
        Ok(Batch::with_special_ids(pairs.to_vec(), &rows, multiple, special))
    }

    /// Gives the batches from `state` on, without end: one epoch follows another.
    ///
    /// # Errors
    /// [`DataError::StalePosition`] if the epoch of `state` has fewer batches.
    pub fn stream(&self, state: SamplerState) -> Result<BatchStream> {
        let plan = self.plan(state.seed, state.epoch);
        let batches = plan.len() as u64;
        if state.next_batch > batches {
            return Err(DataError::StalePosition {
                next_batch: state.next_batch,
                epoch: state.epoch,
                batches,
            });
        }
        Ok(BatchStream {
            sampler: self.clone(),
            queue: plan.batches.into_iter().skip(state.next_batch as usize).collect(),
            batches,
            state,
        })
    }

    /// Sorts by length, keeping the given order among equal lengths, and divides the pairs into batches.
    fn cut(&self, mut order: Vec<u32>, lengths: impl Fn(u32) -> Lengths) -> EpochPlan {
        let multiple = self.settings.multiple;
        order.sort_by_cached_key(|&i| shape(lengths(i), multiple));
        let mut plan = EpochPlan { batches: Vec::new(), real: 0, padded: 0 };
        let (mut rows, mut longest) = (Vec::new(), 0);
        for i in order {
            let cost = cost(lengths(i), multiple);
            if !self.fits(rows.len() + 1, longest.max(cost)) {
                self.close(&mut plan, std::mem::take(&mut rows), &lengths);
                longest = 0;
            }
            rows.push(i);
            longest = longest.max(cost);
        }
        self.close(&mut plan, rows, &lengths);
        plan
    }

    fn fits(&self, rows: usize, longest: usize) -> bool {
        rows * longest <= self.settings.budget
            && self.settings.max_sentences.is_none_or(|most| rows <= most)
    }

    /// Adds a batch to the plan and counts its positions.
    fn close(&self, plan: &mut EpochPlan, rows: Vec<u32>, lengths: impl Fn(u32) -> Lengths) {
        for side in [0, 1] {
            let all = rows.iter().map(|&i| lengths(i)[side] + 1);
            let longest = all.clone().max().unwrap_or(0);
            let real: usize = all.sum();
            plan.real += real;
            plan.padded += longest.next_multiple_of(self.settings.multiple) * rows.len() - real;
        }
        plan.batches.push(rows);
    }
}

/// The pairs of an epoch. `pairs` are shuffled again and again into an endless row, of which each epoch takes the next `count`.
/// `place` names the row.
fn draw(pairs: &[u32], count: u64, place: &str, seed: u64, epoch: u64) -> Vec<u32> {
    let all = pairs.len() as u64;
    if all == 0 {
        return Vec::new();
    }
    let (mut drawn, mut next) = (Vec::with_capacity(count as usize), epoch * count);
    while (drawn.len() as u64) < count {
        let mut order = pairs.to_vec();
        order.shuffle(&mut generator(place, seed, next / all));
        let left = count as usize - drawn.len();
        drawn.extend(order.into_iter().skip((next % all) as usize).take(left));
        next = epoch * count + drawn.len() as u64;
    }
    drawn
}

/// Number of source and target columns of a pair, `</s>` included, padded to `multiple`.
fn columns(lengths: Lengths, multiple: usize) -> [usize; 2] {
    lengths.map(|length| (length + 1).next_multiple_of(multiple))
}

/// Number of columns that a pair needs on its longer side.
fn cost(lengths: Lengths, multiple: usize) -> usize {
    let [source, target] = columns(lengths, multiple);
    source.max(target)
}

/// The sort key: the length of the longer side, which the budget counts, then the difference to the shorter side. A
/// batch then has pairs of similar shape. The difference rises at one length and falls at the next. A batch with
/// two lengths therefore has pairs of similar shape too. Sorting by (target, source) gives 4.6 % padding where this gives
/// 3.3 % (Multi30k, budget 4096).
fn shape(lengths: Lengths, multiple: usize) -> (usize, isize) {
    let [source, target] = columns(lengths, multiple);
    let (cost, difference) = (source.max(target), source as isize - target as isize);
    (cost, if (cost / multiple).is_multiple_of(2) { difference } else { -difference })
}

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

impl PlannedBatch {
    /// Whether this is the last batch of its epoch.
    pub fn ends_epoch(&self) -> bool {
        self.index + 1 == self.batches
    }
}

/// An endless iterator of batches. [`Prefetch`](crate::Prefetch) runs it ahead on a thread. An item is an error if
/// the corpus can no longer be read.
pub struct BatchStream {
    sampler: BatchSampler,
    queue: VecDeque<Vec<u32>>,
    batches: u64,
    state: SamplerState,
}

impl BatchStream {
    /// The position of the next batch.
    pub fn state(&self) -> SamplerState {
        self.state
    }

    fn turn_epoch(&mut self) {
        self.state = SamplerState { epoch: self.state.epoch + 1, next_batch: 0, ..self.state };
        self.queue = self.sampler.plan(self.state.seed, self.state.epoch).batches.into();
        self.batches = self.queue.len() as u64;
    }

    /// The pairs of the next batch, whose position is passed.
    fn pass(&mut self) -> Option<Vec<u32>> {
        if self.queue.is_empty() {
            self.turn_epoch();
        }
        let pairs = self.queue.pop_front()?;
        self.state.next_batch += 1;
        Some(pairs)
    }
}

impl Iterator for BatchStream {
    type Item = Result<PlannedBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let pairs = self.pass()?;
        let (batches, next) = (self.batches, self.state);
        let SamplerState { seed, epoch, next_batch } = next;
        let index = next_batch - 1;
        let planned = |batch| PlannedBatch { batch, epoch, index, batches, next };
        Some(self.sampler.batch_in(&pairs, seed, epoch).map(planned))
    }
}
