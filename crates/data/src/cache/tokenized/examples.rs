//! The examples of a corpus: each pair with the sentences before it and the tokens of its
//! languages.

use std::ops::Range;

use super::{Context, TokenizedCorpus, little_endian};
use crate::context::{ContextSettings, joined};
use crate::error::Result;
use crate::hash::{hex, key_of};

impl TokenizedCorpus {
    /// Returns the same corpus with the tokens `starts` at the beginning of every source and of
    /// every target, which name their languages.
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

    /// Returns the same corpus with the context of each pair in front of it: the previous pairs of
    /// its document, as far as they [fit](ContextSettings::fitting), each with the separator of its
    /// side behind it. The context stands before the tokens that name languages. Nothing is stored:
    /// it is composed when a pair is read.
    ///
    /// # Panics
    /// Panics if this is a mixture, which takes the context of its corpora.
    pub fn with_context(self, settings: ContextSettings, separators: [u32; 2]) -> Self {
        assert!(self.parts.is_empty(), "a mixture has no documents");
        let described = serde_json::to_vec(&settings).expect("settings are plain data");
        let separator_bytes = little_endian(&separators);
        let parts: [&[u8]; 4] = [
            b"context",
            self.hash.as_bytes(),
            &described,
            &separator_bytes,
        ];
        Self {
            hash: hex(&key_of(&parts)),
            context: Some(Context {
                settings,
                separators,
            }),
            ..self
        }
    }

    /// Returns whether pair `i` continues the document of the pair before it. Always false in a
    /// corpus that is not divided into documents, and behind a pair that cleaning dropped.
    ///
    /// # Panics
    /// Panics if this is a mixture.
    pub fn continues(&self, i: usize) -> bool {
        assert!(self.parts.is_empty(), "a mixture has no documents");
        self.documents.get(i)
    }

    /// Returns the first pair that can be in the context of pair `i`.
    pub(super) fn first_of_context(&self, i: usize) -> usize {
        let most = self.context.as_ref().map_or(0, |it| it.settings.source);
        let previous = (0..i).rev().zip((0..=i).rev().take(most));
        let in_document = previous.take_while(|&(_, after)| self.documents.get(after));
        in_document.map(|(before, _)| before).last().unwrap_or(i)
    }

    /// Returns the numbers of previous sources and targets in front of pair `i`. `plain` gives the
    /// lengths of pairs without context and languages.
    fn context_of(&self, i: usize, plain: impl Fn(usize) -> [usize; 2]) -> [usize; 2] {
        let Some(Context { settings, .. }) = &self.context else {
            return [0; 2];
        };
        let previous = (self.first_of_context(i)..i).rev().map(&plain);
        settings.fitting(previous, plain(i))
    }

    /// Returns the source and target ids of pair `i` with its context and languages. `sentence`
    /// gives the ids of the pair and those in its context, by the pair and the side.
    pub(super) fn example<'a>(
        &self,
        i: usize,
        sentence: impl Fn(usize, usize) -> &'a [u32],
    ) -> [Vec<u32>; 2] {
        let counts = self.context_of(i, |pair| [0, 1].map(|side| sentence(pair, side).len()));
        [0, 1].map(|side| {
            let context = self.context.as_ref().map_or(Vec::new(), |context| {
                let previous = (i - counts[side]..i).map(|pair| sentence(pair, side));
                joined(previous, context.separators[side])
            });
            [&context[..], &self.starts[side], sentence(i, side)].concat()
        })
    }

    /// Returns the numbers of tokens of `pairs` of a single corpus, with their contexts and
    /// languages.
    pub(super) fn lengths_of_examples(&self, pairs: Range<usize>) -> Result<Vec<[u32; 2]>> {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the context of each pair, by a loop over the pairs that is independent of the
    /// corpus.
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

    /// Returns `ids` with the tokens of a language before the last `sentence` tokens.
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
                    let pair_lengths: Vec<_> = pairs
                        .iter()
                        .map(|(source, target)| [source.len() as u32, target.len() as u32])
                        .collect();
                    assert_eq!(lengths, pair_lengths, "{settings:?}");
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
}
