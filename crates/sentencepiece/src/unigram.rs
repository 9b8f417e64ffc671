//! The best segmentation of a text under a unigram model (Kudo, 2018), as the C++ library's
//! optimised encoder finds it.
//!
//! Sums are taken in float32 and in the order of that library, the first of equal segmentations
//! wins, and a sum that grows large is reset to 0 at the same positions. Otherwise texts with ties
//! would be segmented differently.

use crate::PieceType;
use crate::trie::{ROOT, Trie};
use crate::types::Segment;
use crate::vocabulary::Vocabulary;

/// The difference between the scores of the rarest piece and of unknown text.
const UNKNOWN_PENALTY: f32 = 10.0;
/// A sum beyond this limit is reset. Otherwise long texts would lose precision.
const MAX_SUM: f32 = 100_000.0;
/// The mark of a position that no segmentation reaches yet.
const NOWHERE: usize = usize::MAX;
/// The mark for no piece, which takes less memory than an `Option`.
const NO_PIECE: u32 = u32::MAX;

/// The last piece of the best segmentation up to a position in the text.
#[derive(Clone, Copy)]
struct Best {
    score: f32,
    id: u32,
    start: usize,
}

impl Best {
    /// Takes another segmentation up to the same position if it is better, or the first.
    #[inline]
    fn offer(&mut self, score: f32, id: u32, start: usize) {
        if self.start == NOWHERE || score > self.score {
            *self = Self { score, id, start };
        }
    }
}

/// Returns the score of unknown text.
pub fn unknown_score(vocabulary: &Vocabulary) -> f32 {
    let normal = (0..vocabulary.len() as u32)
        .filter(|&id| vocabulary.kind(id) == PieceType::Normal)
        .map(|id| vocabulary.score(id));
    // Without a normal piece the library takes the largest number there is.
    let lowest = normal.fold(
        f32::MAX,
        |lowest, score| if score < lowest { score } else { lowest },
    );
    lowest - UNKNOWN_PENALTY
}

/// Segments the normalised `text` by the Viterbi algorithm.
pub fn segment(vocabulary: &Vocabulary, unknown_score: f32, text: &str) -> Vec<Segment> {
    let mut best = vec![
        Best {
            score: 0.0,
            id: NO_PIECE,
            start: NOWHERE
        };
        text.len() + 1
    ];
    let mut reached = 0;
    for (start, character) in text.char_indices() {
        let before = reset(&mut best[start..=reached.max(start)]);
        let end_of_character = start + character.len_utf8();
        let mut has_piece = false;
        matches(
            &vocabulary.ordinary,
            &text.as_bytes()[start..],
            |id, length| {
                let score = match vocabulary.kind(id) {
                    PieceType::Unused => return,
                    PieceType::UserDefined => symbol_score(length),
                    _ => vocabulary.score(id),
                };
                let end = start + length;
                reached = reached.max(end);
                best[end].offer(score + before, id, start);
                has_piece |= end == end_of_character;
            },
        );
        if !has_piece {
            reached = reached.max(end_of_character);
            let score = unknown_score + before;
            best[end_of_character].offer(score, vocabulary.unknown.unwrap_or(NO_PIECE), start);
        }
    }
    trace_back(&best)
}

/// Returns the sum up to the first of `ahead`. A large sum is first reset to 0, and all following
/// sums with it.
#[inline]
fn reset(ahead: &mut [Best]) -> f32 {
    let offset = ahead[0].score;
    let is_large = offset.abs() > MAX_SUM;
    if !is_large {
        return offset;
    }
    for (position, best) in ahead.iter_mut().enumerate() {
        if position == 0 || best.start != NOWHERE {
            best.score -= offset;
        }
    }
    0.0
}

/// Returns the score of a user-defined symbol of `length` bytes, computed as the library does: in
/// double precision, then rounded.
fn symbol_score(length: usize) -> f32 {
    (0.1 * (length as f64 - 1.0)) as f32
}

/// Calls `each` with every piece at the start of `text`, the shortest first.
#[inline]
fn matches(pieces: &Trie, text: &[u8], mut each: impl FnMut(u32, usize)) {
    let mut node = ROOT;
    for (at, &byte) in text.iter().enumerate() {
        let Some(next) = pieces.step(node, byte) else {
            return;
        };
        node = next;
        if let Some(id) = pieces.value(node) {
            each(id, at + 1);
        }
    }
}

fn trace_back(best: &[Best]) -> Vec<Segment> {
    let mut segments = Vec::with_capacity(best.len() / 4 + 1);
    let mut end = best.len() - 1;
    while end > 0 {
        let Best { id, start, .. } = best[end];
        segments.push(Segment {
            start,
            end,
            id: (id != NO_PIECE).then_some(id),
        });
        end = start;
    }
    segments.reverse();
    segments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symbol_scores_a_tenth_per_byte_after_the_first() {
        assert_eq!(symbol_score(1), 0.0);
        assert_eq!(symbol_score(4), (0.1f64 * 3.0) as f32);
    }

    fn best(score: f32, start: usize) -> Best {
        Best {
            score,
            id: NO_PIECE,
            start,
        }
    }

    #[test]
    fn a_large_sum_is_reset_except_at_unreached_positions() {
        let mut ahead = [best(-100_001.0, 3), best(0.0, NOWHERE), best(-100_003.0, 4)];
        assert_eq!(reset(&mut ahead), 0.0);
        assert_eq!(ahead.map(|best| best.score), [0.0, 0.0, -2.0]);
        assert_eq!(reset(&mut [best(-100_000.0, 3)]), -100_000.0);
    }
}
