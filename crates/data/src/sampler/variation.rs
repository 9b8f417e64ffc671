//! The difference between the pairs of an epoch and the pairs of the corpus: the dropout of merges.

use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;

use crate::cache::TokenizedCorpus;
use crate::error::Result;
use crate::tokenizer::BpeDropout;

/// The numbers of source and target tokens of a pair, without `</s>`.
pub(super) type Lengths = [usize; 2];
/// The ids of source and target, without special tokens.
pub(super) type Pair = (Vec<u32>, Vec<u32>);

/// The variation of pairs, a pure function of the seed, the epoch and the number of the pair.
#[derive(Default)]
pub(super) struct Variation {
    bpe_dropout: Option<BpeDropout>,
    /// The lengths that were computed last, by the seed and the epoch that decide them.
    last: Mutex<Option<EpochLengths>>,
}

/// The lengths of the pairs of one epoch by their numbers; 0 for those that the epoch does not have.
#[derive(Clone)]
struct EpochLengths {
    seed: u64,
    epoch: u64,
    lengths: Arc<Vec<[u32; 2]>>,
}

impl Variation {
    /// The variation by the dropout of merges.
    pub(super) fn of(dropout: BpeDropout) -> Self {
        Self { bpe_dropout: Some(dropout), last: Mutex::default() }
    }

    /// The form of `pair`, the pair of the corpus with this number, in an epoch.
    pub(super) fn pair(&self, pair: Pair, seed: u64, epoch: u64, number: u32) -> Pair {
        match &self.bpe_dropout {
            None => pair,
            Some(dropout) => dropout.pair(pair, seed, epoch, number),
        }
    }

    /// The most tokens that pair `i` can have in any epoch.
    pub(super) fn longest(&self, corpus: &TokenizedCorpus, i: u32) -> Result<Lengths> {
        Ok(match &self.bpe_dropout {
            None => ordinary(corpus, i),
            Some(dropout) => dropout.longest(&corpus.pair(i as usize)?),
        })
    }

    /// The lengths of the pairs in `order` in an epoch, by their numbers; `None` if they are the same as in the corpus.
    ///
    /// A pair that cannot be read has the lengths of its ordinary segmentation; the batch that has it will report the
    /// error.
    pub(super) fn lengths(
        &self,
        corpus: &TokenizedCorpus,
        order: &[u32],
        seed: u64,
        epoch: u64,
    ) -> Option<Arc<Vec<[u32; 2]>>> {
        let dropout = self.bpe_dropout.as_ref()?;
        // The lock is not held during the work, in which other threads take part.
        let last = || self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let known = last().clone().filter(|last| (last.seed, last.epoch) == (seed, epoch));
        if let Some(known) = known {
            return Some(known.lengths);
        }
        let length = |&i: &u32| match corpus.pair(i as usize) {
            Ok(pair) => {
                let (source, target) = dropout.pair(pair, seed, epoch, i);
                (i, [source.len(), target.len()])
            }
            Err(_) => (i, ordinary(corpus, i)),
        };
        let drawn: Vec<(u32, Lengths)> = order.par_iter().map(length).collect();
        let mut lengths = vec![[0; 2]; corpus.len()];
        for (i, pair) in drawn {
            lengths[i as usize] = pair.map(|length| length as u32);
        }
        let lengths = Arc::new(lengths);
        *last() = Some(EpochLengths { seed, epoch, lengths: lengths.clone() });
        Some(lengths)
    }
}

/// The lengths of pair `i` in its ordinary segmentation.
pub(super) fn ordinary(corpus: &TokenizedCorpus, i: u32) -> Lengths {
    [corpus.source_len(i as usize), corpus.target_len(i as usize)]
}
