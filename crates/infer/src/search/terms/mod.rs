//! Required terms of a translation.
//!
//! A translation that has its terms without any constraint is kept, as most do. Otherwise each
//! missing term replaces a word ([`after_term()`]), and the search continues after it. The search
//! itself is independent of terms.

mod after_term;

use std::ops::Range;
use std::sync::Arc;

pub(super) use after_term::{AfterTerm, after_term};

/// The required terms of a translation.
///
/// The default has no terms. Each term needs at least one phrase that can follow any token: it may
/// begin [anywhere](Edge::Anywhere), and its first token does not continue a word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// For each term, its accepted phrases. Of several terms with the same phrases, each needs an
    /// occurrence of its own.
    pub phrases: Vec<Vec<Phrase>>,
    /// For each term, the range of its source tokens; empty if unknown. The list may be empty, too.
    pub spans: Vec<Range<usize>>,
    /// The word boundaries of tokens. If it is `None`, each token is a whole word.
    pub edges: Option<Arc<WordEdges>>,
    /// The number of terms beyond [`MAX_TERMS`](crate::MAX_TERMS), which were left out.
    pub left_out: usize,
}

/// A sequence of tokens, and the positions where it is one or more whole words.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Phrase {
    /// The ids.
    pub tokens: Vec<u32>,
    /// The positions where it may begin.
    pub begin: Edge,
    /// The positions where it may end.
    pub end: Edge,
}

/// The positions where a phrase may begin or end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Edge {
    /// At any token.
    #[default]
    Anywhere,
    /// Only at a word boundary or at the end of the translation.
    Word,
}

/// The word boundaries of a vocabulary's tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WordEdges {
    /// For each id, whether the token continues the word before it.
    pub continues: Vec<bool>,
    /// For each id, whether the token ends within a word that the next token can continue.
    pub is_open: Vec<bool>,
    /// The ids of the tokens that end a sentence, such as a full stop. A term at an unknown
    /// position goes before them.
    pub closing: Vec<u32>,
}

impl WordEdges {
    /// Returns whether the token `id` continues the word before it; true if it is not listed.
    pub(super) fn continues(&self, id: u32) -> bool {
        self.continues.get(id as usize).copied().unwrap_or(true)
    }

    /// Returns whether the token `id` ends within a word; true if it is not listed.
    fn is_open(&self, id: u32) -> bool {
        self.is_open.get(id as usize).copied().unwrap_or(true)
    }
}

impl Terms {
    /// Returns whether there are no terms.
    pub fn is_empty(&self) -> bool {
        self.phrases.is_empty()
    }

    /// Returns the terms for a source with `count` more tokens at its beginning.
    pub(crate) fn moved_by(self, count: usize) -> Self {
        let moved = |span: Range<usize>| span.start + count..span.end + count;
        Self {
            spans: self.spans.into_iter().map(moved).collect(),
            ..self
        }
    }

    fn continues(&self, id: u32) -> bool {
        self.edges.as_ref().is_some_and(|edges| edges.continues(id))
    }

    /// Returns whether a phrase with the edge `begin` can follow `tokens`.
    fn can_begin(&self, begin: Edge, tokens: &[u32]) -> bool {
        begin == Edge::Anywhere
            || !tokens
                .last()
                .is_some_and(|&id| self.edges.as_ref().is_some_and(|edges| edges.is_open(id)))
    }

    /// The length of the shortest phrase that can follow any token.
    pub(super) fn cost(&self, phrases: &[Phrase]) -> Option<usize> {
        phrases
            .iter()
            .filter(|phrase| {
                let first = phrase.tokens.first();
                phrase.begin == Edge::Anywhere && first.is_some_and(|&id| !self.continues(id))
            })
            .map(|phrase| phrase.tokens.len())
            .min()
    }

    /// The number of tokens that suffice to write all terms.
    pub(super) fn tokens(&self) -> usize {
        self.phrases
            .iter()
            .filter_map(|phrases| self.cost(phrases))
            .sum()
    }

    /// The indices of the terms missing from the translation `tokens`, without `</s>`.
    pub(super) fn missing(&self, tokens: &[u32]) -> Vec<usize> {
        self.missing_before(tokens.len(), tokens)
    }

    /// The indices of the terms missing from the first `end` of `tokens`. The token after them may
    /// continue the last word.
    pub(super) fn missing_before(&self, end: usize, tokens: &[u32]) -> Vec<usize> {
        (0..self.phrases.len())
            .filter(|&term| !self.has_before(end, term, tokens))
            .collect()
    }

    /// Returns whether the first `end` of `tokens` have the term `term`, besides the terms before
    /// it with the same phrases: a term that is wanted twice must occur twice.
    fn has_before(&self, end: usize, term: usize, tokens: &[u32]) -> bool {
        let phrases = &self.phrases[term];
        let equal = self.phrases[..term].iter();
        let needed = 1 + equal.filter(|&other| other == phrases).count();
        let mut found = 0;
        let mut start = 0;
        while found < needed && start < end {
            let fits = phrases.iter().filter(|phrase| {
                start + phrase.tokens.len() <= end && self.is_at(start, phrase, tokens)
            });
            let longest = fits.map(|phrase| phrase.tokens.len()).max();
            found += usize::from(longest.is_some());
            start += longest.unwrap_or(1);
        }
        found == needed
    }

    /// Returns whether `tokens` have `phrase` at `start`, with its edges.
    fn is_at(&self, start: usize, phrase: &Phrase, tokens: &[u32]) -> bool {
        let (before, rest) = tokens.split_at(start);
        rest.strip_prefix(&phrase.tokens[..]).is_some_and(|after| {
            let does_continue = after.first().is_some_and(|&id| self.continues(id));
            self.can_begin(phrase.begin, before) && (phrase.end == Edge::Anywhere || !does_continue)
        })
    }
}
