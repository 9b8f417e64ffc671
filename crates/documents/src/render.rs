//! From a block and the places of its markup to text.

use std::ops::Range;

use crate::align::Alignment;
use crate::block::{Block, Kind};
use crate::escape::Escape;
use crate::place::children;
use crate::words::is_unspaced;

/// The places of the parts of a block in its translation.
pub(crate) struct Layout {
    pub(crate) alignment: Alignment,
    /// For each node, its bytes.
    pub(crate) places: Vec<Range<usize>>,
    /// Atoms with their bytes; sorted.
    pub(crate) atoms: Vec<(usize, Range<usize>)>,
}

/// The translated block as it stands in the document. A line ends at each of `breaks`, which are sorted; a space there becomes the
/// line break.
pub(crate) fn render(block: &Block, layout: &Layout, escape: &Escape, breaks: &[usize]) -> String {
    let out = String::new();
    let mut writer = Writer {
        block,
        layout,
        escape,
        breaks,
        out,
        last: None,
        owes_space: false,
        has_space: false,
        is_verbatim: false,
    };
    let order = |all: &mut Vec<usize>| {
        all.sort_by_key(|&node| (layout.places[node].start, layout.places[node].end, node));
    };
    let (mut roots, mut below) = children(&block.nodes);
    order(&mut roots);
    below.iter_mut().for_each(order);
    let mut stack =
        vec![Frame { node: None, children: &roots, at: 0, end: layout.alignment.target.len() }];
    while let Some(frame) = stack.last_mut() {
        let Some((&child, rest)) = frame.children.split_first() else {
            let Frame { node, at, end, .. } = *frame;
            writer.text(at..end);
            stack.pop();
            writer.close(node);
            continue;
        };
        frame.children = rest;
        let Range { start, end } = layout.places[child];
        writer.text(frame.at..start);
        frame.at = end;
        if writer.open(child) {
            stack.push(Frame { node: Some(child), children: &below[child], at: start, end });
        }
    }
    writer.out
}

/// The places at which the translation is broken into the number of lines of the source: at spaces, between words that need none,
/// and never within one of `atoms`, which are sorted ranges of the translation.
pub(crate) fn breaks(
    block: &Block,
    alignment: &Alignment,
    atoms: &[(usize, Range<usize>)],
) -> Vec<usize> {
    let target = &alignment.target;
    let is_free = |at: &usize| {
        let next = atoms.partition_point(|(_, atom)| atom.end <= *at);
        atoms.get(next).is_none_or(|(_, atom)| *at <= atom.start)
    };
    if block.lines.breaks.is_empty() || *target == block.text {
        return block.lines.breaks.clone();
    }
    let spaces = target.match_indices(' ').map(|(at, _)| at);
    let between = alignment.units.iter().filter(|unit| unit.is_word).map(|unit| unit.range.start);
    let between = between.filter(|&at| target[..at].ends_with(is_unspaced));
    let mut places: Vec<usize> =
        spaces.chain(between).filter(|&at| at > 0).filter(is_free).collect();
    places.sort_unstable();
    let ideals = block.lines.breaks.iter().map(|at| at * target.len() / block.text.len().max(1));
    nearest(&places, ideals)
}

/// For each of `ideals` the nearest of `places` after those that are taken; both are sorted.
fn nearest(places: &[usize], ideals: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut chosen: Vec<usize> = Vec::new();
    let mut left = places;
    for ideal in ideals {
        let next = left.partition_point(|&at| at < ideal);
        let near = next.saturating_sub(1)..left.len().min(next + 1);
        let Some(best) = near.min_by_key(|&place| left[place].abs_diff(ideal)) else {
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
    /// Children that are left.
    children: &'a [usize],
    at: usize,
    end: usize,
}

struct Writer<'a> {
    block: &'a Block,
    layout: &'a Layout,
    escape: &'a Escape,
    breaks: &'a [usize],
    out: String,
    /// The last character of the text, without markup.
    last: Option<char>,
    /// Whether white space must follow the last point.
    owes_space: bool,
    /// Whether the last point replaces the space that follows.
    has_space: bool,
    /// Whether an atom is written.
    is_verbatim: bool,
}

impl Writer<'_> {
    /// Writes the beginning of a node; returns whether it has an end.
    fn open(&mut self, node: usize) -> bool {
        let at = self.block.nodes[node].range.start;
        match &self.block.nodes[node].kind {
            Kind::Element { open, .. } => {
                self.pay_space(None);
                self.out.push_str(open);
                true
            }
            Kind::Point { raw, space_after, is_space } => {
                self.point(raw, at, *space_after);
                self.has_space |= *is_space;
                false
            }
            Kind::Atom { raw } if self.layout.places[node].is_empty() => {
                let end = self.block.nodes[node].range.end;
                self.point(raw, at, self.block.text[end..].starts_with(char::is_whitespace));
                false
            }
            Kind::Atom { raw } => {
                self.pay_space(None);
                self.out.push_str(raw);
                self.last = raw.chars().next_back();
                false
            }
        }
    }

    /// Writes `raw`, which stood at `at` in the source, with the white space that it had around it.
    fn point(&mut self, raw: &str, at: usize, space_after: bool) {
        self.pay_space(None);
        let space_before = !self.has_space && self.block.text[..at].ends_with(char::is_whitespace);
        if space_before && self.last.is_some_and(|c| !c.is_whitespace()) {
            self.push(' ');
        }
        self.out.push_str(raw);
        self.owes_space |= space_after;
    }

    fn close(&mut self, node: Option<usize>) {
        let Some(node) = node else {
            return;
        };
        let Kind::Element { close, close_if_changed, .. } = &self.block.nodes[node].kind else {
            return;
        };
        let before = &self.block.text[self.block.nodes[node].range.clone()];
        let after = &self.layout.alignment.target[self.layout.places[node].clone()];
        let changed = close_if_changed.as_ref().filter(|_| before != after);
        self.out.push_str(changed.unwrap_or(close));
    }

    /// Writes `range` of the translation, without the atoms that have nodes.
    fn text(&mut self, range: Range<usize>) {
        let atoms = &self.layout.atoms;
        let first = atoms.partition_point(|(_, place)| place.start < range.start);
        let mut at = range.start;
        for (atom, place) in &atoms[first..] {
            if place.end > range.end {
                break;
            }
            self.characters(at..place.start);
            at = place.end;
            if self.block.atoms[*atom].node.is_none() {
                self.is_verbatim = true;
                self.characters(place.clone());
                self.is_verbatim = false;
            } else if self.last.is_none_or(char::is_whitespace) {
                let rest = &self.layout.alignment.target[at..range.end];
                at = range.end - rest.trim_start().len();
            }
        }
        self.characters(at..range.end);
    }

    fn characters(&mut self, range: Range<usize>) {
        let target = &self.layout.alignment.target;
        let mut at_start_of_line = false;
        for (offset, c) in target[range.clone()].char_indices() {
            let at = range.start + offset;
            if self.breaks.binary_search(&at).is_ok() {
                // Two spaces at the end of a line mean something in Markdown.
                self.out.truncate(self.out.trim_end_matches(' ').len());
                self.out.push_str(&self.block.lines.newline);
                self.last = Some('\n');
                self.owes_space = false;
                at_start_of_line = true;
            }
            // A line does not begin with a space: after one, a `#` would not be recognised as the first character.
            if (at_start_of_line || std::mem::take(&mut self.has_space)) && c == ' ' {
                continue;
            }
            at_start_of_line = false;
            self.pay_space(Some(c));
            let after = target[at + c.len_utf8()..].chars().next();
            match self.is_verbatim && self.escape.keeps_atoms(c) {
                true => self.out.push(c),
                false => self.escape.write(&mut self.out, self.last, c, after),
            }
            self.last = Some(c);
        }
    }

    /// Writes the white space that is owed, unless text follows whose first character `next` needs none before it.
    fn pay_space(&mut self, next: Option<char>) {
        let owed = std::mem::take(&mut self.owes_space);
        if owed && next.is_none_or(char::is_alphanumeric) {
            self.push(' ');
        }
    }

    fn push(&mut self, c: char) {
        self.out.push(c);
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
        assert_eq!(nearest(&[], [2, 4].into_iter()), []);
        assert_eq!(nearest(&[1], [1, 2, 3].into_iter()), [1]);
    }
}
