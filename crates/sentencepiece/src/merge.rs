//! The loop of byte-pair encoding (Sennrich et al., 2016): of all adjacent symbols that can be
//! merged, the pair with the lowest rank is merged first, and the leftmost of equals.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use crate::PieceType;
use crate::trie::Node;
use crate::vocabulary::Vocabulary;

/// Marks the absence of a neighbour.
const NOWHERE: u32 = u32::MAX;
/// Marks a symbol that was joined to the one before it.
const GONE: u32 = u32::MAX - 1;

/// Merges `symbols` until no merge applies, and returns the remaining symbols. The time is
/// proportional to n log n for n symbols.
///
/// # Panics
/// Panics if there are 4,294,967,294 symbols or more.
pub fn merge(merges: &mut Merger, symbols: Vec<Symbol>) -> impl Iterator<Item = Symbol> + use<> {
    let mut row = Row::new(symbols);
    let pairs = (1..row.links.len() as u32).filter_map(|at| row.candidate(merges, at - 1, at));
    let mut candidates: BinaryHeap<_> = pairs.collect::<Vec<_>>().into();
    while let Some(Reverse(candidate)) = candidates.pop() {
        if !row.has(&candidate) {
            continue;
        }
        let (before, after) = row.join(&candidate);
        candidates.extend(row.candidate(merges, before, candidate.left));
        candidates.extend(row.candidate(merges, candidate.left, after));
    }
    row.links
        .into_iter()
        .filter(|link| link.after != GONE)
        .map(|link| link.symbol)
}

/// A part of the text, joined from characters.
pub struct Symbol {
    pub start: usize,
    pub end: usize,
    /// The node of the symbol's text in the tree of pieces, if a piece begins with it.
    pub node: Option<Node>,
    /// If true, this is a user-defined symbol, which is never joined.
    pub is_frozen: bool,
}

/// The merges of a vocabulary over a text.
pub struct Merger<'a> {
    pub vocabulary: &'a Vocabulary,
    pub text: &'a str,
    /// The length in bytes of the first half of each merged piece of the type UNUSED. Such a piece
    /// is not a result: it is divided into its halves again after all merges.
    pub halves: HashMap<&'a str, usize>,
}

impl Merger<'_> {
    /// Returns the rank of the merge of two neighbours and the node of the symbol that they become;
    /// `None` if they cannot be joined. The merge with the lowest rank is done first.
    #[inline]
    fn find(&mut self, left: &Symbol, right: &Symbol) -> Option<(u32, Node)> {
        if left.is_frozen || right.is_frozen {
            return None;
        }
        let pieces = &self.vocabulary.ordinary;
        let node = pieces.walk(left.node?, &self.text.as_bytes()[right.start..right.end])?;
        let id = pieces.value(node)?;
        if self.vocabulary.kind(id) == PieceType::Unused {
            self.halves
                .insert(&self.text[left.start..right.end], left.end - left.start);
        }
        Some((rank(self.vocabulary.score(id)), node))
    }
}

/// Returns a number that falls as `score` rises in the total order of IEEE 754, the library's
/// order.
fn rank(score: f32) -> u32 {
    let bits = score.to_bits();
    if score.is_sign_negative() {
        bits
    } else {
        !bits & (u32::MAX >> 1)
    }
}

/// Symbols with their neighbours, each at the index of its first part.
struct Row {
    links: Vec<Link>,
}

struct Link {
    symbol: Symbol,
    before: u32,
    after: u32,
    /// The number of times that the symbol was joined to the one after it.
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

impl Row {
    fn new(symbols: Vec<Symbol>) -> Self {
        let mut links = Vec::with_capacity(symbols.len());
        for (at, symbol) in (0_u32..).zip(symbols) {
            links.push(Link {
                symbol,
                before: at.checked_sub(1).unwrap_or(NOWHERE),
                after: at + 1,
                joins: 0,
            });
        }
        assert!(links.len() < GONE as usize, "{} symbols", links.len());
        if let Some(last) = links.last_mut() {
            last.after = NOWHERE;
        }
        Self { links }
    }

    #[inline]
    fn candidate(&self, merges: &mut Merger, left: u32, right: u32) -> Option<Reverse<Candidate>> {
        let first = self.links.get(left as usize)?;
        let second = self.links.get(right as usize)?;
        let (rank, joined) = merges.find(&first.symbol, &second.symbol)?;
        Some(Reverse(Candidate {
            rank,
            left,
            right,
            joins: first.joins + second.joins,
            joined,
        }))
    }

    /// Returns whether both symbols are unchanged.
    #[inline]
    fn has(&self, candidate: &Candidate) -> bool {
        let left = &self.links[candidate.left as usize];
        left.after == candidate.right
            && left.joins + self.links[candidate.right as usize].joins == candidate.joins
    }

    /// Joins two symbols and returns the indices before and after them.
    #[inline]
    fn join(&mut self, candidate: &Candidate) -> (u32, u32) {
        let (head, tail) = self.links.split_at_mut(candidate.right as usize);
        let left = &mut head[candidate.left as usize];
        let right = &mut tail[0];
        left.symbol.end = right.symbol.end;
        left.symbol.node = Some(candidate.joined);
        left.joins += 1;
        left.after = std::mem::replace(&mut right.after, GONE);
        let before = left.before;
        let after = left.after;
        if let Some(next) = self.links.get_mut(after as usize) {
            next.before = candidate.left;
        }
        (before, after)
    }
}
