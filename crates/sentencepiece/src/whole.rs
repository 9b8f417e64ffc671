//! Models that do not learn how to segment: into words, or into characters.

use crate::PieceType;
use crate::bpe::next_symbol;
use crate::normalizer::SPACE;
use crate::trie::Trie;
use crate::types::Segment;
use crate::vocabulary::Vocabulary;

/// Cuts before every space.
pub fn words(vocabulary: &Vocabulary, text: &str) -> Vec<Segment> {
    let starts = text.match_indices(SPACE).map(|(at, _)| at).filter(|&at| at > 0);
    let ends = starts.chain((!text.is_empty()).then_some(text.len()));
    let mut start = 0;
    let word = |end| {
        let id = id(vocabulary, &text[start..end]);
        Segment { start: std::mem::replace(&mut start, end), end, id }
    };
    ends.map(word).collect()
}

/// Cuts after every character and every user-defined symbol.
pub fn characters(vocabulary: &Vocabulary, symbols: &Trie, text: &str) -> Vec<Segment> {
    let mut start = 0;
    let character = || {
        let rest = text.get(start..).filter(|rest| !rest.is_empty())?;
        let end = start + next_symbol(symbols, rest).0;
        let id = id(vocabulary, &text[start..end]);
        Some(Segment { start: std::mem::replace(&mut start, end), end, id })
    };
    std::iter::from_fn(character).collect()
}

fn id(vocabulary: &Vocabulary, text: &str) -> Option<u32> {
    let used = |&id: &u32| vocabulary.kind(id) != PieceType::Unused;
    vocabulary.ordinary.get(text.as_bytes()).filter(used).or(vocabulary.unknown)
}
