//! Points, and elements without text.

use super::Family;
use super::taken::Taken;
use crate::block::Kind;
use crate::words::floor;

impl Family<'_> {
    /// The place in the translation that corresponds to `at` in the source. With `space_after`,
    /// white space follows there that the text does not have.
    pub(super) fn position(&self, at: usize, space_after: bool) -> usize {
        let text = &self.block.text;
        let before = text[..at].ends_with(char::is_whitespace);
        let after = space_after || text[at..].starts_with(char::is_whitespace);
        let position = self.alignment.position(text, at, (before, after));
        position.clamp(self.window.start, self.window.end)
    }

    /// The place of a point, or of an element without text. It is not within the part of another
    /// element.
    pub(super) fn empty_place(&self, child: usize, taken: &Taken) -> usize {
        let node = &self.block.nodes[child];
        let space_after = matches!(node.kind, Kind::Point { space_after: true, .. });
        let mut at = self.position(node.range.start, space_after);
        // Between sentences, white space is the same as in the source.
        if self.alignment.is_in_sentence(node.range.start) {
            at += self.white_space_before(node.range.start, space_after, at);
        }
        match taken.parts.range(..at).next_back() {
            Some((&start, &(end, other))) if at < end => {
                if child < other {
                    start
                } else {
                    end
                }
            }
            _ => at,
        }
    }

    /// The length of the white space at `at` in the translation that goes before the element at
    /// `source`. With `space_after`, white space followed it that the text does not have.
    fn white_space_before(&self, source: usize, space_after: bool, at: usize) -> usize {
        let (before, after) = self.block.text.split_at(source);
        let before = before.len() - before.trim_end().len();
        let after = after.len() - after.trim_start().len();
        let target = &self.alignment.target[at..self.window.end];
        let rest = target.trim_start();
        let space = target.len() - rest.len();
        if before > 0 && after > 0 && space >= before + after {
            floor(target, before)
        } else if space_after || before > 0 && !rest.starts_with(char::is_alphanumeric) {
            // Behind white space, unless that would put it against the next word.
            space
        } else {
            0
        }
    }
}
