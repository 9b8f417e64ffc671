//! Plain text: every line is a paragraph, and so are lines joined by an ICU message. Tabs divide a
//! line into cells.

use std::sync::LazyLock;

use regex::Regex;

use super::blocks::Blocks;
use crate::block::{Block, Lines};
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

/// Returns the paragraphs of a text in which a line break is a space. They end at empty lines.
pub(super) fn paragraphs(text: &str) -> Vec<Block> {
    let mut blocks = Blocks::default();
    let mut start = 0;
    while start < text.len() {
        let mut end = start;
        while end < text.len() {
            let line = end..line_end(text, end);
            if text[line.clone()].trim().is_empty() {
                break;
            }
            end = line.end;
        }
        if start < end {
            blocks.add(joined_lines(text, start..end));
        }
        start = line_end(text, end).min(text.len());
    }
    blocks.all
}

/// Returns the lines of `range` as one block.
fn joined_lines(text: &str, range: Span) -> Block {
    let mut builder = Builder::new(Space::Keep);
    let mut breaks = Vec::new();
    let inside = text[range.clone()].trim_end();
    let newline = if inside.contains("\r\n") {
        "\r\n"
    } else {
        "\n"
    };
    let start = range.start + inside.len() - inside.trim_start().len();
    for (number, line) in inside.trim_start().lines().enumerate() {
        if number > 0 {
            breaks.push(builder.line_break());
        }
        builder.text(line.trim());
    }
    let lines = Lines {
        breaks,
        newline: newline.into(),
    };
    Block {
        source: start..range.start + inside.len(),
        lines,
        ..builder.finish(Escape::Plain)
    }
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
