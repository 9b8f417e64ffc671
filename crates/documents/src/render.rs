//! Renders a block and its markup as text.

use crate::alignment::Alignment;
use crate::block::{Atom, Block, Kind};
use crate::escape::Escape;
use crate::projection::children;
use crate::words::{Mark, Span, is_unspaced, is_within, mark};

/// The positions of markup and atoms in a block's translation.
pub(crate) struct Layout {
    pub(crate) alignment: Alignment,
    /// By node, its byte range in the translation.
    pub(crate) spans: Vec<Span>,
    /// Atoms with their byte ranges, sorted.
    pub(crate) atoms: Vec<(usize, Span)>,
}

/// A rendered block.
#[derive(Default)]
pub(crate) struct Markup {
    pub(crate) text: String,
    /// Markup and text without white space, for comparing blocks.
    pub(crate) outline: String,
}

/// Renders the translated block for its document. A line ends at each of the sorted `breaks`; a
/// space there becomes the line break.
pub(crate) fn render(block: &Block, layout: &Layout, escape: &Escape, breaks: &[usize]) -> Markup {
    let mut writer = Writer {
        block,
        layout,
        escape,
        breaks,
        out: Markup::default(),
        line: 0,
        pending_newline: false,
        last: None,
        pending_space: false,
        has_space: false,
    };
    let (mut roots, mut below) = children(&block.nodes);
    for siblings in below.iter_mut().chain([&mut roots]) {
        siblings.sort_by_key(|&node| (layout.spans[node].start, layout.spans[node].end, node));
    }
    let mut stack = vec![Frame {
        node: None,
        children: &roots,
        at: 0,
        end: layout.alignment.target.len(),
        text: 0,
    }];
    while let Some(frame) = stack.last_mut() {
        let Some((&child, rest)) = frame.children.split_first() else {
            let Frame {
                node,
                at,
                end,
                text,
                ..
            } = *frame;
            writer.text(at..end);
            stack.pop();
            writer.close(node, text);
            continue;
        };
        frame.children = rest;
        let Span { start, end } = layout.spans[child];
        writer.text(frame.at..start);
        frame.at = end;
        if writer.open(child) {
            let text = writer.out.text.len();
            stack.push(Frame {
                node: Some(child),
                children: &below[child],
                at: start,
                end,
                text,
            });
        }
    }
    writer.out
}

/// Returns the offsets that split the translation into as many lines as the source. Lines break at
/// spaces, or between words in scripts without spaces, and never within the sorted `atoms`.
pub(crate) fn breaks(block: &Block, alignment: &Alignment, atoms: &[(usize, Span)]) -> Vec<usize> {
    let target = &alignment.target;
    if block.lines.breaks.is_empty() || *target == block.text {
        return block.lines.breaks.clone();
    }
    let atoms: Vec<Span> = atoms.iter().map(|(_, span)| span.clone()).collect();
    let spaces = target.match_indices(' ').map(|(at, _)| at);
    let between = alignment
        .units
        .iter()
        .filter(|unit| unit.is_word)
        .map(|unit| unit.range.start);
    let between = between.filter(|&at| target[..at].ends_with(is_unspaced));
    let mut candidates: Vec<usize> = spaces
        .chain(between)
        .filter(|&at| at > 0 && !is_within(&atoms, at))
        .collect();
    candidates.sort_unstable();
    let ideals = block
        .lines
        .breaks
        .iter()
        .map(|at| at * target.len() / block.text.len().max(1));
    nearest(&candidates, ideals)
}

/// Picks, for each of `ideals`, the nearest candidate after the previous pick. Both are sorted.
fn nearest(candidates: &[usize], ideals: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut chosen: Vec<usize> = Vec::new();
    let mut left = candidates;
    for ideal in ideals {
        let next = left.partition_point(|&at| at < ideal);
        let near = next.saturating_sub(1)..left.len().min(next + 1);
        let Some(best) = near.min_by_key(|&index| left[index].abs_diff(ideal)) else {
            break;
        };
        chosen.push(left[best]);
        left = &left[best + 1..];
    }
    chosen
}

/// An element that is being written.
struct Frame<'a> {
    node: Option<usize>,
    /// The remaining children.
    children: &'a [usize],
    at: usize,
    end: usize,
    /// The offset where its text begins.
    text: usize,
}

struct Writer<'a> {
    block: &'a Block,
    layout: &'a Layout,
    escape: &'a Escape,
    breaks: &'a [usize],
    out: Markup,
    /// The offset where the line begins.
    line: usize,
    /// If true, a line break must precede the next text.
    pending_newline: bool,
    /// The last character of the text, without markup.
    last: Option<char>,
    /// If true, white space must follow the last point.
    pending_space: bool,
    /// If true, the last point replaces the space that follows.
    has_space: bool,
}

impl Writer<'_> {
    /// Writes the beginning of a node, and returns whether it has an end.
    fn open(&mut self, node: usize) -> bool {
        let at = self.block.nodes[node].range.start;
        match &self.block.nodes[node].kind {
            Kind::Element { open, .. } => {
                self.flush_space(None);
                self.flush_newline();
                self.markup(open, "<");
                true
            }
            Kind::Point {
                raw,
                space_after,
                is_space,
            } => {
                self.point(raw, at, *space_after);
                self.has_space |= *is_space;
                if raw.contains('\n') {
                    self.last = Some('\n');
                }
                false
            }
            Kind::Atom { raw } if self.layout.spans[node].is_empty() => {
                let end = self.block.nodes[node].range.end;
                self.point(
                    raw,
                    at,
                    self.block.text[end..].starts_with(char::is_whitespace),
                );
                false
            }
            Kind::Atom { raw } => {
                self.flush_space(None);
                self.flush_newline();
                // Two adjacent code spans or formulas would merge.
                if raw.starts_with(['`', '$']) && self.out.text.ends_with(&raw[..1]) {
                    self.push(' ');
                }
                self.markup(raw, "");
                self.last = raw.chars().next_back();
                false
            }
        }
    }

    /// Writes `raw`, found at `at` in the source, with the white space that was around it.
    fn point(&mut self, raw: &str, at: usize, space_after: bool) {
        self.flush_space(None);
        let space_before = !self.has_space && self.block.text[..at].ends_with(char::is_whitespace);
        if space_before && self.last.is_some_and(|c| !c.is_whitespace()) {
            self.push(' ');
        }
        self.flush_newline();
        self.markup(raw, "");
        self.pending_space |= space_after;
    }

    /// Writes the end of a node. `text` is the offset in the output where its text begins.
    fn close(&mut self, node: Option<usize>, text: usize) {
        if let Some(Kind::Element { close, label, .. }) =
            node.map(|node| &self.block.nodes[node].kind)
        {
            let label = label
                .as_ref()
                .filter(|label| self.out.text[text..] != ***label);
            match label {
                Some(label) => self.markup(&format!("][{label}]"), ">"),
                None => self.markup(close, ">"),
            }
        }
    }

    /// Writes `raw`. `kind` distinguishes start and end, which can be the same characters.
    fn markup(&mut self, raw: &str, kind: &str) {
        self.out.text.push_str(raw);
        // Some line breaks contain white space or are nothing else.
        let name = Some(raw.trim())
            .filter(|name| !name.is_empty())
            .unwrap_or(raw);
        if !name.is_empty() {
            self.out.outline.extend(["\0", kind, name, "\0"]);
        }
    }

    /// Writes the pending line break, unless the line is empty, which would end the paragraph.
    fn flush_newline(&mut self) {
        if std::mem::take(&mut self.pending_newline)
            && !self.out.text[self.line..].trim().is_empty()
        {
            // In Markdown, two spaces at the end of a line are a line break.
            self.out
                .text
                .truncate(self.out.text.trim_end_matches(' ').len());
            self.out.text.push_str(&self.block.lines.newline);
            self.line = self.out.text.len();
            self.last = Some('\n');
        }
    }

    /// Writes `range` of the translation, without atoms that have nodes.
    fn text(&mut self, range: Span) {
        let atoms = &self.layout.atoms;
        let first = atoms.partition_point(|(_, span)| span.start < range.start);
        let mut at = range.start;
        for (atom, span) in &atoms[first..] {
            if span.end > range.end {
                break;
            }
            self.characters(at..span.start, false);
            at = span.end;
            let Atom { node, written, .. } = &self.block.atoms[*atom];
            if let Some(written) = written {
                self.message(written);
            } else if node.is_none() {
                self.characters(span.clone(), true);
            } else if self.last.is_none_or(char::is_whitespace) {
                let rest = &self.layout.alignment.target[at..range.end];
                at = range.end - rest.trim_start().len();
            }
        }
        self.characters(at..range.end, false);
    }

    /// Writes an ICU message with its translated arms.
    fn message(&mut self, text: &str) {
        self.flush_newline();
        let mut rest = text.chars();
        while let Some(c) = rest.next() {
            self.flush_space(Some(c));
            self.character(c, rest.clone().next(), true);
        }
    }

    /// Writes `c` escaped for the format.
    fn character(&mut self, c: char, after: Option<char>, is_verbatim: bool) {
        if is_verbatim && self.escape.keeps_atoms(c) {
            self.out.text.push(c)
        } else {
            self.escape.write(&mut self.out.text, self.last, c, after)
        }
        self.out
            .outline
            .extend(Some(c).filter(|c| !c.is_whitespace()));
        self.last = Some(c);
    }

    /// Writes `range` of the translation. `is_verbatim` is set for atoms.
    fn characters(&mut self, range: Span, is_verbatim: bool) {
        let target = &self.layout.alignment.target;
        let mut at_start_of_line = false;
        for (offset, c) in target[range.clone()].char_indices() {
            let at = range.start + offset;
            if self.breaks.binary_search(&at).is_ok() {
                self.pending_newline = true;
                self.pending_space = false;
                at_start_of_line = true;
            }
            // A line must not begin with a space: a `#` after it would not be recognised as the
            // first character.
            if (at_start_of_line || std::mem::take(&mut self.has_space)) && c == ' ' {
                continue;
            }
            at_start_of_line = false;
            self.flush_newline();
            self.flush_space(Some(c));
            // In Markdown, a character before markup can escape it.
            let end = if matches!(self.escape, Escape::Markdown(_)) {
                range.end
            } else {
                target.len()
            };
            self.character(
                c,
                target[at + c.len_utf8()..end].chars().next(),
                is_verbatim,
            );
        }
    }

    /// Writes the pending white space, unless `next`, the first character after it, needs none.
    fn flush_space(&mut self, next: Option<char>) {
        let is_pending = std::mem::take(&mut self.pending_space);
        let touches = next.is_some_and(|c| {
            c.is_whitespace() || matches!(mark(c), Mark::Close | Mark::Terminal | Mark::Separator)
        });
        if is_pending && !touches {
            self.push(' ');
        }
    }

    fn push(&mut self, c: char) {
        self.out.text.push(c);
        self.last = Some(c);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_near_where_they_ended() {
        assert_eq!(nearest(&[3, 7, 13, 18, 23], [13].into_iter()), [13]);
        assert_eq!(nearest(&[3, 7, 13, 18, 23], [9, 10].into_iter()), [7, 13]);
        assert!(nearest(&[], [2, 4].into_iter()).is_empty());
        assert_eq!(nearest(&[1], [1, 2, 3].into_iter()), [1]);
    }
}
