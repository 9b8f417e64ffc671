//! The windows of an epoch: which pairs are planned together, and what is drawn for them.

use std::ops::Range;
use std::sync::{Arc, MutexGuard, PoisonError};

use rand::seq::SliceRandom;

use super::plan::{Entry, EpochPlan, cut};
use super::{BatchSampler, Known};
use crate::cache::MixedPart;
use crate::error::Result;
use crate::hash::generator;

impl BatchSampler {
    /// The number of windows of an epoch.
    pub fn windows(&self) -> usize {
        match self.corpus.parts() {
            [] => self.corpus.len().div_ceil(self.settings.window),
            _ => 1,
        }
    }

    /// The plan of a window of an epoch: a pure function of the corpus, the settings, `seed`,
    /// `epoch` and `number`.
    ///
    /// # Errors
    /// The errors of [`TokenizedCorpus::lengths`](crate::TokenizedCorpus::lengths).
    pub fn window(&self, seed: u64, epoch: u64, number: usize) -> Result<Arc<EpochPlan>> {
        // The lock is not held during the work, in which other threads take part.
        let key = [seed, epoch, number as u64];
        if let Some((_, plan)) = self.known().window.as_ref().filter(|(found, _)| *found == key) {
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
        let mut plan = cut(&entries, &self.settings);
        plan.batches.shuffle(&mut random("batches"));
        let plan = Arc::new(plan);
        self.known().window = Some((key, Arc::clone(&plan)));
        Ok(plan)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of batches of an epoch up to the end of each window.
    pub(super) fn ends(&self, seed: u64, epoch: u64) -> Result<Arc<Vec<u64>>> {
        let key = [seed, epoch];
        if let Some((_, ends)) = self.known().ends.as_ref().filter(|(found, _)| *found == key) {
            return Ok(Arc::clone(ends));
        }
        let mut end = 0;
        let mut ends = Vec::with_capacity(self.windows());
        for number in 0..self.windows() {
            end += self.window(seed, epoch, number)?.len() as u64;
            ends.push(end);
        }
        let ends = Arc::new(ends);
        self.known().ends = Some((key, Arc::clone(&ends)));
        Ok(ends)
    }

    /// The number of batches of an epoch.
    ///
    /// # Errors
    /// The errors of [`TokenizedCorpus::lengths`](crate::TokenizedCorpus::lengths).
    pub fn batches_in(&self, seed: u64, epoch: u64) -> Result<u64> {
        Ok(self.ends(seed, epoch)?.last().copied().unwrap_or(0))
    }

    /// The blocks of pairs of a window.
    fn blocks_of(&self, seed: u64, epoch: u64, number: usize) -> Vec<Range<usize>> {
        let windows = self.windows();
        let mut blocks: Vec<u32> = (0..self.corpus.blocks().count() as u32).collect();
        if windows > 1 {
            blocks.shuffle(&mut generator("blocks", seed, epoch));
        }
        let end = |window: usize| blocks.len() * window / windows;
        let of_window = &blocks[end(number)..end(number + 1)];
        of_window.iter().map(|&block| self.corpus.block(block as usize)).collect()
    }

    /// The pairs of an epoch of a mixture, which the weights of its `parts` draw.
    fn drawn(&self, parts: &[MixedPart], seed: u64, epoch: u64) -> Vec<Entry> {
        let all: f64 = parts.iter().map(|part| part.weight).sum();
        let share = |weight: f64| (self.fitting as f64 * weight / all).round().max(1.0);
        let draw = |(number, part): (usize, &MixedPart)| {
            let index = |pair| self.mixture.partition_point(|entry| entry.pair < pair);
            let pairs = &self.mixture[index(part.pairs.start)..index(part.pairs.end)];
            draw(pairs, share(part.weight) as u64, &format!("corpus {number}"), seed, epoch)
        };
        parts.iter().enumerate().flat_map(draw).collect()
    }
}

/// The pairs of an epoch. `pairs` are shuffled again and again into an endless row, of which each
/// epoch takes the next `count`. `domain` names the row.
fn draw(pairs: &[Entry], count: u64, domain: &str, seed: u64, epoch: u64) -> Vec<Entry> {
    let all = pairs.len() as u64;
    if all == 0 {
        return Vec::new();
    }
    let (mut drawn, mut next) = (Vec::with_capacity(count as usize), epoch * count);
    while (drawn.len() as u64) < count {
        let mut order = pairs.to_vec();
        order.shuffle(&mut generator(domain, seed, next / all));
        let left = count as usize - drawn.len();
        drawn.extend(order.into_iter().skip((next % all) as usize).take(left));
        next = epoch * count + drawn.len() as u64;
    }
    drawn
}
