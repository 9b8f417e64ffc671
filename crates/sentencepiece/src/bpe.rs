//! Byte-pair encoding (Sennrich et al., 2016) as in the C++ library: of all neighbours that form a piece together,
//! those with the highest score are joined first, the leftmost of equals.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, HashMap};

use crate::PieceType;
use crate::normalizer::MOST_SYMBOLS;
use crate::segment::Segment;
use crate::trie::{Node, ROOT, Trie};
use crate::vocabulary::Vocabulary;

/// How many nested merges are undone before an unused piece is left as it is.
const DEEPEST: usize = 100;
/// The index of a neighbour that does not exist.
const NOBODY: usize = usize::MAX;

/// A part of the text, joined from characters. It is empty if it was joined to its left neighbour.
#[derive(Clone, Copy)]
struct Symbol {
    start: usize,
    end: usize,
    before: usize,
    after: usize,
    /// The node of the symbol's text in the tree of pieces, if a piece begins with it.
    node: Option<Node>,
    /// Whether this is a user-defined symbol, which is never joined.
    is_frozen: bool,
}

/// Two neighbours that could be joined.
#[derive(Clone, Copy)]
struct Pair {
    score: f32,
    left: usize,
    right: usize,
    /// The number of bytes of both symbols. If it has changed, the pair is out of date.
    len: usize,
    node: Node,
}

impl Pair {
    /// Compares scores in the total order of IEEE 754, as the library does.
    fn order(&self, other: &Self) -> Ordering {
        let by_score = self.score.total_cmp(&other.score);
        by_score.then(Reverse(self.left).cmp(&Reverse(other.left)))
    }
}

impl PartialEq for Pair {
    fn eq(&self, other: &Self) -> bool {
        self.order(other).is_eq()
    }
}

impl Eq for Pair {}

impl PartialOrd for Pair {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Pair {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order(other)
    }
}

/// Segments `text`, which is normalised.
pub fn segment(vocabulary: &Vocabulary, symbols: &Trie, text: &str) -> Vec<Segment> {
    let mut merger = Merger::new(vocabulary, symbols, text);
    merger.merge();
    merger.segments()
}

struct Merger<'a> {
    vocabulary: &'a Vocabulary,
    text: &'a str,
    symbols: Vec<Symbol>,
    /// Where unused pieces are cut again: between their two halves.
    halves: HashMap<&'a str, usize>,
}

impl<'a> Merger<'a> {
    fn new(vocabulary: &'a Vocabulary, frozen: &Trie, text: &'a str) -> Self {
        let mut symbols: Vec<Symbol> = Vec::with_capacity(text.len());
        let mut start = 0;
        while start < text.len() {
            let (len, is_frozen) = next_symbol(frozen, &text[start..]);
            let end = start + len;
            let node = vocabulary.ordinary.walk(ROOT, &text.as_bytes()[start..end]);
            let before = symbols.len().checked_sub(1).unwrap_or(NOBODY);
            let after = if end < text.len() { symbols.len() + 1 } else { NOBODY };
            symbols.push(Symbol { start, end, before, after, node, is_frozen });
            start = end;
        }
        Self { vocabulary, text, symbols, halves: HashMap::new() }
    }

    fn merge(&mut self) {
        let pairs = (1..self.symbols.len()).filter_map(|right| self.pair(right - 1, right));
        let mut agenda: BinaryHeap<Pair> = pairs.collect::<Vec<_>>().into();
        while let Some(pair) = agenda.pop() {
            let (left, right) = (self.symbols[pair.left], self.symbols[pair.right]);
            let (left_len, right_len) = (left.end - left.start, right.end - right.start);
            if left_len == 0 || right_len == 0 || left_len + right_len != pair.len {
                continue;
            }
            self.join(&pair, right);
            let joined = self.symbols[pair.left];
            let neighbours = [(joined.before, pair.left), (pair.left, joined.after)];
            for (left, right) in neighbours {
                agenda.extend(self.pair(left, right));
            }
        }
    }

    /// Joins `pair` into one symbol, in the place of its left half.
    fn join(&mut self, pair: &Pair, right: Symbol) {
        let joined = &mut self.symbols[pair.left];
        joined.end = right.end;
        joined.after = right.after;
        joined.node = Some(pair.node);
        if right.after != NOBODY {
            self.symbols[right.after].before = pair.left;
        }
        self.symbols[pair.right].end = right.start;
    }

    /// Two neighbours, if they form a piece together.
    #[inline]
    fn pair(&mut self, left: usize, right: usize) -> Option<Pair> {
        if left == NOBODY || right == NOBODY {
            return None;
        }
        let (first, second) = (self.symbols[left], self.symbols[right]);
        if first.is_frozen || second.is_frozen {
            return None;
        }
        let pieces = &self.vocabulary.ordinary;
        let node = pieces.walk(first.node?, &self.text.as_bytes()[second.start..second.end])?;
        let id = pieces.value(node)?;
        if self.vocabulary.kind(id) == PieceType::Unused {
            self.halves.insert(&self.text[first.start..second.end], first.end - first.start);
        }
        let len = second.end - first.start;
        Some(Pair { score: self.vocabulary.score(id), left, right, len, node })
    }

    fn segments(&self) -> Vec<Segment> {
        let mut segments = Vec::with_capacity(self.symbols.len());
        let mut next = if self.symbols.is_empty() { NOBODY } else { 0 };
        while next != NOBODY {
            let Symbol { start, end, after, .. } = self.symbols[next];
            self.cut_again(start, end, 0, &mut segments);
            next = after;
        }
        segments
    }

    /// Adds the segment `start..end`; an unused piece is added as the parts from which it was joined.
    fn cut_again(&self, start: usize, end: usize, depth: usize, out: &mut Vec<Segment>) {
        let text = &self.text[start..end];
        let unknown = self.vocabulary.unknown;
        let id = match self.vocabulary.ordinary.get(text.as_bytes()) {
            Some(id) if depth <= DEEPEST && self.vocabulary.kind(id) == PieceType::Unused => {
                match self.halves.get(text) {
                    Some(half) => {
                        self.cut_again(start, start + half, depth + 1, out);
                        return self.cut_again(start + half, end, depth + 1, out);
                    }
                    None => unknown,
                }
            }
            id => id.or(unknown),
        };
        out.push(Segment { start, end, id });
    }
}

/// The length of the symbol at the start of `text` that is not cut further, and whether it is a user-defined symbol.
pub fn next_symbol(symbols: &Trie, text: &str) -> (usize, bool) {
    match symbols.longest_prefix(text.as_bytes(), MOST_SYMBOLS) {
        Some(len) => (len, true),
        None => (text.chars().next().map_or(0, char::len_utf8), false),
    }
}
