//! The loop of byte-pair encoding (Sennrich et al., 2016): of all neighbours that can be joined, those of the lowest rank
//! are joined first, the leftmost of equals.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The place of no symbol.
const NOWHERE: usize = usize::MAX;

/// Which symbols can be joined, in which order, and into what.
pub trait Merges {
    /// A part of a text.
    type Symbol;
    /// The order of merges; the lowest is done first.
    type Rank: Ord;

    /// The rank of the merge of two neighbours, and the number of the symbol that they become; `None` if they cannot be
    /// joined.
    fn find(&mut self, left: &Self::Symbol, right: &Self::Symbol) -> Option<(Self::Rank, u32)>;

    /// Makes `left` the symbol that it becomes together with `right`. [`find`](Self::find) gave its number.
    fn join(left: &mut Self::Symbol, right: &Self::Symbol, joined: u32);

    /// Whether a merge is left out, as BPE-dropout does. It is possible again after the next merge.
    fn leaves_out(&mut self) -> bool {
        false
    }
}

/// The symbols that are left of `symbols` after all merges. The time is proportional to n log n for n symbols.
pub fn merge<M: Merges>(
    merges: &mut M,
    symbols: impl IntoIterator<Item = M::Symbol>,
) -> impl Iterator<Item = M::Symbol> {
    let mut row = Row::new(symbols);
    let pairs = (1..row.links.len()).filter_map(|right| row.candidate(merges, right - 1, right));
    let mut candidates: BinaryHeap<_> = pairs.collect::<Vec<_>>().into();
    let mut left_out = Vec::new();
    while let Some(Reverse(candidate)) = candidates.pop() {
        if !row.has(&candidate) {
            continue;
        }
        if merges.leaves_out() {
            left_out.push(Reverse(candidate));
            continue;
        }
        let (before, after) = row.join::<M>(&candidate);
        candidates.extend(left_out.drain(..));
        candidates.extend(row.candidate(merges, before, candidate.left));
        candidates.extend(row.candidate(merges, candidate.left, after));
    }
    row.links.into_iter().filter(|link| link.is_left).map(|link| link.symbol)
}

/// Symbols with their neighbours, each in the place of its first part.
struct Row<S> {
    links: Vec<Link<S>>,
}

struct Link<S> {
    symbol: S,
    before: usize,
    after: usize,
    /// How many times the symbol was joined to the one after it.
    joins: u32,
    /// Whether the symbol was not joined to the one before it.
    is_left: bool,
}

/// A merge that was possible when the two symbols had been joined `joins` times together.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Candidate<R> {
    rank: R,
    left: usize,
    right: usize,
    joins: u32,
    joined: u32,
}

impl<S> Row<S> {
    fn new(symbols: impl IntoIterator<Item = S>) -> Self {
        let link = |(place, symbol): (usize, S)| Link {
            symbol,
            before: place.checked_sub(1).unwrap_or(NOWHERE),
            after: place + 1,
            joins: 0,
            is_left: true,
        };
        let mut links: Vec<_> = symbols.into_iter().enumerate().map(link).collect();
        links.iter_mut().next_back().into_iter().for_each(|last| last.after = NOWHERE);
        Self { links }
    }

    #[inline]
    fn candidate<M: Merges<Symbol = S>>(
        &self,
        merges: &mut M,
        left: usize,
        right: usize,
    ) -> Option<Reverse<Candidate<M::Rank>>> {
        let (first, second) = (self.links.get(left)?, self.links.get(right)?);
        let (rank, joined) = merges.find(&first.symbol, &second.symbol)?;
        Some(Reverse(Candidate { rank, left, right, joins: first.joins + second.joins, joined }))
    }

    /// Whether the two symbols are still what they were.
    fn has<R>(&self, candidate: &Candidate<R>) -> bool {
        let (left, right) = (&self.links[candidate.left], &self.links[candidate.right]);
        left.is_left && left.after == candidate.right && left.joins + right.joins == candidate.joins
    }

    /// Joins two symbols and returns the places before and after them.
    fn join<M: Merges<Symbol = S>>(&mut self, candidate: &Candidate<M::Rank>) -> (usize, usize) {
        let (head, tail) = self.links.split_at_mut(candidate.right);
        let (left, right) = (&mut head[candidate.left], &mut tail[0]);
        M::join(&mut left.symbol, &right.symbol, candidate.joined);
        left.joins += 1;
        left.after = right.after;
        right.is_left = false;
        let around = (left.before, left.after);
        if let Some(after) = self.links.get_mut(around.1) {
            after.before = candidate.left;
        }
        around
    }
}
