//! Word alignment of a translation: each of its words with the source word that it translates.

mod build;

use std::collections::BTreeSet;

use burnformer_text::past;

use crate::Link;
use crate::words::{Mark, Span, mark, within};

/// Whether white space stands before and after a position in a source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spaces {
    pub(crate) before: bool,
    pub(crate) after: bool,
}

/// The alignment of a text with its translation, built sentence by sentence.
#[derive(Debug, Default)]
pub(crate) struct Alignment {
    /// The translation, including the text between sentences.
    pub(crate) target: String,
    /// The words of the source, cut where markup begins or ends; sorted.
    pub(crate) pieces: Vec<WordPart>,
    /// The words and punctuation marks of the translation; sorted.
    pub(crate) units: Vec<Unit>,
    /// The range of each sentence in the source and in the translation.
    pub(crate) sentences: Vec<(Span, Span)>,
}

/// A word of the source, or a part of one.
#[derive(Debug)]
pub(crate) struct WordPart {
    pub(crate) range: Span,
    /// The index of the word; its parts share it.
    pub(crate) word: usize,
    /// The first and last unit aligned to it.
    pub(crate) units: Option<(usize, usize)>,
}

/// A word or punctuation mark of the translation.
#[derive(Debug)]
pub(crate) struct Unit {
    pub(crate) range: Span,
    pub(crate) is_word: bool,
    /// The piece of the source aligned to it.
    pub(crate) piece: Option<usize>,
}

/// A translated sentence with its links: the input of [`Alignment::sentence`].
pub(crate) struct Pair<'a> {
    pub(crate) source: &'a str,
    /// The range of the sentence in `source`.
    pub(crate) range: Span,
    pub(crate) target: &'a str,
    /// Relative to the sentence.
    pub(crate) links: &'a [Link],
    /// Ranges of `source` and `target` that count as one word each.
    pub(crate) whole: (&'a [Span], &'a [Span]),
    /// The offsets where markup cuts words of `source`.
    pub(crate) borders: &'a BTreeSet<usize>,
}

impl Alignment {
    /// Returns all pieces of the word that `piece` belongs to.
    pub(crate) fn word_of(&self, piece: usize) -> Span {
        let word = self.pieces[piece].word;
        let start = self.pieces.partition_point(|piece| piece.word < word);
        start..self.pieces.partition_point(|piece| piece.word <= word)
    }

    /// Returns links between aligned words.
    pub(crate) fn links(&self) -> Vec<Link> {
        self.units
            .iter()
            .filter_map(|unit: &Unit| {
                let source = self.pieces[unit.piece?].range.clone();
                Some(Link {
                    source,
                    target: unit.range.clone(),
                })
            })
            .collect()
    }

    /// Returns the indices of the pieces within `range` of the source.
    pub(crate) fn pieces_in(&self, range: &Span) -> Span {
        within(&self.pieces, |piece| &piece.range, range)
    }

    /// Returns the indices of the units within `range` of the translation.
    pub(crate) fn units_in(&self, range: &Span) -> Span {
        within(&self.units, |unit| &unit.range, range)
    }

    /// Returns the offset in the translation that corresponds to `at` in `source`. `spaces` is
    /// the white space around it.
    pub(crate) fn position(&self, source: &str, at: usize, spaces: Spaces) -> usize {
        let next = self
            .sentences
            .partition_point(|(source, _)| source.end < at);
        let Some((range, target)) = self.sentences.get(next) else {
            // After the last sentence, white space is copied from the source.
            let last = self.sentences.last();
            let (end, target) = last.map_or((0, 0), |(source, target)| (source.end, target.end));
            return (target + (at - end)).min(self.target.len());
        };
        if at <= range.start {
            let end_before = next
                .checked_sub(1)
                .map_or(0, |last| self.sentences[last].1.end);
            return target
                .start
                .saturating_sub(range.start - at)
                .max(end_before);
        }
        if at == range.end {
            return target.end;
        }
        let pieces = self.pieces_in(range);
        let next_piece =
            pieces.start + self.pieces[pieces.clone()].partition_point(|p| p.range.end <= at);
        if let Some(end) = self.end_of_word(next_piece, &pieces) {
            return end;
        }
        let after = &source[at..];
        let touches_last = source[..at].ends_with(char::is_alphanumeric) && !spaces.before;
        let opens = after.starts_with(|c| matches!(mark(c), Mark::Open | Mark::Quote));
        let before =
            touches_last || spaces.after || !(after.starts_with(char::is_alphanumeric) || opens);
        let sentence = &self.sentences[next];
        let last = || self.after_piece(source, at, pieces.start..next_piece, sentence);
        let next = || self.before_piece(source, at, next_piece..pieces.end, target);
        if before {
            last().or_else(next)
        } else {
            next().or_else(last)
        }
        .unwrap_or(target.start)
    }

    /// Returns the offset of the cut if a source word is cut before `piece`. It is between the
    /// parts if they translate to parts of one word, else after the word.
    fn end_of_word(&self, piece: usize, pieces: &Span) -> Option<usize> {
        let last = piece.checked_sub(1).filter(|last| pieces.contains(last))?;
        let word = Some(self.word_of(last)).filter(|word| word.contains(&piece))?;
        let unit = |it: usize| self.pieces[it].units;
        let (first, last) = unit(last).or_else(|| word.filter_map(unit).next_back())?;
        // Both parts can be aligned to a word that follows them.
        let next = unit(piece).map_or(0, |(next, _)| next);
        let last = if first < next {
            last.min(next - 1)
        } else {
            last
        };
        Some(self.units[last].range.end)
    }

    /// Returns whether `at` is strictly inside a sentence of the source.
    pub(crate) fn is_in_sentence(&self, at: usize) -> bool {
        let next = self
            .sentences
            .partition_point(|(source, _)| source.end <= at);
        self.sentences
            .get(next)
            .is_some_and(|(source, _)| source.start < at)
    }

    /// Returns where the translation of the last aligned piece in `pieces` ends, including the
    /// marks between it and `at`. If no piece is aligned, returns the end of the marks that begin
    /// the sentence.
    fn after_piece(
        &self,
        text: &str,
        at: usize,
        pieces: Span,
        sentence: &(Span, Span),
    ) -> Option<usize> {
        let (source, target) = sentence;
        let aligned = pieces
            .clone()
            .rev()
            .find_map(|it| Some((it, self.pieces[it].units?.1)));
        let (start, end) = match aligned {
            Some((piece, unit)) => (self.pieces[piece].range.end, self.units[unit].range.end),
            None if pieces.is_empty() => (source.start, target.start),
            None => return None,
        };
        let next = aligned.map_or(pieces.start, |(piece, _)| piece + 1);
        let word = self
            .pieces
            .get(next)
            .map_or(usize::MAX, |piece| piece.range.start);
        let marks = text.get(start..at.min(word)).unwrap_or_default();
        Some(end + past(self.target[end..target.end].chars(), marks.chars()))
    }

    /// Returns where the translation of the first aligned piece in `pieces` begins, including the
    /// marks between `at` and it.
    fn before_piece(&self, text: &str, at: usize, pieces: Span, target: &Span) -> Option<usize> {
        let (piece, unit) = pieces
            .clone()
            .find_map(|piece| Some((piece, self.pieces[piece].units?.0)))?;
        let marks = text.get(at..self.pieces[piece].range.start);
        let marks = marks.filter(|_| piece == pieces.start).unwrap_or_default();
        Some(self.preceding(unit, marks, target.start))
    }

    /// Returns the end of `unit` and the marks after it, as long as they match `marks` in order and
    /// end before `limit`.
    pub(crate) fn following(&self, unit: usize, marks: &str, limit: usize) -> usize {
        let end = self.units[unit].range.end;
        end + past(
            self.target.get(end..limit).unwrap_or_default().chars(),
            marks.chars(),
        )
    }

    /// Returns the start of `unit` and the marks before it, like [`Alignment::following`]. `marks`
    /// are in text order.
    pub(crate) fn preceding(&self, unit: usize, marks: &str, limit: usize) -> usize {
        let start = self.units[unit].range.start;
        let rest = self.target.get(limit..start).unwrap_or_default();
        start - past(rest.chars().rev(), marks.chars().rev())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aligned(source: &str, target: &str, links: &[Link], borders: &[usize]) -> Alignment {
        let mut alignment = Alignment::default();
        let range = 0..source.len();
        let borders = &borders.iter().copied().collect();
        alignment.sentence(&Pair {
            source,
            range,
            target,
            links,
            whole: (&[], &[]),
            borders,
        });
        alignment
    }

    fn pieces(alignment: &Alignment) -> Vec<Option<usize>> {
        alignment.units.iter().map(|unit| unit.piece).collect()
    }

    #[test]
    fn without_links_the_order_decides() {
        assert_eq!(
            pieces(&aligned("a b c", "x y z", &[], &[])),
            [Some(0), Some(1), Some(2)]
        );
        assert_eq!(
            pieces(&aligned("a b", "w x y z.", &[], &[])),
            [Some(0), Some(0), Some(1), Some(1), None]
        );
    }

    #[test]
    fn the_piece_with_most_linked_bytes_wins() {
        let links = [
            Link {
                source: 0..3,
                target: 0..1,
            },
            Link {
                source: 4..7,
                target: 1..6,
            },
        ];
        assert_eq!(
            pieces(&aligned("foo bar", "barbaz", &links, &[])),
            [Some(1)]
        );
    }

    #[test]
    fn a_word_that_stays_is_cut_where_markup_cuts_it() {
        let alignment = aligned("Hello you", "Hello toi", &[], &[1]);
        assert_eq!(alignment.units[0].range, 0..1);
        assert_eq!(alignment.units[1].range, 1..5);
        assert_eq!(pieces(&alignment), [Some(0), Some(1), Some(2)]);
    }

    #[test]
    fn links_outside_of_the_texts_are_ignored() {
        let backwards = Span { start: 9, end: 2 };
        let links = [
            Link {
                source: 5..usize::MAX,
                target: 0..usize::MAX,
            },
            Link {
                source: backwards.clone(),
                target: backwards.clone(),
            },
        ];
        assert_eq!(pieces(&aligned("a b", "x y", &links, &[])), [None, None]);
        let within_a_word = Link {
            source: Span { start: 4, end: 2 },
            target: 0..3,
        };
        assert_eq!(
            pieces(&aligned("abcdef", "xyz", &[within_a_word], &[])),
            [None]
        );
    }

    #[test]
    fn a_position_behind_punctuation_stays_behind_it() {
        let alignment = aligned("a, b", "x, y", &[], &[]);
        for (at, after) in [(2, true), (1, false)] {
            let before = false;
            let spaces = Spaces { before, after };
            assert_eq!(alignment.position("a, b", at, spaces), at);
        }
    }
}
