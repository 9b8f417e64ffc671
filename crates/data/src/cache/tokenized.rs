//! A tokenised corpus, which is read from its cache file sentence by sentence or held in memory.

use std::ops::Range;
use std::path::Path;

use super::bits::Bits;
use super::token_file::TokenFile;
use crate::cleaning_report::CleaningReport;
use crate::context::{ContextSettings, joined};
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
            documents: Bits::default(),
            context: None,
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

    /// The same corpus with the context of each pair in front of it: the previous pairs of its document,
    /// as far as they [fit](ContextSettings::fitting), each with the separator of its side behind it. The
    /// context stands before the tokens that name languages. Nothing is stored: it is composed when a pair
    /// is read.
    ///
    /// # Panics
    /// Panics if this is a mixture, which takes the context of its corpora.
    pub fn with_context(self, settings: ContextSettings, separators: [u32; 2]) -> Self {
        assert!(self.parts.is_empty(), "a mixture has no documents");
        let described = serde_json::to_vec(&settings).expect("settings are plain data");
        let of_separators = little_endian(&separators);
        let parts: [&[u8]; 4] = [b"context", self.hash.as_bytes(), &described, &of_separators];
        Self {
            hash: hex(&key_of(&parts)),
            context: Some(Context {
                settings,
                separators,
            }),
            ..self
        }
    }

    /// Returns whether pair `i` continues the document of the pair before it. Always false in a corpus
    /// that is not divided into documents, and behind a pair that cleaning dropped.
    ///
    /// # Panics
    /// Panics if this is a mixture.
    pub fn continues(&self, i: usize) -> bool {
        assert!(self.parts.is_empty(), "a mixture has no documents");
        self.documents.get(i)
    }

    /// The first pair that can be in the context of pair `i`.
    fn first_of_context(&self, i: usize) -> usize {
        let most = self.context.as_ref().map_or(0, |it| it.settings.source);
        let previous = (0..i).rev().zip((0..=i).rev().take(most));
        let in_document = previous.take_while(|&(_, after)| self.documents.get(after));
        in_document.map(|(before, _)| before).last().unwrap_or(i)
    }

    /// The numbers of previous sources and targets in front of pair `i`. `plain` gives the lengths of
    /// pairs without context and languages.
    fn context_of(&self, i: usize, plain: impl Fn(usize) -> [usize; 2]) -> [usize; 2] {
        let Some(Context { settings, .. }) = &self.context else {
            return [0; 2];
        };
        let previous = (self.first_of_context(i)..i).rev().map(&plain);
        settings.fitting(previous, plain(i))
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
        let counts = self.context_of(i, |pair| [0, 1].map(|side| sentence(pair, side).len()));
        let [source, target] = [0, 1].map(|side| {
            let context = self.context.as_ref().map_or(Vec::new(), |context| {
                let previous = (i - counts[side]..i).map(|pair| sentence(pair, side));
                joined(previous, context.separators[side])
            });
            [&context[..], &self.starts[side], sentence(i, side)].concat()
        });
        Ok((source, target))
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
            return self.lengths_with_context(pairs);
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

    /// The numbers of tokens of `pairs` of a single corpus, with their contexts and languages.
    fn lengths_with_context(&self, pairs: Range<usize>) -> Result<Vec<[u32; 2]>> {
        let first = self.first_of_context(pairs.start);
        let offsets = self.offsets(first..pairs.end)?;
        let lengths: Vec<usize> = offsets
            .windows(2)
            .map(|ends| (ends[1] - ends[0]) as usize)
            .collect();
        let plain: &[[usize; 2]] = lengths.as_chunks().0;
        let whole = |pair: usize| {
            let counts = self.context_of(pair, |pair| plain[pair - first]);
            [0, 1].map(|side| {
                let context = (pair - counts[side]..pair).map(|pair| plain[pair - first][side] + 1);
                let own = self.starts[side].len() + plain[pair - first][side];
                (context.sum::<usize>() + own) as u32
            })
        };
        Ok(pairs.map(whole).collect())
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

    /// The context of each pair, by a loop over the pairs that is independent of the corpus.
    fn expected(
        documents: &[Vec<(Vec<u32>, Vec<u32>)>],
        settings: ContextSettings,
    ) -> Vec<(Vec<u32>, Vec<u32>)> {
        let mut all = Vec::new();
        for document in documents {
            for at in 0..document.len() {
                let (source, target) = document[at].clone();
                let mut pair = (source, target);
                for back in 1..=settings.source.min(at) {
                    let (before_source, before_target) = &document[at - back];
                    let mut longer = pair.clone();
                    longer.0 = [before_source.clone(), vec![900], longer.0].concat();
                    if back <= settings.target {
                        longer.1 = [before_target.clone(), vec![901], longer.1].concat();
                    }
                    let fits = longer.0.len() <= settings.longest_source
                        && (back > settings.target || longer.1.len() <= settings.longest_target);
                    if !fits {
                        break;
                    }
                    pair = longer;
                }
                pair.0 = with_language(&pair.0, document[at].0.len(), &[800, 801]);
                pair.1 = with_language(&pair.1, document[at].1.len(), &[802]);
                all.push(pair);
            }
        }
        all
    }

    /// `ids` with the tokens of a language before the last `sentence` tokens.
    fn with_language(ids: &[u32], sentence: usize, language: &[u32]) -> Vec<u32> {
        let (context, sentence) = ids.split_at(ids.len() - sentence);
        [context, language, sentence].concat()
    }

    #[test]
    fn the_context_is_that_of_an_independent_loop() {
        for source in 0..4 {
            for target in 0..=source {
                for longest in [1, 5, 9, 14, 100] {
                    let documents: Vec<Vec<(Vec<u32>, Vec<u32>)>> = (0..300)
                        .map(|document| {
                            let pairs = 0..document * 7 % 5;
                            pairs
                                .map(|pair| {
                                    let id = document * 10 + pair;
                                    let tokens = |count: u32| vec![id; count as usize];
                                    (tokens(id * 5 % 7), tokens(id * 3 % 5))
                                })
                                .collect()
                        })
                        .collect();
                    let settings = ContextSettings {
                        source,
                        target,
                        longest_source: longest,
                        longest_target: longest + 1,
                    };
                    let corpus = TokenizedCorpus::from_documents(&documents)
                        .with_starts([vec![800, 801], vec![802]])
                        .with_context(settings, [900, 901]);
                    let expected = expected(&documents, settings);
                    let pairs: Vec<_> = (0..corpus.len())
                        .map(|pair| corpus.pair(pair).unwrap())
                        .collect();
                    assert_eq!(pairs, expected, "{settings:?}");
                    let lengths: Vec<_> = corpus
                        .blocks()
                        .flat_map(|block| corpus.lengths(block).unwrap())
                        .collect();
                    let of_pairs: Vec<_> = pairs
                        .iter()
                        .map(|(source, target)| [source.len() as u32, target.len() as u32])
                        .collect();
                    assert_eq!(lengths, of_pairs, "{settings:?}");
                }
            }
        }
    }

    #[test]
    fn a_context_of_nothing_changes_no_pair() {
        let documents = [vec![(vec![4, 5], vec![6]), (vec![7], vec![8])]];
        let plain = TokenizedCorpus::from_documents(&documents);
        let settings = ContextSettings {
            source: 0,
            target: 0,
            longest_source: 9,
            longest_target: 9,
        };
        let with = TokenizedCorpus::from_documents(&documents).with_context(settings, [9, 9]);
        assert_eq!(plain.pair(1).unwrap(), with.pair(1).unwrap());
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
