//! Which terms a hypothesis has, and what it still needs.

use super::{Edge, Phrase, Terms};

/// A search whose translation has to contain terms is at least this many times as wide as the beam.
const WIDENING: usize = 2;
/// The most rows of a search with a narrow beam, however many tokens its terms have.
const MOST_ROWS: usize = 64;

/// The terms of a hypothesis, a bit for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// The terms that it has.
    met: u64,
    /// The terms that it has unless the next token goes on with their last word.
    pending: u64,
}

/// Follows the terms of a request along its hypotheses.
#[derive(Debug)]
pub(crate) struct Tracker<'a> {
    terms: &'a Terms,
    /// The number of tokens that suffice to write each term after any token.
    costs: Vec<usize>,
}

impl<'a> Tracker<'a> {
    /// A tracker of `terms`, which have been checked; `None` if there are none.
    pub fn new(terms: &'a Terms) -> Option<Self> {
        let costs = terms.phrases.iter().map(|phrases| terms.cost(phrases).unwrap_or(0)).collect();
        (!terms.is_empty()).then_some(Self { terms, costs })
    }

    /// The number of hypotheses that live at the same time: enough for each bank to have one.
    pub fn rows(&self, beam_size: usize) -> usize {
        let unit = WIDENING * beam_size;
        let banks = self.costs.iter().sum::<usize>() + 1;
        (unit * banks.div_ceil(unit)).min(MOST_ROWS.max(unit))
    }

    /// The progress of a hypothesis that was at `before` and has taken the last one of `tokens`.
    pub fn after(&self, before: Progress, tokens: &[u32]) -> Progress {
        let continues = tokens.last().is_some_and(|&id| self.terms.continues(id));
        let mut met = before.met | if continues { 0 } else { before.pending };
        let mut pending = 0;
        for (bit, phrases) in self.without(met) {
            for phrase in phrases.iter().filter(|phrase| self.ends(phrase, tokens)) {
                match phrase.end {
                    Edge::Anywhere => met |= bit,
                    Edge::Word => pending |= bit,
                }
            }
        }
        Progress { met, pending: pending & !met }
    }

    /// The progress of a hypothesis of `tokens`.
    pub fn along(&self, tokens: &[u32]) -> Progress {
        let step = |progress, count| self.after(progress, &tokens[..count]);
        (1..=tokens.len()).fold(Progress::default(), step)
    }

    /// The number of tokens that suffice to complete the terms after `tokens`; 0 if they are
    /// complete.
    ///
    /// This is a bound that can always be kept: from any hypothesis some token leads to one that
    /// needs at least one token less. Either a term is written from its beginning, or one that was
    /// begun is continued. If its next token goes on with the last word of other terms, these count
    /// as missing again.
    pub fn left(&self, progress: Progress, tokens: &[u32]) -> usize {
        let unmet = self.unmet(progress);
        let mut least = self.cost(unmet);
        for (bit, phrases) in self.without(!unmet) {
            for phrase in phrases {
                let begun = self.begun(phrase, tokens);
                if begun == 0 {
                    continue;
                }
                let breaks = self.terms.continues(phrase.tokens[begun]);
                let broken = if breaks { progress.pending } else { 0 };
                let others = self.cost((unmet | broken) & !bit);
                least = least.min(others + phrase.tokens.len() - begun);
            }
        }
        least
    }

    /// The tokens that begin or continue a missing term after `tokens`, each once.
    pub fn advancing(&self, progress: Progress, tokens: &[u32]) -> Vec<u32> {
        let mut all = Vec::new();
        for phrase in self.without(!self.unmet(progress)).flat_map(|(_, phrases)| phrases) {
            let begun = self.begun(phrase, tokens);
            let first = self.terms.can_begin(phrase.begin, tokens).then_some(0);
            let next = (begun > 0).then_some(begun);
            all.extend(first.into_iter().chain(next).map(|place| phrase.tokens[place]));
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The numbers of the terms that a hypothesis does not have if it ends.
    pub fn missing(&self, progress: Progress) -> Vec<usize> {
        let unmet = self.unmet(progress);
        (0..self.costs.len()).filter(|&number| unmet & (1 << number) != 0).collect()
    }

    fn unmet(&self, progress: Progress) -> u64 {
        let all = u64::MAX >> (64 - self.costs.len());
        all & !(progress.met | progress.pending)
    }

    /// The terms that are not in `bits`, each with its bit.
    fn without(&self, bits: u64) -> impl Iterator<Item = (u64, &'a Vec<Phrase>)> + use<'a> {
        let numbered = self.terms.phrases.iter().enumerate();
        numbered
            .map(|(number, phrases)| (1 << number, phrases))
            .filter(move |(bit, _)| bits & bit == 0)
    }

    fn cost(&self, bits: u64) -> usize {
        let costs = self.costs.iter().enumerate();
        costs.filter(|&(number, _)| bits & (1 << number) != 0).map(|(_, &cost)| cost).sum()
    }

    fn ends(&self, phrase: &Phrase, tokens: &[u32]) -> bool {
        let before = tokens.strip_suffix(&phrase.tokens[..]);
        before.is_some_and(|before| self.terms.can_begin(phrase.begin, before))
    }

    /// How many tokens of `phrase`, but not all, `tokens` end with.
    fn begun(&self, phrase: &Phrase, tokens: &[u32]) -> usize {
        let ends = |&count: &usize| {
            let before = tokens.strip_suffix(&phrase.tokens[..count]);
            before.is_some_and(|before| self.terms.can_begin(phrase.begin, before))
        };
        (1..phrase.tokens.len()).rev().find(ends).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::super::WordEdges;
    use super::*;

    /// Tokens 0 to 9, of which those from 6 on go on with a word and those from 3 on end in one.
    fn edges() -> Option<Arc<WordEdges>> {
        let from = |first| (0..10).map(|id| id >= first).collect();
        Some(Arc::new(WordEdges { continues: from(6), is_open: from(3), ..WordEdges::default() }))
    }

    fn word(tokens: &[u32]) -> Phrase {
        Phrase { tokens: tokens.to_vec(), begin: Edge::Anywhere, end: Edge::Word }
    }

    fn walk(tracker: &Tracker, tokens: &[u32]) -> Progress {
        let grown = (1..=tokens.len()).map(|count| &tokens[..count]);
        grown.fold(Progress::default(), |progress, tokens| tracker.after(progress, tokens))
    }

    fn left(terms: &Terms, tokens: &[u32]) -> usize {
        let tracker = Tracker::new(terms).unwrap();
        tracker.left(walk(&tracker, tokens), tokens)
    }

    #[test]
    fn a_term_counts_as_a_whole_word() {
        let terms =
            Terms { phrases: vec![vec![word(&[3, 6])]], edges: edges(), ..Terms::default() };
        assert_eq!(left(&terms, &[]), 2);
        assert_eq!(left(&terms, &[3]), 1);
        assert_eq!(left(&terms, &[3, 6]), 0);
        assert_eq!(left(&terms, &[3, 6, 7]), 2, "the word goes on");
        assert_eq!(left(&terms, &[3, 6, 1, 7]), 0);
        assert_eq!(left(&terms, &[3, 3, 6]), 0);
    }

    #[test]
    fn a_phrase_without_a_mark_of_its_own_begins_at_the_edge_of_a_word() {
        let bare = Phrase { tokens: vec![7], begin: Edge::Word, end: Edge::Word };
        let terms =
            Terms { phrases: vec![vec![word(&[3, 6]), bare]], edges: edges(), ..Terms::default() };
        assert_eq!(left(&terms, &[1, 7]), 0);
        assert_eq!(left(&terms, &[3, 7]), 2);
        let tracker = Tracker::new(&terms).unwrap();
        assert_eq!(tracker.advancing(Progress::default(), &[1]), [3, 7]);
        assert_eq!(tracker.advancing(Progress::default(), &[3]), [3, 6]);
    }

    #[test]
    fn any_phrase_of_a_term_will_do() {
        let terms = Terms {
            phrases: vec![vec![word(&[3]), word(&[3, 6])]],
            edges: edges(),
            ..Terms::default()
        };
        assert_eq!(
            [&[][..], &[3], &[3, 6], &[3, 7], &[3, 6, 6]].map(|t| left(&terms, t)),
            [1, 0, 0, 1, 1]
        );
    }

    #[test]
    fn one_occurrence_may_serve_several_terms() {
        let terms =
            Terms { phrases: vec![vec![word(&[3, 4])], vec![word(&[4, 5])]], ..Terms::default() };
        assert_eq!(left(&terms, &[3, 4, 5]), 0);
        assert_eq!(left(&terms, &[3, 4]), 1);
    }

    #[test]
    fn rows_grow_with_the_tokens_of_the_terms_up_to_a_bound() {
        let rows = |tokens: usize, beam| {
            let terms = Terms { phrases: vec![vec![word(&vec![3; tokens])]], ..Terms::default() };
            Tracker::new(&terms).unwrap().rows(beam)
        };
        assert_eq!(
            [rows(1, 4), rows(7, 4), rows(8, 4), rows(1000, 4), rows(1, 100)],
            [8, 8, 16, 64, 200]
        );
        assert_eq!(rows(1, 1), 2);
    }

    proptest! {
        #[test]
        fn some_token_always_brings_the_terms_nearer(
            lists in prop::collection::vec(prop::collection::vec(
                (prop::collection::vec(0u32..10, 1..4), any::<[bool; 2]>()), 1..4), 1..5),
            tokens in prop::collection::vec(0u32..10, 0..12),
        ) {
            let edge = |word| if word { Edge::Word } else { Edge::Anywhere };
            let phrase = |(tokens, [begin, end]): (Vec<u32>, [bool; 2])| {
                Phrase { tokens, begin: edge(begin), end: edge(end) }
            };
            let with_free = |list: Vec<_>| {
                let free = word(&[3, 6]);
                list.into_iter().map(phrase).chain([free]).collect()
            };
            let terms = Terms { phrases: lists.into_iter().map(with_free).collect(), edges: edges(), ..Terms::default() };
            let tracker = Tracker::new(&terms).unwrap();
            let mut tokens = tokens;
            let mut progress = walk(&tracker, &tokens);
            let mut left = tracker.left(progress, &tokens);
            while left > 0 {
                let next = tracker.advancing(progress, &tokens).into_iter().map(|id| {
                    let grown = [&tokens[..], &[id]].concat();
                    let progress = tracker.after(progress, &grown);
                    (tracker.left(progress, &grown), grown, progress)
                });
                let best = next.min_by_key(|(left, ..)| *left).unwrap();
                prop_assert!(best.0 < left, "{tokens:?} {terms:?}");
                (left, tokens, progress) = best;
            }
        }
    }
}
