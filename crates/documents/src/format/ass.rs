//! Advanced SubStation Alpha. Dialogue text is translated; fields, styles, override tags and
//! drawings stay unchanged.

use std::sync::LazyLock;

use regex::Regex;

use super::blocks::Blocks;
use crate::block::{Block, Lines};
use crate::builder::{Builder, Space};
use crate::escape::Escape;
use crate::words::{Span, regex};

/// Number of fields in a dialogue line without a `Format` line.
const FIELDS: usize = 10;

/// Override tags, line breaks and hard spaces; the group is a drawing's number.
static TAG: LazyLock<Regex> = LazyLock::new(|| regex(r"\{[^{}]*\}|\\h|\\[Nn](?:\s*\\[Nn])*"));
static DRAWING: LazyLock<Regex> = LazyLock::new(|| regex(r"\\p(\d+)"));

/// Returns whether `line` is a dialogue or the beginning of a file.
pub(super) fn is_known(line: &str) -> bool {
    line.starts_with("Dialogue:") || line.trim() == "[Script Info]"
}

pub(super) fn parse(text: &str) -> Vec<Block> {
    let mut blocks = Blocks::default();
    let mut at = 0;
    let mut fields = FIELDS;
    for line in text.split_inclusive('\n') {
        let start = at;
        let end = at + line.trim_end().len();
        at += line.len();
        let (kind, rest) = line.split_once(':').unwrap_or_default();
        let comma = rest.match_indices(',').nth(fields.saturating_sub(2));
        match (kind.trim(), comma) {
            ("Format", _) => fields = rest.split(',').count(),
            ("Dialogue", Some((comma, _))) => {
                let start = start + kind.len() + comma + 2;
                dialogue(text.get(start..end).unwrap_or_default(), start, &mut blocks);
            }
            _ => {}
        }
    }
    blocks.all
}

/// Adds the text of a dialogue; it begins at `start`.
fn dialogue(text: &str, start: usize, blocks: &mut Blocks) {
    let mut builder = Builder::new(Space::Keep);
    let mut breaks = Vec::new();
    let mut at = 0;
    let newline = if text.contains("\\N") { "\\N" } else { "\\n" };
    let mut is_drawing = false;
    let tags = TAG.find_iter(text).map(|tag| tag.range());
    for Span { start, end } in tags.chain(std::iter::once(text.len()..text.len())) {
        match &text[at..start] {
            "" => {}
            shape if is_drawing => builder.point(shape),
            words => builder.text(words),
        }
        at = end;
        match &text[start..end] {
            "" => {}
            tag if tag == newline && !is_drawing && start > 0 && end < text.len() => {
                breaks.push(builder.line_break());
            }
            // Empty lines, and line breaks at the ends.
            tag if tag.starts_with("\\N") || tag.starts_with("\\n") => builder.break_point(tag),
            tag => {
                builder.point(tag);
                let last = DRAWING.captures_iter(tag).last();
                is_drawing = last.map_or(is_drawing, |drawing| &drawing[1] != "0");
            }
        }
    }
    let lines = Lines {
        breaks,
        newline: newline.into(),
    };
    let source = start..start + text.len();
    blocks.add(Block {
        source,
        lines,
        ..builder.finish(Escape::Ass)
    });
}
