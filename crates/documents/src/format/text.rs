//! Plain text: every line is a paragraph; tabulators divide it into cells.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::Piece;
use crate::block::Block;
use crate::builder::{Builder, Space};
use crate::escape::Escape;
use crate::words::{has_letters, regex};

/// Indentation and marks of lists and quotations.
static PREFIX: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^[\s\p{Cf}]*(?:(?:[-*+•‣◦–—]|#{1,6}|\d{1,3}[.)]|\p{L}\)|>+)\s+)*"));

pub(super) fn parse(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive(['\n', '\r']) {
        let end = start + line.len();
        let words = start + PREFIX.find(line).map_or(0, |prefix| prefix.end());
        pieces.push(Piece::Verbatim(start..words));
        let mut at = words;
        for cell in text[words..end].split_inclusive('\t') {
            pieces.push(paragraph(text, at..at + cell.len()));
            at += cell.len();
        }
        start = end;
    }
    pieces
}

fn paragraph(text: &str, range: Range<usize>) -> Piece {
    let slice = &text[range.clone()];
    if !has_letters(slice) {
        return Piece::Verbatim(range);
    }
    let mut builder = Builder::new(Space::Keep);
    builder.text(slice);
    Piece::Block(Box::new(Block { source: range, ..builder.finish(Escape::Plain) }))
}
