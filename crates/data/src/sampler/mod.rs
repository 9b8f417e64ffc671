//! Decides which pairs form a batch, and the order of the batches.
//!
//! Pairs are shuffled, sorted by length (keeping the shuffled order among equal lengths), and divided into batches
//! that are as large as the budget allows; then the batches are shuffled. All of this is a pure function of the
//! corpus, the settings, the seed and the epoch. Pairs of equal length meet different neighbours in each epoch. A run
//! resumes from a [`SamplerState`] of three integers.
//! An epoch of a [mixture](TokenizedCorpus::mixed) has the number of pairs of all corpora together. The weight of a corpus
//! decides its share. Each corpus has an order of its own, which begins again when it is used up, also between epochs.
//!
//! A corpus of more pairs than [`window`](SamplerSettings::window) is planned in windows, each when its first batch is
//! needed. Its blocks of [`BLOCK`](crate::cache::BLOCK) neighbouring pairs are shuffled, a window is an equal share of them, and
//! the pairs of a window are shuffled, sorted and divided as above. A plan needs up to 40 bytes of memory per pair of
//! the window, and 4 bytes per block of the corpus; a mixture is one window, and its lengths are held. The text stays on the disk.
//!
//! With [BPE-dropout](BpeDropout) every epoch has another segmentation of the pairs. Its batches are planned by the lengths
//! of that segmentation, and therefore keep the budget. The segmentation is drawn for the plan and again for each batch,
//! which is cheaper than keeping it.

mod plan;
mod settings;
mod update;

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use rand::seq::SliceRandom;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::batch::Batch;
use crate::cache::{MixedPart, TokenizedCorpus};
use crate::error::{DataError, Result};
use crate::random::generator;
use crate::tokenizer::BpeDropout;
use plan::{Entry, columns, cost, cut};
pub use plan::{EpochPlan, PlannedRows};
pub use settings::SamplerSettings;
pub use update::{PlannedUpdate, Rank, UpdateStream};

/// The ids of source and target, without special tokens.
type Pair = (Vec<u32>, Vec<u32>);

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

/// Divides a corpus into batches. Cheap to clone.
#[derive(Clone)]
pub struct BatchSampler {
    corpus: Arc<TokenizedCorpus>,
    settings: SamplerSettings,
    dropout: Option<Arc<BpeDropout>>,
    /// The pairs of a mixture that fit the budget, in the order of the corpora; empty for a corpus of its own.
    mixture: Arc<Vec<Entry>>,
    /// Number of pairs that fit the budget.
    fitting: usize,
    /// The most source and target tokens of such a pair.
    longest: [u32; 2],
    known: Arc<Mutex<Known>>,
}

/// What was planned last.
#[derive(Default)]
struct Known {
    /// A window by seed, epoch and number.
    window: Option<([u64; 3], Arc<EpochPlan>)>,
    /// The ends of the windows of an epoch by its seed and number.
    ends: Option<([u64; 2], Arc<Vec<u64>>)>,
}

impl BatchSampler {
    /// A sampler over `corpus`. Pairs that alone exceed the budget are left out; see [`BatchSampler::over_budget`].
    ///
    /// # Errors
    /// [`DataError::BudgetTooSmall`] if no pair fits; [`DataError::InvalidSetting`] for a limit of 0 rows or a window of
    /// no pair; those of [`TokenizedCorpus::lengths`].
    pub fn new(corpus: Arc<TokenizedCorpus>, settings: SamplerSettings) -> Result<Self> {
        let limits = [("max_sentences", settings.max_sentences), ("window", Some(settings.window))];
        if let Some((name, _)) = limits.into_iter().find(|&(_, limit)| limit == Some(0)) {
            return Err(DataError::setting(name, 0, "choose at least 1, or leave it out"));
        }
        if settings.multiple == 0 {
            let remedy = "choose at least 1, which pads no further";
            return Err(DataError::setting("multiple", 0, remedy));
        }
        let (dropout, known) = (None, Arc::default());
        let mixture = Arc::default();
        let mut sampler =
            Self { corpus, settings, dropout, mixture, fitting: 0, longest: [0; 2], known };
        sampler.look_through()?;
        Ok(sampler)
    }

    /// Finds the pairs that fit the budget.
    fn look_through(&mut self) -> Result<()> {
        let SamplerSettings { budget, multiple, .. } = self.settings;
        let is_mixture = !self.corpus.parts().is_empty();
        let (mut shortest, mut mixture) = (None, Vec::new());
        for block in self.corpus.blocks() {
            for (pair, lengths) in block.clone().zip(self.corpus.lengths(block)?) {
                let cost = cost(lengths, multiple);
                shortest = Some(shortest.map_or(cost, |shortest: usize| shortest.min(cost)));
                if cost <= budget {
                    self.fitting += 1;
                    self.longest = larger(self.longest, lengths);
                    mixture.extend(is_mixture.then_some(Entry { pair: pair as u32, lengths }));
                }
            }
        }
        self.mixture = Arc::new(mixture);
        match self.fitting {
            0 => Err(DataError::BudgetTooSmall { budget, shortest: shortest.unwrap_or(0) }),
            _ => Ok(()),
        }
    }

    /// The sampler with another segmentation of its pairs in each epoch, drawn from the seed and the epoch. No side gets
    /// more tokens than `dropout` and the budget allow: it keeps its ordinary segmentation instead.
    #[must_use]
    pub fn with_bpe_dropout(mut self, dropout: BpeDropout) -> Self {
        let SamplerSettings { budget, multiple, .. } = self.settings;
        let dropout = dropout.within((budget / multiple * multiple).saturating_sub(1));
        self.dropout = Some(Arc::new(dropout));
        self.known = Arc::default();
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
        self.corpus.len() - self.fitting
    }

    /// The position before the first batch of the first epoch.
    pub fn start(&self) -> SamplerState {
        SamplerState { seed: self.settings.seed, epoch: 0, next_batch: 0 }
    }

    /// The number of windows of an epoch.
    pub fn windows(&self) -> usize {
        match self.corpus.parts() {
            [] => self.corpus.len().div_ceil(self.settings.window),
            _ => 1,
        }
    }

    /// The plan of a window of an epoch: a pure function of the corpus, the settings, `seed`, `epoch` and `number`.
    ///
    /// # Errors
    /// Those of [`TokenizedCorpus::lengths`].
    pub fn window(&self, seed: u64, epoch: u64, number: usize) -> Result<Arc<EpochPlan>> {
        // The lock is not held during the work, in which other threads take part.
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let key = [seed, epoch, number as u64];
        if let Some((_, plan)) = known().window.as_ref().filter(|(found, _)| *found == key) {
            return Ok(Arc::clone(plan));
        }
        let random = |what: &str| match number {
            0 => generator(what, seed, epoch),
            _ => generator(&format!("{what} of window {number}"), seed, epoch),
        };
        let mut entries = match self.corpus.parts() {
            [] => self.entries(self.blocks_of(seed, epoch, number))?,
            parts => self.drawn(parts, seed, epoch),
        };
        entries.shuffle(&mut random("pairs"));
        self.vary(&mut entries, seed, epoch);
        let mut plan = cut(&entries, &self.settings);
        plan.batches.shuffle(&mut random("batches"));
        let plan = Arc::new(plan);
        known().window = Some((key, Arc::clone(&plan)));
        Ok(plan)
    }

    /// The number of batches of an epoch up to the end of each window.
    fn ends(&self, seed: u64, epoch: u64) -> Result<Arc<Vec<u64>>> {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let key = [seed, epoch];
        if let Some((_, ends)) = known().ends.as_ref().filter(|(found, _)| *found == key) {
            return Ok(Arc::clone(ends));
        }
        let mut end = 0;
        let mut ends = Vec::with_capacity(self.windows());
        for number in 0..self.windows() {
            end += self.window(seed, epoch, number)?.len() as u64;
            ends.push(end);
        }
        let ends = Arc::new(ends);
        known().ends = Some((key, Arc::clone(&ends)));
        Ok(ends)
    }

    /// The number of batches of an epoch.
    ///
    /// # Errors
    /// Those of [`TokenizedCorpus::lengths`].
    pub fn batches_in(&self, seed: u64, epoch: u64) -> Result<u64> {
        Ok(self.ends(seed, epoch)?.last().copied().unwrap_or(0))
    }

    /// The plan of a whole epoch: its windows one after the other.
    ///
    /// # Errors
    /// Those of [`TokenizedCorpus::lengths`].
    pub fn plan(&self, seed: u64, epoch: u64) -> Result<EpochPlan> {
        let mut plan = EpochPlan::default();
        for number in 0..self.windows() {
            plan.append(&*self.window(seed, epoch, number)?);
        }
        Ok(plan)
    }

    /// The blocks of pairs of a window.
    fn blocks_of(&self, seed: u64, epoch: u64, number: usize) -> Vec<Range<usize>> {
        let windows = self.windows();
        let mut blocks: Vec<u32> = (0..self.corpus.blocks().count() as u32).collect();
        if windows > 1 {
            blocks.shuffle(&mut generator("blocks", seed, epoch));
        }
        let place = |window: usize| blocks.len() * window / windows;
        let own = &blocks[place(number)..place(number + 1)];
        own.iter().map(|&block| self.corpus.block(block as usize)).collect()
    }

    /// The pairs of `blocks` that fit the budget.
    fn entries(&self, blocks: impl IntoIterator<Item = Range<usize>>) -> Result<Vec<Entry>> {
        let SamplerSettings { budget, multiple, .. } = self.settings;
        let mut entries = Vec::new();
        for block in blocks {
            let lengths = self.corpus.lengths(block.clone())?;
            let all =
                block.zip(lengths).map(|(pair, lengths)| Entry { pair: pair as u32, lengths });
            entries.extend(all.filter(|entry| cost(entry.lengths, multiple) <= budget));
        }
        Ok(entries)
    }

    /// The pairs of an epoch of a mixture, which the weights of its `parts` draw.
    fn drawn(&self, parts: &[MixedPart], seed: u64, epoch: u64) -> Vec<Entry> {
        let all: f64 = parts.iter().map(|part| part.weight).sum();
        let share = |weight: f64| (self.fitting as f64 * weight / all).round().max(1.0);
        let draw = |(number, part): (usize, &MixedPart)| {
            let place = |pair| self.mixture.partition_point(|entry| entry.pair < pair);
            let pairs = &self.mixture[place(part.pairs.start)..place(part.pairs.end)];
            draw(pairs, share(part.weight) as u64, &format!("corpus {number}"), seed, epoch)
        };
        parts.iter().enumerate().flat_map(draw).collect()
    }

    /// Gives `entries` the lengths that they have in an epoch, which differ where there is a dropout of merges.
    ///
    /// A pair that cannot be read keeps the lengths of its ordinary segmentation; the batch that has it will report the
    /// error.
    fn vary(&self, entries: &mut [Entry], seed: u64, epoch: u64) {
        let Some(dropout) = &self.dropout else { return };
        entries.par_iter_mut().for_each(|Entry { pair, lengths }| {
            if let Ok(ids) = self.corpus.pair(*pair as usize) {
                let (source, target) = dropout.pair(ids, seed, epoch, *pair);
                *lengths = [source.len() as u32, target.len() as u32];
            }
        });
    }

    /// A plan with every pair once, in order of length, without random choices. It is for validation and scoring.
    ///
    /// # Errors
    /// Those of [`TokenizedCorpus::lengths`].
    pub fn ordered(&self) -> Result<EpochPlan> {
        Ok(cut(&self.entries(self.corpus.blocks())?, &self.settings))
    }

    /// The most source and target columns, `</s>` and padding to [`multiple`](SamplerSettings::multiple) included, that
    /// a batch of any epoch can have.
    ///
    /// # Errors
    /// Those of [`TokenizedCorpus::pair`].
    pub fn most_columns(&self) -> Result<[usize; 2]> {
        let mut most = self.longest;
        if let Some(dropout) = &self.dropout {
            for block in self.corpus.blocks() {
                let longest = |entry: &Entry| -> Result<[u32; 2]> {
                    Ok(dropout.longest(&self.corpus.pair(entry.pair as usize)?))
                };
                let longest =
                    self.entries([block])?.par_iter().map(longest).collect::<Result<Vec<_>>>()?;
                most = longest.into_iter().fold(most, larger);
            }
        }
        Ok(columns(most, self.settings.multiple))
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
        self.batch_of(pairs, |pair, number| match &self.dropout {
            None => pair,
            Some(dropout) => dropout.pair(pair, seed, epoch, number),
        })
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
    /// [`DataError::StalePosition`] if the epoch of `state` has fewer batches; those of [`TokenizedCorpus::lengths`].
    pub fn stream(&self, state: SamplerState) -> Result<BatchStream> {
        let SamplerState { seed, epoch, next_batch } = state;
        let (ends, batches) = (self.ends(seed, epoch)?, self.batches_in(seed, epoch)?);
        if next_batch > batches {
            return Err(DataError::StalePosition { next_batch, epoch, batches });
        }
        Ok(BatchStream { sampler: self.clone(), ends, window: None, state })
    }
}

/// The larger number on each side.
fn larger([a, b]: [u32; 2], [c, d]: [u32; 2]) -> [u32; 2] {
    [a.max(c), b.max(d)]
}

/// The pairs of an epoch. `pairs` are shuffled again and again into an endless row, of which each epoch takes the next `count`.
/// `place` names the row.
fn draw(pairs: &[Entry], count: u64, place: &str, seed: u64, epoch: u64) -> Vec<Entry> {
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

    /// Whether no batch of the epoch is left.
    fn is_at_end(&self) -> bool {
        self.state.next_batch >= self.batches()
    }

    /// Passes the next batch.
    fn pass(&mut self) -> Result<()> {
        if self.is_at_end() {
            let SamplerState { seed, epoch, .. } = self.state;
            self.ends = self.sampler.ends(seed, epoch + 1)?;
            self.state = SamplerState { seed, epoch: epoch + 1, next_batch: 0 };
        }
        self.state.next_batch += 1;
        Ok(())
    }

    /// Reads the batch that was passed last.
    fn read(&mut self) -> Result<PlannedBatch> {
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
        let batch = self.sampler.batch_in(pairs, seed, epoch)?;
        self.window = Some((key, plan));
        Ok(PlannedBatch { batch, epoch, index, batches: self.batches(), next: self.state })
    }
}

impl Iterator for BatchStream {
    type Item = Result<PlannedBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.pass().and_then(|()| self.read()))
    }
}
