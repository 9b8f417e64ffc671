//! A tokenised corpus, which is read from its cache file sentence by sentence or held in memory.

use std::ops::Range;
use std::path::Path;

use super::token_file::TokenFile;
use crate::cleaning_report::CleaningReport;
use crate::error::Result;
use crate::hash::{Key, hex, key_of};

/// Number of neighbouring pairs in a block. Their lengths are read together.
pub const BLOCK: usize = 256;

/// A corpus as pairs of token ids, without `<s>`, `</s>` and padding.
///
/// A corpus from a cache file is not held in memory: lengths are read from the file when batches
/// are planned, and tokens when a batch is made. The file must not be changed while it is open;
/// this crate never changes a finished cache file. If another program overwrites or truncates it,
/// reading returns an error.
#[derive(Debug)]
pub struct TokenizedCorpus {
    tokens: Tokens,
    pairs: usize,
    hash: String,
    report: CleaningReport,
    parts: Vec<MixedPart>,
    /// The tokens at the beginning of every source and of every target.
    starts: [Vec<u32>; 2],
}

#[derive(Debug)]
enum Tokens {
    File(TokenFile),
    /// All ids; the start of each sentence, and the end of the last one.
    Memory(Vec<u32>, Vec<u64>),
    Mixed(Vec<TokenizedCorpus>),
}

/// One of the corpora of a mixture.
#[derive(Clone, Debug, PartialEq)]
pub struct MixedPart {
    /// The range of its pairs in the mixture.
    pub pairs: Range<u32>,
    /// The factor on the number of pairs that are drawn from it.
    pub weight: f64,
    /// The power of its size that this number is proportional to: 0 draws by the weights alone, 1
    /// also by the sizes.
    pub exponent: f64,
}

impl MixedPart {
    /// The number of pairs that are drawn, relative to the other parts, from `pairs` that can be
    /// drawn.
    pub fn share(&self, pairs: usize) -> f64 {
        self.weight * (pairs as f64).powf(self.exponent)
    }
}

impl TokenizedCorpus {
    /// Opens and verifies the cache file at `path`.
    ///
    /// # Errors
    /// Returns the errors of [`TokenFile::open`].
    pub(crate) fn open(path: &Path, key: &Key) -> Result<Self> {
        let file = TokenFile::open(path, key)?;
        let header = file.header();
        Ok(Self {
            pairs: header.pairs as usize,
            hash: header.body_hash.clone(),
            report: header.report.clone(),
            tokens: Tokens::File(file),
            parts: vec![],
            starts: Default::default(),
        })
    }

    /// Makes a corpus in memory, for tests and small corpora, from ids without special tokens.
    pub fn from_pairs<S: AsRef<[u32]>, T: AsRef<[u32]>>(pairs: &[(S, T)]) -> Self {
        let mut ids = Vec::new();
        let mut offsets = vec![0];
        let mut lengths = Vec::new();
        for (source, target) in pairs {
            for side in [source.as_ref(), target.as_ref()] {
                ids.extend_from_slice(side);
                offsets.push(ids.len() as u64);
                lengths.push(side.len() as u32);
            }
        }
        let count = pairs.len() as u64;
        let report = CleaningReport {
            read: count,
            kept: count,
            ..Default::default()
        };
        let hash = hex(&key_of(&[&little_endian(&ids), &little_endian(&lengths)]));
        let tokens = Tokens::Memory(ids, offsets);
        Self {
            tokens,
            pairs: pairs.len(),
            hash,
            report,
            parts: vec![],
            starts: Default::default(),
        }
    }

    /// Concatenates corpora to a mixture. The weight of each corpus sets how many pairs
    /// [`BatchSampler`](crate::BatchSampler) draws from it.
    ///
    /// # Panics
    /// Panics if `corpora` is empty, or if a weight is not above 0.
    pub fn mixed(corpora: Vec<(Self, f64)>) -> Self {
        Self::joined(corpora, 0.0)
    }

    /// Concatenates corpora to a mixture like [`mixed`](Self::mixed), from which pairs are drawn in
    /// proportion to `weight` × `size^(1/temperature)` (Arivazhagan et al. 2019,
    /// <https://arxiv.org/abs/1907.05019>). With weights of 1 and a temperature of 1, an epoch has
    /// every pair once.
    ///
    /// # Panics
    /// Panics if `corpora` is empty, or if a weight or the temperature is not above 0.
    pub fn by_size(corpora: Vec<(Self, f64)>, temperature: f64) -> Self {
        assert!(temperature > 0.0, "the temperature {temperature}");
        Self::joined(corpora, 1.0 / temperature)
    }

    fn joined(corpora: Vec<(Self, f64)>, exponent: f64) -> Self {
        assert!(
            corpora.iter().all(|(_, weight)| *weight > 0.0),
            "a weight is not above 0"
        );
        let mut pairs = 0;
        let mut parts = Vec::new();
        let mut hashes = Vec::new();
        let mut report = CleaningReport::default();
        for (corpus, weight) in &corpora {
            let from = pairs as u32;
            pairs += corpus.pairs;
            parts.push(MixedPart {
                pairs: from..pairs as u32,
                weight: *weight,
                exponent,
            });
            report = report + corpus.report.clone();
            hashes.extend(corpus.hash.bytes().chain(weight.to_bits().to_le_bytes()));
        }
        assert!(!parts.is_empty(), "a mixture of nothing");
        if exponent != 0.0 {
            hashes.extend(exponent.to_bits().to_le_bytes());
        }
        let tokens = Tokens::Mixed(corpora.into_iter().map(|(corpus, _)| corpus).collect());
        Self {
            tokens,
            pairs,
            hash: hex(&key_of(&[b"mixture", &hashes])),
            report,
            parts,
            starts: Default::default(),
        }
    }

    /// The same corpus with the tokens `starts` at the beginning of every source and of every
    /// target, which name their languages.
    ///
    /// # Panics
    /// Panics if this is a mixture: its corpora may have different languages.
    pub fn with_starts(self, starts: [Vec<u32>; 2]) -> Self {
        assert!(self.parts.is_empty(), "a mixture has no language");
        if starts.iter().all(Vec::is_empty) {
            return self;
        }
        let [source, target] = starts.each_ref().map(|ids| little_endian(ids));
        let parts: [&[u8]; 4] = [b"starts", self.hash.as_bytes(), &source, &target];
        let hash = hex(&key_of(&parts));
        Self {
            starts,
            hash,
            ..self
        }
    }

    /// The corpora of a mixture; empty for a single corpus.
    pub fn parts(&self) -> &[MixedPart] {
        &self.parts
    }

    /// Number of pairs.
    pub fn len(&self) -> usize {
        self.pairs
    }

    /// Returns whether the corpus has no pair.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The source and target ids of pair `i`, without `<s>` and `</s>`.
    ///
    /// # Errors
    /// Returns [`DataError::DamagedCache`](crate::DataError::DamagedCache) if the cache file was truncated or overwritten after it
    /// was opened, [`TextError::Unreadable`](crate::TextError::Unreadable) if the disk fails.
    ///
    /// # Panics
    /// Panics if `i` is not below [`TokenizedCorpus::len`].
    pub fn pair(&self, i: usize) -> Result<(Vec<u32>, Vec<u32>)> {
        if let Tokens::Mixed(corpora) = &self.tokens {
            let part = self
                .parts
                .partition_point(|part| part.pairs.end as usize <= i);
            return corpora[part].pair(i - self.parts[part].pairs.start as usize);
        }
        let offsets = self.offsets(i..i + 1)?;
        let start = offsets[0];
        let end = offsets[2];
        let mut ids = match &self.tokens {
            Tokens::File(file) => file.read(start, (end - start) as usize)?,
            Tokens::Memory(ids, _) => ids[start as usize..end as usize].to_vec(),
            Tokens::Mixed(_) => unreachable!("a mixture reads its pairs from its corpora"),
        };
        let mut target = ids.split_off((offsets[1] - start) as usize);
        let [of_source, of_target] = &self.starts;
        ids.splice(0..0, of_source.iter().copied());
        target.splice(0..0, of_target.iter().copied());
        Ok((ids, target))
    }

    /// The numbers of source and target tokens of `pairs`, without `</s>`.
    ///
    /// # Errors
    /// Returns the errors of [`pair`](Self::pair).
    ///
    /// # Panics
    /// Panics if `pairs` reach beyond [`TokenizedCorpus::len`].
    pub fn lengths(&self, pairs: Range<usize>) -> Result<Vec<[u32; 2]>> {
        let Tokens::Mixed(corpora) = &self.tokens else {
            let offsets = self.offsets(pairs)?;
            let starts = self.starts.each_ref().map(|start| start.len() as u32);
            let lengths: Vec<u32> = offsets
                .windows(2)
                .zip(starts.into_iter().cycle())
                .map(|(ends, start)| start + (ends[1] - ends[0]) as u32)
                .collect();
            return Ok(lengths.as_chunks().0.to_vec());
        };
        let mut all = Vec::with_capacity(pairs.len());
        for (corpus, part) in corpora.iter().zip(&self.parts) {
            let first = part.pairs.start as usize;
            let end = part.pairs.end as usize;
            let from = pairs.start.clamp(first, end) - first;
            let to = pairs.end.clamp(first, end) - first;
            all.extend(corpus.lengths(from..to)?);
        }
        Ok(all)
    }

    /// The pairs of the corpus in blocks of [`BLOCK`].
    pub fn blocks(&self) -> impl Iterator<Item = Range<usize>> {
        (0..self.pairs.div_ceil(BLOCK)).map(|number| self.block(number))
    }

    /// The pairs of block `number`.
    pub(crate) fn block(&self, number: usize) -> Range<usize> {
        number * BLOCK..((number + 1) * BLOCK).min(self.pairs)
    }

    /// The start of each sentence of `pairs` and the end of the last one, in tokens.
    fn offsets(&self, pairs: Range<usize>) -> Result<Vec<u64>> {
        assert!(pairs.end <= self.pairs, "pairs {pairs:?} of {}", self.pairs);
        match &self.tokens {
            Tokens::File(file) => file.offsets(pairs),
            Tokens::Memory(_, offsets) => Ok(offsets[2 * pairs.start..=2 * pairs.end].to_vec()),
            Tokens::Mixed(_) => unreachable!("a mixture reads its pairs from its corpora"),
        }
    }

    /// SHA-256, in hexadecimal digits, of the tokens, their order and the cleaning report. It is
    /// equal for equal text with equal settings and tokenisers.
    pub fn hash(&self) -> String {
        self.hash.clone()
    }

    /// The number of pairs that cleaning dropped, by reason.
    pub fn report(&self) -> &CleaningReport {
        &self.report
    }
}

/// The bytes of `numbers` in the order of the cache file.
fn little_endian(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|n| n.to_le_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_corpus_in_memory_gives_back_its_pairs() {
        let corpus = TokenizedCorpus::from_pairs(&[(vec![4, 5], vec![6]), (vec![], vec![7, 8])]);
        assert_eq!(corpus.pair(1).unwrap(), (vec![], vec![7, 8]));
        assert_eq!(corpus.lengths(0..2).unwrap(), [[2, 1], [0, 2]]);
        assert_eq!(corpus.len(), 2);
    }

    #[test]
    fn the_hash_tells_corpora_apart() {
        let one = TokenizedCorpus::from_pairs(&[(vec![4, 5], vec![6])]);
        let same = TokenizedCorpus::from_pairs(&[(vec![4, 5], vec![6])]);
        let other = TokenizedCorpus::from_pairs(&[(vec![4], vec![5, 6])]);
        assert_eq!(one.hash(), same.hash());
        assert_ne!(one.hash(), other.hash());
    }
}
