//! Elements without a run of aligned words, elements without text, and points.

use super::{Family, Used};
use crate::alignment::Spaces;
use crate::block::Kind;
use crate::words::{Span, has_words};

/// Maximum distance, in bytes, between a mark and its expected position.
const MAX_DISTANCE: usize = 256;

impl Family<'_> {
    /// Gives a span to an element without a run: a word that it shares with others, the same
    /// punctuation, or white space.
    pub(super) fn take_unaligned(&self, child: usize, used: &mut Used) {
        let source = &self.block.nodes[child].range;
        let text = &self.block.text[source.clone()];
        let range = if has_words(text) {
            self.shared_word(source, used)
        } else if text.trim().is_empty() {
            self.white_space(source)
        } else {
            self.same_text(source, used)
        };
        let inside = |it: &Span| self.window.start <= it.start && it.end <= self.window.end;
        if let Some(range) = range.filter(|range| inside(range) && used.is_free(range)) {
            let before = used.parts.range(..range.start).next_back();
            let low = before.map_or(self.window.start, |(_, &(end, _))| end);
            let after = used.parts.range(range.end..).next();
            let high = after.map_or(self.window.end, |(&start, _)| start);
            self.take(self.with_space(range, child, low..high), child, used);
        }
    }

    fn shared_word(&self, source: &Span, used: &Used) -> Option<Span> {
        let pieces = self.alignment.pieces_in(source);
        let piece = (!pieces.is_empty()).then_some(pieces.start)?;
        let word = self.alignment.word_of(piece);
        let near = piece.saturating_sub(4).max(word.start)..word.end.min(piece + 4);
        let units = self.alignment.pieces[near]
            .iter()
            .filter_map(|piece| piece.units);
        let ranges = units.map(|(first, _)| self.alignment.units[first].range.clone());
        ranges.into_iter().find(|range| used.is_free(range))
    }

    fn same_text(&self, source: &Span, used: &Used) -> Option<Span> {
        let target = &self.alignment.target;
        let text = self.block.text[source.clone()].trim();
        let expected = self.position(source.start, false);
        let low = target
            .floor_char_boundary(expected.saturating_sub(MAX_DISTANCE))
            .max(self.window.start);
        let high = target
            .floor_char_boundary(expected.saturating_add(MAX_DISTANCE))
            .min(self.window.end);
        let window = target.get(low..high)?;
        let starts = window.char_indices().map(|(at, _)| at);
        let found = starts.filter(|&at| window[at..].starts_with(text));
        let ranges = found.map(|at| low + at..low + at + text.len());
        let free = ranges.filter(|range| used.is_free(range));
        free.min_by_key(|range| (range.start.abs_diff(expected), range.start < expected))
    }

    fn white_space(&self, source: &Span) -> Option<Span> {
        let at = self.position(source.start, false);
        let rest = self.alignment.target.get(at..self.window.end)?;
        let space = rest.len() - rest.trim_start().len();
        (space > 0).then(|| at..at + rest.floor_char_boundary(space.min(source.len())))
    }

    /// Returns the offset in the translation that corresponds to `at` in the source. If
    /// `space_after` is set, the source has white space there that the text lacks.
    pub(super) fn position(&self, at: usize, space_after: bool) -> usize {
        let text = &self.block.text;
        let spaces = Spaces {
            before: text[..at].ends_with(char::is_whitespace),
            after: space_after || text[at..].starts_with(char::is_whitespace),
        };
        let position = self.alignment.position(text, at, spaces);
        position.clamp(self.window.start, self.window.end)
    }

    /// Returns the offset of a point or an element without text. It is never inside another
    /// element's part.
    pub(super) fn empty_position(&self, child: usize, used: &Used) -> usize {
        let node = &self.block.nodes[child];
        let space_after = matches!(
            node.kind,
            Kind::Point {
                space_after: true,
                ..
            }
        );
        let mut at = self.position(node.range.start, space_after);
        // Between sentences, white space is copied from the source.
        if self.alignment.is_in_sentence(node.range.start) {
            at += self.white_space_before(node.range.start, space_after, at);
        }
        match used.parts.range(..at).next_back() {
            Some((&start, &(end, other))) if at < end && child < other => start,
            Some((_, &(end, _))) if at < end => end,
            _ => at,
        }
    }

    /// Returns the length of the white space at `at` in the translation that precedes the element,
    /// which is at `source`. If `space_after` is set, the source has white space after it that the
    /// text lacks.
    fn white_space_before(&self, source: usize, space_after: bool, at: usize) -> usize {
        let (before, after) = self.block.text.split_at(source);
        let before = before.len() - before.trim_end().len();
        let after = after.len() - after.trim_start().len();
        let target = &self.alignment.target[at..self.window.end];
        let rest = target.trim_start();
        let space = target.len() - rest.len();
        if before > 0 && after > 0 && space >= before + after {
            target.floor_char_boundary(before)
        } else if space_after || before > 0 && !rest.starts_with(char::is_alphanumeric) {
            // After white space, unless the element would then touch the next word.
            space
        } else {
            0
        }
    }
}
