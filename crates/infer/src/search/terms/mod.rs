//! Terms that a translation has to contain.
//!
//! If the search without terms finds a translation that has them, that translation is kept: most
//! translations have most terms by themselves. Otherwise each missing term is put in place of the
//! word that it replaces ([`after_term()`]), and the search continues after it. The search itself
//! knows nothing of terms.

mod after_term;

use std::ops::Range;
use std::sync::Arc;

pub(super) use after_term::{AfterTerm, after_term};

/// The terms that a translation has to contain.
///
/// The default has no terms. Each term needs at least one phrase that can follow any token: a
/// phrase that may begin [anywhere](Edge::Anywhere), and whose first token does not continue a
/// word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// For each term, its accepted phrases.
    pub phrases: Vec<Vec<Phrase>>,
    /// For each term, the range of source tokens that it translates; empty if it is not known. The
    /// list may be empty, too.
    pub spans: Vec<Range<usize>>,
    /// The tokens that begin and end within words. If it is `None`, each token is a whole word.
    pub edges: Option<Arc<WordEdges>>,
    /// The number of terms that were left out because there are [`MOST_TERMS`](crate::MOST_TERMS)
    /// longer ones.
    pub left_out: usize,
}

/// A sequence of tokens, and the positions at which it counts as one or more whole words.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Phrase {
    /// The ids.
    pub tokens: Vec<u32>,
    /// The positions at which it may begin.
    pub begin: Edge,
    /// The positions at which it may end.
    pub end: Edge,
}

/// The positions at which a phrase may begin or end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Edge {
    /// At any token.
    #[default]
    Anywhere,
    /// Only beside a token that does not continue a word, or at the end of the translation.
    Word,
}

/// The tokens of a vocabulary that begin and end within words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WordEdges {
    /// For each id, whether the token continues the word before it.
    pub continues: Vec<bool>,
    /// For each id, whether the token ends within a word that the next token can continue.
    pub is_open: Vec<bool>,
    /// The ids of the tokens that end a sentence, such as a full stop. A term whose position is not
    /// known is written before them.
    pub closing: Vec<u32>,
}

impl WordEdges {
    /// Returns whether the token `id` continues the word before it. An id outside of the list is
    /// assumed to.
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

    fn continues(&self, id: u32) -> bool {
        self.edges.as_ref().is_some_and(|edges| edges.continues(id))
    }

    /// Returns whether a phrase that needs the edge `begin` can begin after `tokens`.
    fn can_begin(&self, begin: Edge, tokens: &[u32]) -> bool {
        let open = |&id: &u32| self.edges.as_ref().is_some_and(|edges| edges.is_open(id));
        begin == Edge::Anywhere || !tokens.last().is_some_and(open)
    }

    /// The number of tokens of the shortest of `phrases` that can follow any token.
    pub(super) fn cost(&self, phrases: &[Phrase]) -> Option<usize> {
        let free = |phrase: &&Phrase| {
            let first = phrase.tokens.first();
            phrase.begin == Edge::Anywhere && first.is_some_and(|&id| !self.continues(id))
        };
        phrases
            .iter()
            .filter(free)
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

    /// The indices of the terms that a translation of `tokens`, without `</s>`, does not have.
    pub(super) fn missing(&self, tokens: &[u32]) -> Vec<usize> {
        let is_in = |phrase: &Phrase| {
            let starts = 0..(tokens.len() + 1).saturating_sub(phrase.tokens.len());
            starts
                .into_iter()
                .any(|start| self.is_at(start, phrase, tokens))
        };
        let has = |term: &usize| self.phrases[*term].iter().any(is_in);
        (0..self.phrases.len()).filter(|term| !has(term)).collect()
    }

    /// Returns whether `tokens` have `phrase` at `start`, as a word or words where it has to be
    /// one.
    fn is_at(&self, start: usize, phrase: &Phrase, tokens: &[u32]) -> bool {
        let (before, rest) = tokens.split_at(start);
        rest.strip_prefix(&phrase.tokens[..]).is_some_and(|after| {
            let goes_on = after.first().is_some_and(|&id| self.continues(id));
            self.can_begin(phrase.begin, before) && (phrase.end == Edge::Anywhere || !goes_on)
        })
    }
}
