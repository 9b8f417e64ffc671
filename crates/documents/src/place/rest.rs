//! Elements whose words have no run of their own.

use std::ops::Range;

use super::Family;
use super::taken::Taken;
use crate::words::{floor, has_words};

/// The distance from its expected position within which a mark is looked for, in bytes.
const REACH: usize = 256;

impl Family<'_> {
    /// A place for an element whose words have no run: a word that it shares with others, the same
    /// punctuation, white space.
    pub(super) fn take_rest(&self, child: usize, taken: &mut Taken) {
        let source = &self.block.nodes[child].range;
        let text = &self.block.text[source.clone()];
        let range = match has_words(text) {
            true => self.shared_word(source, taken),
            false if text.trim().is_empty() => self.white_space(source),
            false => self.same_text(source, taken),
        };
        let inside =
            |range: &Range<usize>| self.window.start <= range.start && range.end <= self.window.end;
        if let Some(range) = range.filter(|range| inside(range) && taken.is_free(range)) {
            let before = taken.parts.range(..range.start).next_back();
            let low = before.map_or(self.window.start, |(_, &(end, _))| end);
            let after = taken.parts.range(range.end..).next();
            let high = after.map_or(self.window.end, |(&start, _)| start);
            self.take(self.with_space(range, child, low..high), child, taken);
        }
    }

    fn shared_word(&self, source: &Range<usize>, taken: &Taken) -> Option<Range<usize>> {
        let pieces = self.alignment.pieces_in(source);
        let piece = (!pieces.is_empty()).then_some(pieces.start)?;
        let word = self.alignment.word_of(piece);
        let near = piece.saturating_sub(4).max(word.start)..word.end.min(piece + 4);
        let units = self.alignment.pieces[near].iter().filter_map(|piece| piece.units);
        let ranges = units.map(|(first, _)| self.alignment.units[first].range.clone());
        ranges.into_iter().find(|range| taken.is_free(range))
    }

    fn same_text(&self, source: &Range<usize>, taken: &Taken) -> Option<Range<usize>> {
        let target = &self.alignment.target;
        let text = self.block.text[source.clone()].trim();
        let expected = self.position(source.start, false);
        let low = floor(target, expected.saturating_sub(REACH)).max(self.window.start);
        let high = floor(target, expected.saturating_add(REACH)).min(self.window.end);
        let window = target.get(low..high)?;
        let starts = window.char_indices().map(|(at, _)| at);
        let found = starts.filter(|&at| window[at..].starts_with(text));
        let ranges = found.map(|at| low + at..low + at + text.len());
        let free = ranges.filter(|range| taken.is_free(range));
        free.min_by_key(|range| (range.start.abs_diff(expected), range.start < expected))
    }

    fn white_space(&self, source: &Range<usize>) -> Option<Range<usize>> {
        let at = self.position(source.start, false);
        let rest = self.alignment.target.get(at..self.window.end)?;
        let space = rest.len() - rest.trim_start().len();
        (space > 0).then(|| at..at + floor(rest, space.min(source.len())))
    }
}
