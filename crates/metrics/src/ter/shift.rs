//! Tercom's greedy search for phrases to move ("shifts").

use super::edit_distance::{Alignment, EditDistance};

const MAX_SHIFT_SIZE: usize = 10;
const MAX_SHIFT_DISTANCE: usize = 50;
/// sacreBLEU's limit on the number of shifts that are tried for one sentence.
const MAX_CANDIDATES: usize = 1000;

/// A phrase of the hypothesis that also occurs in the reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Phrase {
    hypothesis: usize,
    reference: usize,
    len: usize,
}

/// Returns the number of edits that turn the hypothesis into the reference. Moving a phrase is one
/// edit.
pub(super) fn edits(hypothesis: &[u32], reference: &[u32]) -> usize {
    if reference.is_empty() {
        return hypothesis.len();
    }
    let mut distance = EditDistance::new(hypothesis, reference);
    let mut shifts = 0;
    let mut tried = 0;
    while let Some(shifted) = best_shift(&mut distance, reference, &mut tried) {
        distance.replace(&shifted);
        shifts += 1;
    }
    shifts + distance.cost() as usize
}

/// Returns the hypothesis after the shift that saves most edits, if one saves any and the limit on
/// tries is not reached.
fn best_shift(
    distance: &mut EditDistance<'_>,
    reference: &[u32],
    tried: &mut usize,
) -> Option<Vec<u32>> {
    let words = distance.hypothesis.clone();
    let before = i64::from(distance.cost());
    let alignment = distance.alignment();
    let mut shifted = words.clone();
    let mut best: Option<(Rank, Phrase, usize)> = None;
    for phrase in phrases(&words, reference).filter(|phrase| worth_moving(phrase, &alignment)) {
        for target in targets(&phrase, &alignment) {
            let changed = shift(&words, &phrase, target, &mut shifted);
            let saved = before - i64::from(distance.cost_of(&shifted, changed));
            let rank = rank(saved, &phrase, target);
            *tried += 1;
            if best.is_none_or(|(best, ..)| rank > best) {
                best = Some((rank, phrase, target));
            }
        }
        if *tried >= MAX_CANDIDATES {
            return None;
        }
    }
    let (_, phrase, target) = best.filter(|(rank, ..)| rank.0 > 0)?;
    shift(&words, &phrase, target, &mut shifted);
    Some(shifted)
}

/// Edits saved, length, and the negated positions. Of two shifts Tercom takes the one that saves
/// more, then the longer one, then the one that starts and ends further left.
type Rank = (i64, usize, i64, i64);

fn rank(saved: i64, phrase: &Phrase, target: usize) -> Rank {
    (
        saved,
        phrase.len,
        -(phrase.hypothesis as i64),
        -(target as i64),
    )
}

/// Common phrases of up to ten words within the largest distance of a shift.
fn phrases<'a>(hypothesis: &'a [u32], reference: &'a [u32]) -> impl Iterator<Item = Phrase> + 'a {
    let pairs = (0..hypothesis.len()).flat_map(|h| {
        let near =
            h.saturating_sub(MAX_SHIFT_DISTANCE)..reference.len().min(h + MAX_SHIFT_DISTANCE + 1);
        near.map(move |r| (h, r))
    });
    pairs.flat_map(|(h, r)| {
        let common = hypothesis[h..]
            .iter()
            .zip(&reference[r..])
            .take_while(|(a, b)| a == b)
            .take(MAX_SHIFT_SIZE)
            .count();
        (1..=common).map(move |len| Phrase {
            hypothesis: h,
            reference: r,
            len,
        })
    })
}

/// Returns whether the phrase may move: it must be wrong at its position and missing in the
/// reference, and must not move into itself.
fn worth_moving(phrase: &Phrase, alignment: &Alignment) -> bool {
    let misplaced = alignment.hypothesis_wrong[phrase.hypothesis..][..phrase.len].contains(&true);
    let missing = alignment.reference_wrong[phrase.reference..][..phrase.len].contains(&true);
    let upto = alignment.upto[phrase.reference];
    let inside = phrase.hypothesis < upto && upto <= phrase.hypothesis + phrase.len;
    misplaced && missing && !inside
}

/// Returns the possible targets of the phrase: before its counterpart, and after each word of the
/// counterpart, without repetitions.
fn targets(phrase: &Phrase, alignment: &Alignment) -> impl Iterator<Item = usize> {
    let counterpart = &alignment.upto[phrase.reference..][..phrase.len];
    let before = if phrase.reference == 0 {
        0
    } else {
        alignment.upto[phrase.reference - 1]
    };
    let mut last = None;
    std::iter::once(before)
        .chain(counterpart.iter().copied())
        .filter(move |&target| {
            let new = last != Some(target);
            last = Some(target);
            new
        })
}

/// Writes the words with the phrase moved to `target`, and returns the range that changed.
fn shift(words: &[u32], phrase: &Phrase, target: usize, out: &mut [u32]) -> std::ops::Range<usize> {
    let Phrase {
        hypothesis: start,
        len,
        ..
    } = *phrase;
    out.copy_from_slice(words);
    let changed = if target < start {
        target..start + len
    } else if target > start + len {
        start..target
    } else {
        // A target inside the phrase is counted from the beginning of the phrase, over the words
        // after it.
        start..(target + len).min(words.len())
    };
    if target < start {
        out[changed.clone()].rotate_right(len);
    } else {
        out[changed.clone()].rotate_left(len);
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_move_forth_and_back() {
        let words = [0, 1, 2, 3, 4, 5];
        for (hypothesis, target, expected) in [
            (3, 1, [0, 3, 4, 1, 2, 5]),
            (1, 5, [0, 3, 4, 1, 2, 5]),
            (1, 2, [0, 3, 1, 2, 4, 5]),
            (4, 5, words),
        ] {
            let phrase = Phrase {
                hypothesis,
                reference: 0,
                len: 2,
            };
            let mut moved = words;
            shift(&words, &phrase, target, &mut moved);
            assert_eq!(moved, expected);
        }
    }

    #[test]
    fn common_phrases_grow_word_by_word() {
        let found: Vec<_> = phrases(&[7, 8], &[8, 7, 8])
            .map(|p| (p.hypothesis, p.reference, p.len))
            .collect();
        assert_eq!(found, [(0, 1, 1), (0, 1, 2), (1, 0, 1), (1, 2, 1)]);
    }

    #[test]
    fn a_swap_of_halves_is_one_edit() {
        assert_eq!(edits(&[4, 5, 6, 1, 2, 3], &[1, 2, 3, 4, 5, 6]), 1);
        assert_eq!(edits(&[1, 2], &[]), 2);
        assert_eq!(edits(&[], &[1, 2, 3]), 3);
    }
}
