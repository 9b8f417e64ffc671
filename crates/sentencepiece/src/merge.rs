//! The loop of byte-pair encoding (Sennrich et al., 2016): of all neighbours that can be joined, those of the lowest rank
//! are joined first, the leftmost of equals.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The place of no symbol.
const NOWHERE: u32 = u32::MAX;
/// The place after a symbol that was joined to the one before it.
const GONE: u32 = u32::MAX - 1;

/// Which symbols can be joined, in which order, and into what.
pub trait Merges {
    /// A part of a text.
    type Symbol;

    /// The rank of the merge of two neighbours, of which the lowest is done first, and the number of the symbol that they
    /// become; `None` if they cannot be joined.
    fn find(&mut self, left: &Self::Symbol, right: &Self::Symbol) -> Option<(u32, u32)>;

    /// Makes `left` the symbol that it becomes together with `right`. [`find`](Self::find) gave its number.
    fn join(left: &mut Self::Symbol, right: &Self::Symbol, joined: u32);
}

/// The symbols that are left of `symbols` after all merges. The time is proportional to n log n for n symbols.
///
/// # Panics
/// If there are 4,294,967,294 symbols or more.
pub fn merge<M: Merges>(
    merges: &mut M,
    symbols: Vec<M::Symbol>,
) -> impl Iterator<Item = M::Symbol> + use<M> {
    let mut row = Row::new(symbols);
    let pairs = (1..row.links.len() as u32).filter_map(|at| row.candidate(merges, at - 1, at));
    let mut candidates: BinaryHeap<_> = pairs.collect::<Vec<_>>().into();
    while let Some(Reverse(candidate)) = candidates.pop() {
        if !row.has(&candidate) {
            continue;
        }
        let (before, after) = row.join::<M>(&candidate);
        candidates.extend(row.candidate(merges, before, candidate.left));
        candidates.extend(row.candidate(merges, candidate.left, after));
    }
    row.links.into_iter().filter(|link| link.after != GONE).map(|link| link.symbol)
}

/// Symbols with their neighbours, each in the place of its first part.
struct Row<S> {
    links: Vec<Link<S>>,
}

struct Link<S> {
    symbol: S,
    before: u32,
    after: u32,
    /// How many times the symbol was joined to the one after it.
    joins: u32,
}

/// A merge that was possible when the two symbols had been joined `joins` times together.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    rank: u32,
    left: u32,
    right: u32,
    joins: u32,
    joined: u32,
}

impl<S> Row<S> {
    fn new(symbols: Vec<S>) -> Self {
        let link = |(at, symbol): (u32, S)| {
            let before = at.checked_sub(1).unwrap_or(NOWHERE);
            Link { symbol, before, after: at + 1, joins: 0 }
        };
        let mut links: Vec<_> = (0..).zip(symbols).map(link).collect();
        assert!(links.len() < GONE as usize, "{} symbols", links.len());
        if let Some(last) = links.last_mut() {
            last.after = NOWHERE;
        }
        Self { links }
    }

    #[inline]
    fn candidate<M: Merges<Symbol = S>>(
        &self,
        merges: &mut M,
        left: u32,
        right: u32,
    ) -> Option<Reverse<Candidate>> {
        let (first, second) = (self.links.get(left as usize)?, self.links.get(right as usize)?);
        let (rank, joined) = merges.find(&first.symbol, &second.symbol)?;
        Some(Reverse(Candidate { rank, left, right, joins: first.joins + second.joins, joined }))
    }

    /// Whether the two symbols are still the same.
    #[inline]
    fn has(&self, candidate: &Candidate) -> bool {
        let left = &self.links[candidate.left as usize];
        left.after == candidate.right
            && left.joins + self.links[candidate.right as usize].joins == candidate.joins
    }

    /// Joins two symbols and returns the places before and after them.
    #[inline]
    fn join<M: Merges<Symbol = S>>(&mut self, candidate: &Candidate) -> (u32, u32) {
        let (head, tail) = self.links.split_at_mut(candidate.right as usize);
        let (left, right) = (&mut head[candidate.left as usize], &mut tail[0]);
        M::join(&mut left.symbol, &right.symbol, candidate.joined);
        left.joins += 1;
        left.after = std::mem::replace(&mut right.after, GONE);
        let around = (left.before, left.after);
        if let Some(after) = self.links.get_mut(around.1 as usize) {
            after.before = candidate.left;
        }
        around
    }
}
