//! Byte-pair encoding as in the C++ library: of all adjacent symbols that together form a piece,
//! the pair with the highest score is merged first, and the leftmost of equals.
//!
//! The module also segments text for word and character models, which do not learn a segmentation.

use std::collections::HashMap;

use crate::PieceType;
use crate::merge::{Merger, Symbol, merge};
use crate::normalizer::{MAX_SYMBOLS, SPACE};
use crate::trie::{ROOT, Trie};
use crate::types::Segment;
use crate::vocabulary::Vocabulary;

/// Largest number of nested merges that are undone. A deeper unused piece is kept.
const MAX_DEPTH: usize = 100;

/// Segments the normalised `text` by byte-pair encoding.
pub fn segment(vocabulary: &Vocabulary, text: &str) -> Vec<Segment> {
    let mut start = 0;
    let mut symbols = Vec::with_capacity(text.len());
    while start < text.len() {
        let (len, is_frozen) = next_symbol(&vocabulary.symbols, &text[start..]);
        let end = start + len;
        let node = vocabulary.ordinary.walk(ROOT, &text.as_bytes()[start..end]);
        symbols.push(Symbol {
            start,
            end,
            node,
            is_frozen,
        });
        start = end;
    }
    let mut segments = Vec::with_capacity(symbols.len());
    let mut merger = Merger {
        vocabulary,
        text,
        halves: HashMap::new(),
    };
    for Symbol { start, end, .. } in merge(&mut merger, symbols) {
        merger.cut_again(start, end, 0, &mut segments);
    }
    segments
}

impl Merger<'_> {
    /// Adds the segment `start..end`; an unused piece is divided into its parts again.
    fn cut_again(&self, start: usize, end: usize, depth: usize, out: &mut Vec<Segment>) {
        let text = &self.text[start..end];
        let unknown = self.vocabulary.unknown;
        let id = match self.vocabulary.ordinary.get(text.as_bytes()) {
            Some(id) if depth <= MAX_DEPTH && self.vocabulary.kind(id) == PieceType::Unused => {
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

/// Returns the length of the first symbol of `text`, which is a user-defined symbol or a character,
/// and whether it is user-defined.
pub fn next_symbol(symbols: &Trie, text: &str) -> (usize, bool) {
    match symbols.longest_prefix(text.as_bytes(), MAX_SYMBOLS) {
        Some(len) => (len, true),
        None => (text.chars().next().map_or(0, char::len_utf8), false),
    }
}

/// Segments `text` into words: it is cut before every space.
pub fn words(vocabulary: &Vocabulary, text: &str) -> Vec<Segment> {
    let starts = text
        .match_indices(SPACE)
        .map(|(at, _)| at)
        .filter(|&at| at > 0);
    let ends = starts.chain((!text.is_empty()).then_some(text.len()));
    let mut start = 0;
    let mut segments = Vec::new();
    for end in ends {
        let id = id(vocabulary, &text[start..end]);
        segments.push(Segment { start, end, id });
        start = end;
    }
    segments
}

/// Segments `text` into characters and user-defined symbols.
pub fn characters(vocabulary: &Vocabulary, text: &str) -> Vec<Segment> {
    let mut start = 0;
    let mut segments = Vec::new();
    while start < text.len() {
        let end = start + next_symbol(&vocabulary.symbols, &text[start..]).0;
        let id = id(vocabulary, &text[start..end]);
        segments.push(Segment { start, end, id });
        start = end;
    }
    segments
}

fn id(vocabulary: &Vocabulary, text: &str) -> Option<u32> {
    vocabulary
        .ordinary
        .get(text.as_bytes())
        .filter(|&id| vocabulary.kind(id) != PieceType::Unused)
        .or(vocabulary.unknown)
}
