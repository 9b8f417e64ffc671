//! Builds a [`Block`] from the pieces of a document in their order.

use std::collections::HashMap;
use std::mem::take;

use burnformer_text::{Grammar, PartKind};
use burnformer_text::{is_invisible, visible_but};

use crate::block::{Atom, Block, Kind, Lines, Node};
use crate::escape::{Escape, is_noncharacter};
use crate::words::single_spaced;

/// Okapi writes this before the escape of a character that XML cannot contain.
const ESCAPE: char = '\u{fff0}';

/// Maximum number of bytes in the tags of an element without text.
const MAX_EMPTY: usize = 1000;

/// How runs of white space are treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Space {
    #[default]
    Keep,
    /// Each run becomes one space; runs at the ends of the block are dropped.
    Collapse,
}

/// Collects text and markup. Tags without a partner and tags that cross others become points.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    text: String,
    space: Space,
    /// If true, the text contains more than white space.
    begun: bool,
    /// White space not yet added to the text.
    pending: String,
    nodes: Vec<Node>,
    atoms: Vec<Atom>,
    open: Vec<(String, usize)>,
    open_by_name: HashMap<String, usize>,
}

impl Builder {
    pub(crate) fn new(space: Space) -> Self {
        Self {
            space,
            ..Self::default()
        }
    }

    pub(crate) fn text(&mut self, text: &str) {
        // A reference to a joiner may stand alone: its neighbours are not known here.
        let is_alone = text.chars().all(is_invisible);
        let text = visible_but(text, |c: char| is_alone || c.is_control() || c == ESCAPE)
            .replace(is_noncharacter, "");
        if self.space == Space::Keep {
            self.begun |= !text.trim().is_empty();
            self.text.push_str(&text);
            return;
        }
        for c in text.chars() {
            if !c.is_ascii_whitespace() {
                self.flush_space();
                self.begun = true;
                self.text.push(c);
            } else if let Some(raw) = self.last_break() {
                raw.push(c);
            } else {
                self.pending.push(c);
            }
        }
    }

    /// Adds one space for a line break and returns its offset. Preceding white space does not
    /// matter.
    pub(crate) fn line_break(&mut self) -> usize {
        self.flush_space();
        self.text.push(' ');
        self.text.len() - 1
    }

    /// Adds `raw`, a line break within a sentence, with the white space around it. The model sees
    /// one space.
    pub(crate) fn break_point(&mut self, raw: &str) {
        if raw.trim().is_empty()
            && let Some(last) = self.last_break()
        {
            return last.push_str(raw);
        }
        if !self.begun || self.text.ends_with(|c: char| c.is_ascii_whitespace()) {
            return self.point(raw);
        }
        let raw = take(&mut self.pending) + raw;
        self.node(Kind::Point {
            raw,
            space_after: false,
            is_space: true,
        });
        self.text.push(' ');
    }

    /// Returns the last line break if nothing was added after it.
    fn last_break(&mut self) -> Option<&mut String> {
        let end = self.text.len();
        let last = self
            .nodes
            .last_mut()
            .filter(|node| node.range.end + 1 == end);
        match &mut last.filter(|_| self.pending.is_empty())?.kind {
            Kind::Point {
                raw,
                is_space: true,
                ..
            } => Some(raw),
            _ => None,
        }
    }

    /// Adds `text` that must stay unchanged; the document writes it as `raw`.
    pub(crate) fn atom(&mut self, text: &str, raw: &str) {
        // Sentences contain no line breaks and no white space at their ends.
        let text = single_spaced(text);
        if text.is_empty() {
            return self.point(raw);
        }
        let index = self.node(Kind::Atom { raw: raw.into() });
        self.text.push_str(&text);
        self.begun = true;
        let node = &mut self.nodes[index];
        node.range.end = self.text.len();
        let range = node.range.clone();
        let node = Some(index);
        self.atoms.push(Atom::new(range, node, PartKind::Verbatim));
    }

    pub(crate) fn point(&mut self, raw: &str) {
        self.node(Kind::Point {
            raw: raw.into(),
            space_after: false,
            is_space: false,
        });
    }

    pub(crate) fn open(&mut self, name: &str, raw: &str) {
        let element = Kind::Element {
            open: raw.into(),
            close: String::new(),
            label: None,
        };
        let index = self.node(element);
        self.open.push((name.into(), index));
        *self.open_by_name.entry(name.into()).or_default() += 1;
    }

    /// Ends the last open element of this name. `label` is set for links.
    pub(crate) fn close(&mut self, name: &str, raw: &str, label: Option<String>) {
        if self.open_by_name.get(name).is_none_or(|&count| count == 0) {
            return self.point(raw);
        }
        self.flush_space();
        while let Some((found, index)) = self.pop() {
            if found == name {
                if label.is_none() && self.is_empty(index) {
                    return self.join(index, raw);
                }
                let node = &mut self.nodes[index];
                node.range.end = self.text.len();
                if let Kind::Element { open, .. } = &mut node.kind {
                    node.kind = Kind::Element {
                        open: take(open),
                        close: raw.into(),
                        label,
                    };
                }
                return;
            }
            self.demote(index);
        }
    }

    /// Returns whether the element `index` has no text and few tags.
    fn is_empty(&self, index: usize) -> bool {
        let mut left = MAX_EMPTY;
        self.nodes[index].range.start == self.text.len()
            && self.nodes[index..].iter().all(|node: &Node| {
                let (Kind::Point { raw, .. }
                | Kind::Element { open: raw, .. }
                | Kind::Atom { raw }) = &node.kind;
                let is_small = raw.len() <= left;
                left = left.saturating_sub(raw.len());
                is_small
            })
    }

    /// Makes one point of the element `index`, which has no text, and its end tag. Its spaces are
    /// then treated as around a picture.
    fn join(&mut self, index: usize, end_tag: &str) {
        let space_after = self.nodes[index + 1..]
            .iter()
            .any(|node| matches!(node.kind, Kind::Point { space_after, .. } if space_after));
        let raws = self.nodes.drain(index..).map(|node: Node| match node.kind {
            Kind::Point { raw, .. } | Kind::Atom { raw } => raw,
            Kind::Element { open, close, .. } => open + &close,
        });
        let raw = raws.collect::<String>() + end_tag;
        self.node(Kind::Point {
            raw,
            space_after,
            is_space: false,
        });
    }

    /// Returns whether the text contains more than white space.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun
    }

    /// Returns whether any element is open.
    pub(crate) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    fn pop(&mut self) -> Option<(String, usize)> {
        let (name, index) = self.open.pop()?;
        *self.open_by_name.entry(name.clone()).or_default() -= 1;
        Some((name, index))
    }

    /// Turns the unclosed element `index` into a point.
    fn demote(&mut self, index: usize) {
        let node = &mut self.nodes[index];
        node.range.end = node.range.start;
        if let Kind::Element { open, .. } = &mut node.kind {
            node.kind = Kind::Point {
                raw: take(open),
                space_after: false,
                is_space: false,
            };
        }
    }

    fn node(&mut self, kind: Kind) -> usize {
        self.flush_space();
        let parent = self.open.last().map(|&(_, index)| index);
        self.nodes.push(Node {
            range: self.text.len()..self.text.len(),
            parent,
            kind,
        });
        self.nodes.len() - 1
    }

    fn flush_space(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        if !self.begun && (self.nodes.is_empty() || self.text.is_empty()) {
            self.text.push_str(&take(&mut self.pending));
            return;
        }
        self.pending.clear();
        if !self.text.ends_with(|c: char| c.is_ascii_whitespace()) {
            return self.text.push(' ');
        }
        let end = self.text.len();
        if let Some(Node {
            range,
            kind: Kind::Point { space_after, .. },
            ..
        }) = self.nodes.last_mut()
            && range.end == end
        {
            *space_after = true;
        }
    }

    /// Returns the block, not yet split into sentences.
    pub(crate) fn finish(mut self, escape: Escape) -> Block {
        self.text.push_str(&take(&mut self.pending));
        // Unclosed elements extend at least to the end of the block.
        while let Some((_, index)) = self.pop() {
            self.nodes[index].range.end = self.text.len();
        }
        for index in 0..self.nodes.len() {
            // Parents come before their children, so the parent's own parent is final.
            if let Some(parent) = self.nodes[index].parent
                && matches!(self.nodes[parent].kind, Kind::Point { .. })
            {
                self.nodes[index].parent = self.nodes[parent].parent;
            }
        }
        let Self {
            text, nodes, atoms, ..
        } = self;
        let segments = Vec::new();
        let lines = Lines::default();
        Block {
            source: 0..0,
            text,
            nodes,
            atoms,
            segments,
            escape,
            lines,
            grammar: Grammar::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(block: &Block) -> Vec<&str> {
        let raw = |node: &Node| match &node.kind {
            Kind::Point { raw, .. } => Some(raw.clone()),
            _ => None,
        };
        block
            .nodes
            .iter()
            .filter_map(raw)
            .map(|raw| &*raw.leak())
            .collect()
    }

    #[test]
    fn crossing_tags_become_points() {
        let mut builder = Builder::new(Space::Collapse);
        builder.open("b", "<b>");
        builder.text("x");
        builder.open("i", "<i>");
        builder.text("y");
        builder.close("b", "</b>", None);
        builder.text("z");
        builder.close("i", "</i>", None);
        let block = builder.finish(Escape::Plain);
        assert_eq!(points(&block), ["<i>", "</i>"]);
        assert_eq!(block.nodes[0].range, 0..2);
        assert_eq!(block.nodes[1].parent, Some(0));
    }

    #[test]
    fn the_parent_of_a_demoted_parent_is_the_parent() {
        let mut builder = Builder::new(Space::Collapse);
        builder.open("b", "<b>");
        builder.open("i", "<i>");
        builder.open("u", "<u>");
        builder.text("x");
        builder.close("u", "</u>", None);
        builder.close("b", "</b>", None);
        let block = builder.finish(Escape::Plain);
        assert_eq!(block.nodes[2].parent, Some(0));
    }

    #[test]
    fn white_space_collapses_inside_and_stays_at_the_ends() {
        let mut builder = Builder::new(Space::Collapse);
        builder.text("\n  a \n b");
        builder.text(" \n");
        assert_eq!(builder.finish(Escape::Plain).text, "\n  a b \n");
    }

    #[test]
    fn a_point_between_spaces_leaves_one_space() {
        let mut builder = Builder::new(Space::Collapse);
        builder.text("a ");
        builder.point("<img>");
        builder.text(" b");
        let block = builder.finish(Escape::Plain);
        assert_eq!(block.text, "a b");
        assert_eq!(
            block.nodes[0].kind,
            Kind::Point {
                raw: "<img>".into(),
                space_after: true,
                is_space: false
            }
        );
    }
}
