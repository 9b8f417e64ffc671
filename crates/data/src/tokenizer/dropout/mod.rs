//! BPE-dropout (Provilkov et al., 2020): other segmentations of text that is already tokenised.
//!
//! Byte-pair encoding joins the symbols of a word by its merges, the most frequent first. BPE-dropout leaves out each
//! possible merge with a probability at each step. A word is then cut in another way each time, on average into more
//! tokens. The `tokenizers` library has it too, but draws from a generator that cannot be seeded.
//!
//! The text of a pair is restored from its tokens, and no text has to be kept beside the tokens: the pieces
//! of the tokenisers that this crate trains spell the normalised text.

mod merges;

use std::sync::Arc;

use rand::RngExt;

use self::merges::Merges;
use super::Tokenizers;
use crate::error::{DataError, Result};
use crate::random::generator;

/// The settings of BPE-dropout.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BpeDropoutSettings {
    /// The probability with which a merge is left out at each step, from 0 (the ordinary segmentation) to 1 (characters,
    /// and bytes of characters that the vocabulary lacks).
    pub probability: f64,
    /// Most tokens, without `</s>`, that a segmentation may have on the source and the target side. A side that would
    /// have more keeps its ordinary segmentation.
    pub longest: [usize; 2],
}

/// Draws other segmentations of tokenised pairs: a pure function of the seed, the epoch and the number of the pair.
#[derive(Clone, Debug)]
pub struct BpeDropout {
    settings: BpeDropoutSettings,
    sides: [Arc<Merges>; 2],
}

impl BpeDropout {
    /// BPE-dropout with the merges of `tokenizers`.
    ///
    /// # Errors
    /// [`DataError::NoBpeDropout`] if a tokeniser is not BPE as this crate trains it; [`DataError::InvalidSetting`] if
    /// the probability is not between 0 and 1.
    pub fn new(tokenizers: &Tokenizers, settings: BpeDropoutSettings) -> Result<Self> {
        if !(0.0..=1.0).contains(&settings.probability) {
            let probability = settings.probability;
            return Err(DataError::setting("bpe_dropout", probability, "choose from 0 to 1"));
        }
        let source = Arc::new(Merges::of(&tokenizers.source, "source")?);
        let target = match tokenizers.is_joint() {
            true => source.clone(),
            false => Arc::new(Merges::of(&tokenizers.target, "target")?),
        };
        Ok(Self { settings, sides: [source, target] })
    }

    /// Limits the lengths to `longest` too.
    #[must_use]
    pub(crate) fn within(mut self, longest: usize) -> Self {
        self.settings.longest = self.settings.longest.map(|most| most.min(longest));
        self
    }

    /// The segmentation of pair `number` in an epoch. `pair` has the ordinary one: the ids of source and target,
    /// without special tokens.
    pub fn pair(
        &self,
        pair: (Vec<u32>, Vec<u32>),
        seed: u64,
        epoch: u64,
        number: u32,
    ) -> (Vec<u32>, Vec<u32>) {
        let mut rng = generator("bpe dropout", seed, epoch);
        rng.set_stream(number.into());
        let mut left_out = || rng.random_bool(self.settings.probability);
        let [source, target] = &self.sides;
        let [longest_source, longest_target] = self.settings.longest;
        let source = source.other(pair.0, longest_source, &mut left_out);
        (source, target.other(pair.1, longest_target, &mut left_out))
    }

    /// The lengths of the longest segmentation that [`pair`](Self::pair) can give for a pair: of source and target.
    pub(crate) fn longest(&self, pair: &(Vec<u32>, Vec<u32>)) -> [u32; 2] {
        let [source, target] = &self.sides;
        let [longest_source, longest_target] = self.settings.longest;
        let within = |symbols: usize, ids: &[u32], longest: usize| {
            if symbols <= longest { symbols } else { longest.max(ids.len()) }
        };
        [
            within(source.symbols(&pair.0), &pair.0, longest_source),
            within(target.symbols(&pair.1), &pair.1, longest_target),
        ]
        .map(|longest| longest as u32)
    }
}

#[cfg(test)]
mod tests;
