//! A tokenised corpus, which is read from its cache file sentence by sentence or held in memory.

mod examples;
mod mixture;

use std::ops::Range;
use std::path::Path;

use super::bits::Bits;
use super::token_file::TokenFile;
use crate::cleaning_report::CleaningReport;
use crate::context::ContextSettings;
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
    /// For each pair, whether it continues the document of the pair before it.
    documents: Bits,
    context: Option<Context>,
}

/// The context of the pairs of a corpus.
#[derive(Debug)]
struct Context {
    settings: ContextSettings,
    /// The token behind each previous source and each previous target.
    separators: [u32; 2],
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
    /// Returns the number of pairs that are drawn, relative to the other parts, from `pairs` that
    /// can be drawn.
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
        let documents = file.documents()?;
        let header = file.header();
        Ok(Self {
            pairs: header.pairs as usize,
            hash: header.body_hash.clone(),
            report: header.report.clone(),
            tokens: Tokens::File(file),
            parts: vec![],
            starts: Default::default(),
            documents,
            context: None,
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
            documents: Bits::default(),
            context: None,
        }
    }

    /// Makes a corpus in memory of documents: their pairs, in order, as in
    /// [`from_pairs`](Self::from_pairs).
    pub fn from_documents<S: AsRef<[u32]> + Clone, T: AsRef<[u32]> + Clone>(
        documents: &[Vec<(S, T)>],
    ) -> Self {
        let continues = |document: &Vec<(S, T)>| (0..document.len()).map(|index| index > 0);
        let corpus = Self::from_pairs(&documents.concat());
        let documents: Bits = documents.iter().flat_map(continues).collect();
        let hash = key_of(&[b"documents", corpus.hash.as_bytes(), documents.as_bytes()]);
        Self {
            documents,
            hash: hex(&hash),
            ..corpus
        }
    }

    /// Returns the corpora of a mixture; empty for a single corpus.
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

    /// Returns the source and target ids of pair `i`, without `<s>` and `</s>`.
    ///
    /// # Errors
    /// Returns [`DataError::DamagedCache`](crate::DataError::DamagedCache) if the cache file was
    /// truncated or overwritten after it was opened,
    /// [`TextError::Unreadable`](crate::TextError::Unreadable) if the disk fails.
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
        let first = self.first_of_context(i);
        let offsets = self.offsets(first..i + 1)?;
        let start = offsets[0];
        let end = offsets[2 * (i - first) + 2];
        let ids = match &self.tokens {
            Tokens::File(file) => file.read(start, (end - start) as usize)?,
            Tokens::Memory(ids, _) => ids[start as usize..end as usize].to_vec(),
            Tokens::Mixed(_) => unreachable!("a mixture reads its pairs from its corpora"),
        };
        let sentence = |pair: usize, side: usize| {
            let at = 2 * (pair - first) + side;
            &ids[(offsets[at] - start) as usize..(offsets[at + 1] - start) as usize]
        };
        let [source, target] = self.example(i, sentence);
        Ok((source, target))
    }

    /// Returns the numbers of source and target tokens of `pairs`, without `</s>`.
    ///
    /// # Errors
    /// Returns the errors of [`pair`](Self::pair).
    ///
    /// # Panics
    /// Panics if `pairs` reach beyond [`TokenizedCorpus::len`].
    pub fn lengths(&self, pairs: Range<usize>) -> Result<Vec<[u32; 2]>> {
        let Tokens::Mixed(corpora) = &self.tokens else {
            return self.lengths_of_examples(pairs);
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

    /// Returns the pairs of the corpus in blocks of [`BLOCK`].
    pub fn blocks(&self) -> impl Iterator<Item = Range<usize>> {
        (0..self.pairs.div_ceil(BLOCK)).map(|number| self.block(number))
    }

    /// Returns the pairs of block `number`.
    pub(crate) fn block(&self, number: usize) -> Range<usize> {
        number * BLOCK..((number + 1) * BLOCK).min(self.pairs)
    }

    /// Returns the start of each sentence of `pairs` and the end of the last one, in tokens.
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

    /// Returns the number of pairs that cleaning dropped, by reason.
    pub fn report(&self) -> &CleaningReport {
        &self.report
    }
}

/// Returns the bytes of `numbers` in the order of the cache file.
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
