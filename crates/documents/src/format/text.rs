//! Plain text: every line is a paragraph, and so are lines joined by an ICU message. Tabs divide a
//! line into cells.

use std::sync::LazyLock;

use regex::Regex;

use super::blocks::Blocks;
use crate::block::Block;
use crate::builder::{Builder, Space};
use crate::escape::Escape;
use crate::message::{body, messages};
use crate::words::{Span, is_within, overlaps, regex};

/// Indentation, list marks and quotation marks.
static PREFIX: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^[\s\p{Cf}]*(?:(?:[-*+•‣◦–—]|#{1,6}|\d{1,3}[.)]|\p{L}\)|>+)\s+)*"));

pub(super) fn parse(text: &str) -> Vec<Block> {
    let mut blocks = Blocks::default();
    let mut start = 0;
    let all = messages(text);
    let mut messages = all.iter().peekable();
    while start < text.len() {
        let mut end = line_end(text, start);
        while let Some(message) = messages.next_if(|message| message.start < end) {
            end = if message.end > end {
                line_end(text, message.end - 1)
            } else {
                end
            };
        }
        let words = start
            + PREFIX
                .find(&text[start..end])
                .map_or(0, |prefix| prefix.end());
        let mut at = words;
        let tabs = text[words..end]
            .match_indices('\t')
            .map(|(tab, _)| words + tab + 1);
        for next in tabs.chain([end]).filter(|&next| !is_within(&all, next)) {
            blocks.add(paragraph(text, at..next, &all));
            at = next;
        }
        start = end;
    }
    blocks.all
}

/// Returns the end of the line that contains byte `at`.
fn line_end(text: &str, at: usize) -> usize {
    text[at..]
        .find(['\n', '\r'])
        .map_or(text.len(), |length| at + length + 1)
}

fn paragraph(text: &str, range: Span, all: &[Span]) -> Block {
    let slice = &text[range.clone()];
    let mut builder = Builder::new(Space::Keep);
    builder.text(slice);
    let block = if overlaps(all, &range) {
        body(slice, None)
    } else {
        builder.finish(Escape::Plain)
    };
    Block {
        source: range,
        ..block
    }
}
