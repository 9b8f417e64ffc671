//! Advanced SubStation Alpha. Dialogue text is translated; fields, styles, override tags and
//! drawings stay unchanged.

use std::sync::LazyLock;

use regex::Regex;

use super::blocks::Blocks;
use super::speech;
use super::srt::{dash, speeches};
use crate::block::{Block, Lines};
use crate::builder::{Builder, Space};
use crate::escape::Escape;
use crate::words::{Span, moved, regex};

/// Number of fields in a dialogue line without a `Format` line.
const DEFAULT_FIELDS: usize = 10;

/// Override tags, line breaks and hard spaces.
static TAG: LazyLock<Regex> = LazyLock::new(|| regex(r"\{[^{}]*\}|(?:\\h)+|\\[Nn](?:\s*\\[Nn])*"));
/// The group is a drawing's number.
static DRAWING: LazyLock<Regex> = LazyLock::new(|| regex(r"\\p(\d+)"));

/// Returns whether `line` is a dialogue or the beginning of a file.
pub(super) fn is_known(line: &str) -> bool {
    line.starts_with("Dialogue:") || line.trim() == "[Script Info]"
}

pub(super) fn parse(text: &str) -> Vec<Block> {
    let mut blocks = Blocks::default();
    let mut at = 0;
    let mut fields = DEFAULT_FIELDS;
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

/// Adds the text of a dialogue; it begins at `start`. Lines without words stay unchanged, and so do
/// the marks between speakers.
fn dialogue(text: &str, start: usize, blocks: &mut Blocks) {
    let newline = if text.contains("\\N") { "\\N" } else { "\\n" };
    let mut at = 0;
    let mut is_drawing = false;
    let mut lines = Vec::new();
    for end in text
        .match_indices(newline)
        .map(|(end, _)| end)
        .chain([text.len()])
    {
        let line = at..end;
        at = (end + newline.len()).min(text.len());
        let pieces = pieces(text, line.clone(), &mut is_drawing);
        let has_words = pieces
            .iter()
            .any(|(range, kind)| *kind == Piece::Text && !text[range.clone()].trim().is_empty());
        if has_words {
            lines.push((line, pieces));
        }
    }
    // Lines without words divide text.
    for mut lines in lines.chunk_by(|(one, _), (next, _)| &text[one.end..next.start] == newline) {
        let ranges: Vec<Span> = lines.iter().map(|(line, _)| line.clone()).collect();
        for speech in speeches(text, &ranges) {
            let (first, rest) = lines.split_at(speech.len());
            lines = rest;
            let whole = first[0].0.start..first[first.len() - 1].0.end;
            for part in speech::parts(&text[whole.clone()]) {
                let part = moved(&part, 0, whole.start);
                let lines: Vec<Line> = first.iter().filter_map(|it| cropped(it, &part)).collect();
                if !lines.is_empty() {
                    blocks.add(moved_block(block(text, &lines, newline), start));
                }
            }
        }
    }
}

/// The range of a line and its pieces.
type Line = (Span, Vec<(Span, Piece)>);

/// Returns the part of a line and its pieces within `range`; `None` if there is none.
fn cropped((line, pieces): &Line, range: &Span) -> Option<Line> {
    let crop = |it: &Span| it.start.max(range.start)..it.end.min(range.end);
    let pieces = pieces.iter().map(|(piece, kind)| (crop(piece), *kind));
    let pieces: Vec<(Span, Piece)> = pieces
        .filter(|(piece, _)| piece.start < piece.end)
        .collect();
    (!pieces.is_empty()).then(|| (crop(line), pieces))
}

/// Returns `block` for a part of the document that begins at `start`.
fn moved_block(block: Block, start: usize) -> Block {
    Block {
        source: moved(&block.source, 0, start),
        ..block
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    Text,
    /// A line break within a line, or a hard space.
    Break,
    /// An override or a drawing.
    Markup,
}

/// Returns the pieces of a line. `is_drawing` says whether a drawing begins before it, and then
/// whether one continues after it.
fn pieces(text: &str, line: Span, is_drawing: &mut bool) -> Vec<(Span, Piece)> {
    let mut all = Vec::new();
    let mut at = line.start;
    let tags = TAG.find_iter(&text[line.clone()]);
    let tags = tags.map(|tag| moved(&tag.range(), 0, line.start));
    for tag in tags.chain(std::iter::once(line.end..line.end)) {
        let shape = if *is_drawing {
            Piece::Markup
        } else {
            Piece::Text
        };
        all.push((at..tag.start, shape));
        at = tag.end;
        let raw = &text[tag.clone()];
        let last = DRAWING.captures_iter(raw).last();
        *is_drawing = last.map_or(*is_drawing, |drawing| &drawing[1] != "0");
        let is_break = ["\\N", "\\n", "\\h"].iter().any(|it| raw.starts_with(it));
        all.push((
            tag,
            if is_break {
                Piece::Break
            } else {
                Piece::Markup
            },
        ));
    }
    all.retain(|(range, _)| !range.is_empty());
    all
}

/// Returns the block of adjacent `lines`.
fn block(text: &str, lines: &[Line], newline: &str) -> Block {
    let mut builder = Builder::new(Space::Keep);
    let mut breaks = Vec::new();
    let mut dash = dash(&text[lines[0].0.clone()]) + lines[0].0.start;
    let mut at = lines[0].0.start;
    for (line, pieces) in lines {
        if at < line.start {
            breaks.push(builder.line_break());
        }
        at = line.end;
        for (range, piece) in pieces {
            let raw = &text[range.clone()];
            match piece {
                Piece::Text => {
                    let length = dash.saturating_sub(range.start).min(raw.len());
                    let (before, words) = raw.split_at(length);
                    if !before.is_empty() {
                        builder.point(before);
                    }
                    builder.text(words);
                }
                Piece::Break => builder.break_point(raw),
                Piece::Markup => builder.point(raw),
            }
        }
        dash = 0;
    }
    Block {
        source: lines[0].0.start..at,
        lines: Lines {
            breaks,
            newline: newline.into(),
        },
        ..builder.finish(Escape::Ass)
    }
}
