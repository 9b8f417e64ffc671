//! Decides which pairs form a batch, and the order of the batches.
//!
//! Pairs are shuffled, sorted by length (keeping the shuffled order among equal lengths), and
//! divided into batches that are as large as the budget allows; then the batches are shuffled. All
//! of this is a pure function of the corpus, the settings, the seed and the epoch. Pairs of equal
//! length meet different neighbours in each epoch. A run resumes from a [`SamplerState`] of three
//! integers. An epoch of a [mixture](TokenizedCorpus::mixed) has the number of pairs of all corpora
//! together. The weight of a corpus decides its share, in a [mixture by
//! size](TokenizedCorpus::by_size) also its size. Each corpus has a separate shuffled order,
//! which continues from one epoch to the next. When a corpus is used up, it is shuffled again.
//!
//! A corpus of more pairs than [`window`](SamplerSettings::window) is planned in windows, each when
//! its first batch is needed. Its blocks of [`BLOCK`](crate::cache::BLOCK) neighbouring pairs are
//! shuffled, a window is an equal share of them, and the pairs of a window are shuffled, sorted and
//! divided as above. A plan needs up to 40 bytes of memory per pair of the window, and 4 bytes per
//! block of the corpus. A mixture is planned as one window, and the lengths of its pairs are held
//! in memory. The text stays on the disk.

mod error;
mod plan;
mod stream;

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use crate::batch::Batch;
use crate::cache::{MixedPart, TokenizedCorpus};
use crate::error::{DataError, Result};
use crate::hash::generator;
pub use error::SamplerError;
use plan::{Entry, columns, cost, cut};
pub use plan::{EpochPlan, PlannedRows, SamplerSettings};
pub use stream::{PlannedUpdate, Rank, UpdateStream};

/// A position between two batches, which is all that is needed to resume.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SamplerState {
    /// The seed of the order of batches.
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
    /// The pairs of a mixture that fit the budget, in the order of the corpora; empty for a single
    /// corpus.
    mixture: Arc<Vec<Entry>>,
    /// Number of pairs that fit the budget.
    fitting: usize,
    /// The largest numbers of source and target tokens of such a pair.
    longest: [u32; 2],
    plan_cache: Arc<Mutex<PlanCache>>,
}

/// The plans that were computed last.
#[derive(Default)]
struct PlanCache {
    /// A window by seed, epoch and number.
    window: Option<([u64; 3], Arc<EpochPlan>)>,
    /// The ends of the windows of an epoch by its seed and number.
    ends: Option<([u64; 2], Arc<Vec<u64>>)>,
}

impl BatchSampler {
    /// Creates a sampler over `corpus`. Pairs that alone exceed the budget are left out; see
    /// [`BatchSampler::over_budget`].
    ///
    /// # Errors
    /// Returns [`SamplerError::BudgetTooSmall`] if no pair fits, [`DataError::InvalidSetting`] if
    /// the window or the multiple is 0, and the errors of [`TokenizedCorpus::lengths`].
    pub fn new(corpus: Arc<TokenizedCorpus>, settings: SamplerSettings) -> Result<Self> {
        let SamplerSettings {
            window, multiple, ..
        } = settings;
        DataError::check(
            window > 0,
            "window",
            window,
            "choose at least 1, or leave it out",
        )?;
        let remedy = "choose at least 1, which pads no further";
        DataError::check(multiple > 0, "multiple", multiple, remedy)?;
        let mut sampler = Self {
            corpus,
            settings,
            mixture: Arc::default(),
            fitting: 0,
            longest: [0; 2],
            plan_cache: Arc::default(),
        };
        sampler.find_fitting()?;
        Ok(sampler)
    }

    /// Finds the pairs that fit the budget.
    fn find_fitting(&mut self) -> Result<()> {
        let SamplerSettings {
            budget, multiple, ..
        } = self.settings;
        let is_mixture = !self.corpus.parts().is_empty();
        let mut shortest: Option<usize> = None;
        let mut mixture = Vec::new();
        for block in self.corpus.blocks() {
            for (pair, lengths) in block.clone().zip(self.corpus.lengths(block)?) {
                let cost = cost(lengths, multiple);
                shortest = Some(shortest.map_or(cost, |shortest| shortest.min(cost)));
                if cost <= budget {
                    self.fitting += 1;
                    self.longest = larger(self.longest, lengths);
                    mixture.extend(is_mixture.then_some(Entry {
                        pair: pair as u32,
                        lengths,
                    }));
                }
            }
        }
        self.mixture = Arc::new(mixture);
        if self.fitting == 0 {
            let shortest = shortest.unwrap_or(0);
            return Err(SamplerError::BudgetTooSmall { budget, shortest }.into());
        }
        Ok(())
    }

    /// Returns the corpus.
    pub fn corpus(&self) -> &Arc<TokenizedCorpus> {
        &self.corpus
    }

    /// Returns the settings.
    pub fn settings(&self) -> &SamplerSettings {
        &self.settings
    }

    /// Number of pairs that are left out because they alone exceed the budget.
    pub fn over_budget(&self) -> usize {
        self.corpus.len() - self.fitting
    }

    /// Returns the position before the first batch of the first epoch.
    pub fn start(&self) -> SamplerState {
        SamplerState {
            seed: self.settings.seed,
            epoch: 0,
            next_batch: 0,
        }
    }

    /// Returns the pairs of `blocks` that fit the budget.
    fn entries(&self, blocks: impl IntoIterator<Item = Range<usize>>) -> Result<Vec<Entry>> {
        let SamplerSettings {
            budget, multiple, ..
        } = self.settings;
        let mut entries = Vec::new();
        for block in blocks {
            let lengths = self.corpus.lengths(block.clone())?;
            let all = block.zip(lengths).map(|(pair, lengths)| Entry {
                pair: pair as u32,
                lengths,
            });
            entries.extend(all.filter(|entry| cost(entry.lengths, multiple) <= budget));
        }
        Ok(entries)
    }

    /// Plans batches for validation and scoring: every pair occurs once, in order of length,
    /// without random choices.
    ///
    /// # Errors
    /// Returns the errors of [`TokenizedCorpus::lengths`].
    pub fn ordered(&self) -> Result<EpochPlan> {
        Ok(cut(&self.entries(self.corpus.blocks())?, &self.settings))
    }

    /// Returns the largest numbers of source and target columns, `</s>` and padding to
    /// [`multiple`](SamplerSettings::multiple) included, that a batch of any epoch can have.
    pub fn most_columns(&self) -> [usize; 2] {
        columns(self.longest, self.settings.multiple)
    }

    /// Reads the pairs of one planned batch.
    ///
    /// # Errors
    /// Returns the errors of [`TokenizedCorpus::pair`].
    ///
    /// # Panics
    /// Panics if an index is not below the number of pairs in the corpus.
    pub fn batch(&self, pairs: &[u32]) -> Result<Batch> {
        let rows: Vec<_> = pairs
            .iter()
            .map(|&i| self.corpus.pair(i as usize))
            .collect::<Result<_>>()?;
        let SamplerSettings {
            multiple, special, ..
        } = self.settings;
        Ok(Batch::with_special_ids(
            pairs.to_vec(),
            &rows,
            multiple,
            special,
        ))
    }

    /// Returns the number of windows of an epoch.
    pub fn windows(&self) -> usize {
        match self.corpus.parts() {
            [] => self.corpus.len().div_ceil(self.settings.window),
            _ => 1,
        }
    }

    /// Returns the plan of a window of an epoch: a pure function of the corpus, the settings,
    /// `seed`, `epoch` and `number`.
    ///
    /// # Errors
    /// Returns the errors of [`TokenizedCorpus::lengths`](crate::TokenizedCorpus::lengths).
    pub fn window(&self, seed: u64, epoch: u64, number: usize) -> Result<Arc<EpochPlan>> {
        // The lock is not held during the work, because other threads take part in it.
        let key = [seed, epoch, number as u64];
        if let Some((_, plan)) = self
            .plan_cache()
            .window
            .as_ref()
            .filter(|(found, _)| *found == key)
        {
            return Ok(Arc::clone(plan));
        }
        let suffix = if number == 0 {
            String::new()
        } else {
            format!(" of window {number}")
        };
        let mut entries = match self.corpus.parts() {
            [] => self.entries(self.blocks_of(seed, epoch, number))?,
            parts => self.drawn(parts, seed, epoch),
        };
        entries.shuffle(&mut generator(&format!("pairs{suffix}"), seed, epoch));
        let mut plan = cut(&entries, &self.settings);
        let mut random = generator(&format!("batches{suffix}"), seed, epoch);
        plan.batches.shuffle(&mut random);
        let plan = Arc::new(plan);
        self.plan_cache().window = Some((key, Arc::clone(&plan)));
        Ok(plan)
    }

    fn plan_cache(&self) -> MutexGuard<'_, PlanCache> {
        self.plan_cache
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of batches of an epoch up to the end of each window.
    pub(super) fn ends(&self, seed: u64, epoch: u64) -> Result<Arc<Vec<u64>>> {
        let key = [seed, epoch];
        if let Some((_, ends)) = self
            .plan_cache()
            .ends
            .as_ref()
            .filter(|(found, _)| *found == key)
        {
            return Ok(Arc::clone(ends));
        }
        let mut end = 0;
        let mut ends = Vec::with_capacity(self.windows());
        for number in 0..self.windows() {
            end += self.window(seed, epoch, number)?.len() as u64;
            ends.push(end);
        }
        let ends = Arc::new(ends);
        self.plan_cache().ends = Some((key, Arc::clone(&ends)));
        Ok(ends)
    }

    /// Returns the number of batches of an epoch.
    ///
    /// # Errors
    /// Returns the errors of [`TokenizedCorpus::lengths`](crate::TokenizedCorpus::lengths).
    pub fn batches_in(&self, seed: u64, epoch: u64) -> Result<u64> {
        Ok(self.ends(seed, epoch)?.last().copied().unwrap_or(0))
    }

    /// Returns the blocks of pairs of a window.
    fn blocks_of(&self, seed: u64, epoch: u64, number: usize) -> Vec<Range<usize>> {
        let windows = self.windows();
        let mut blocks: Vec<u32> = (0..self.corpus.blocks().count() as u32).collect();
        if windows > 1 {
            blocks.shuffle(&mut generator("blocks", seed, epoch));
        }
        let start = blocks.len() * number / windows;
        let end = blocks.len() * (number + 1) / windows;
        blocks[start..end]
            .iter()
            .map(|&block| self.corpus.block(block as usize))
            .collect()
    }

    /// Returns the pairs of an epoch of a mixture, drawn by the weights of its `parts`.
    fn drawn(&self, parts: &[MixedPart], seed: u64, epoch: u64) -> Vec<Entry> {
        let drawable: Vec<&[Entry]> = parts.iter().map(|part| self.drawable(part)).collect();
        let shares = parts.iter().zip(&drawable);
        let shares: Vec<f64> = shares
            .map(|(part, pairs)| part.share(pairs.len()))
            .collect();
        let all: f64 = shares.iter().sum();
        let mut entries = Vec::new();
        for (number, (pairs, share)) in drawable.into_iter().zip(shares).enumerate() {
            let share = (self.fitting as f64 * share / all).round().max(1.0);
            let domain = format!("corpus {number}");
            entries.extend(draw(pairs, share as u64, &domain, seed, epoch));
        }
        entries
    }

    /// Returns the pairs of `part` that fit the budget.
    fn drawable(&self, part: &MixedPart) -> &[Entry] {
        &self.mixture[self.index(part.pairs.start)..self.index(part.pairs.end)]
    }

    /// Returns the index in the mixture of the first entry from `pair` on.
    fn index(&self, pair: u32) -> usize {
        self.mixture.partition_point(|entry| entry.pair < pair)
    }
}

/// Returns the larger number on each side.
fn larger([a, b]: [u32; 2], [c, d]: [u32; 2]) -> [u32; 2] {
    [a.max(c), b.max(d)]
}

/// Returns the pairs of an epoch. `pairs` are shuffled again and again into an endless sequence,
/// and each epoch takes its next `count` pairs. `domain` names the sequence.
fn draw(pairs: &[Entry], count: u64, domain: &str, seed: u64, epoch: u64) -> Vec<Entry> {
    let all = pairs.len() as u64;
    if all == 0 {
        return Vec::new();
    }
    let mut drawn = Vec::with_capacity(count as usize);
    let mut next = epoch * count;
    while (drawn.len() as u64) < count {
        let mut order = pairs.to_vec();
        order.shuffle(&mut generator(domain, seed, next / all));
        let left = count as usize - drawn.len();
        drawn.extend(order.into_iter().skip((next % all) as usize).take(left));
        next = epoch * count + drawn.len() as u64;
    }
    drawn
}
