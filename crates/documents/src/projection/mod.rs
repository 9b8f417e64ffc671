//! Markup projection: finds each element's span in a translation by word alignment.
//!
//! The children of an element (or of the whole block) share its part of the translation, its
//! *window*. Each gets the longest run of words aligned to its own source words. A run may contain
//! unaligned words and punctuation, but no words of other elements. Elements therefore stay within
//! their parents and never cross, whatever the alignment is.

mod unaligned;

use std::collections::{BTreeMap, BTreeSet};

use crate::alignment::{Alignment, Unit};
use crate::block::{Block, Kind, Node};
use crate::words::{Span, trim, within};

/// Deeper elements are not aligned: the first child gets everything. Browsers stop at 512.
const MAX_DEPTH: usize = 100;

/// Returns the byte range of each node of `block` in the translation. `atoms` are already placed.
pub(crate) fn project(block: &Block, alignment: &Alignment, atoms: &[(usize, Span)]) -> Vec<Span> {
    let mut spans = vec![0..0; block.nodes.len()];
    for (atom, span) in atoms {
        if let Some(node) = block.atoms[*atom].node {
            spans[node] = span.clone();
        }
    }
    let mut depths = vec![0; block.nodes.len()];
    let (roots, children) = children(&block.nodes);
    let window = 0..alignment.target.len();
    let source = 0..block.text.len();
    Family {
        block,
        alignment,
        source,
        window,
        children: &roots,
    }
    .project(&mut spans);
    for (index, children) in children
        .iter()
        .enumerate()
        .filter(|(_, some)| !some.is_empty())
    {
        // A parent comes before its children, so its span is known.
        let window = spans[index].clone();
        let source = block.nodes[index].range.clone();
        let family = Family {
            block,
            alignment,
            source,
            window,
            children,
        };
        if depths[index] < MAX_DEPTH {
            family.project(&mut spans)
        } else {
            family.project_unaligned(&mut spans)
        }
        children
            .iter()
            .for_each(|&child| depths[child] = depths[index] + 1);
    }
    spans
}

/// Returns the nodes without a parent, and the children of each node.
pub(crate) fn children(nodes: &[Node]) -> (Vec<usize>, Vec<Vec<usize>>) {
    let mut roots = Vec::new();
    let mut children = vec![Vec::new(); nodes.len()];
    for (index, node) in nodes.iter().enumerate() {
        node.parent
            .map_or(&mut roots, |parent| &mut children[parent])
            .push(index);
    }
    (roots, children)
}

/// The children of one element.
struct Family<'a> {
    block: &'a Block,
    alignment: &'a Alignment,
    /// The element's range in the source.
    source: Span,
    /// The element's range in the translation.
    window: Span,
    children: &'a [usize],
}

impl<'a> Family<'a> {
    fn project(&self, spans: &mut [Span]) {
        let mut used = Used::default();
        for &child in self.children.iter().filter(|&&child| self.is_atom(child)) {
            self.take(std::mem::take(&mut spans[child]), child, &mut used);
        }
        self.take_sentences(&mut used);
        self.take_runs(&mut used);
        let mut used = self.with_marks(&used);
        for &child in self.children {
            if self.has_text(child) && !self.is_atom(child) && !used.nodes.contains(&child) {
                self.take_unaligned(child, &mut used);
            }
        }
        for (&start, &(end, child)) in &used.parts {
            spans[child] = start..end;
        }
        for &child in self.children {
            if spans[child].is_empty() {
                let at = self.empty_position(child, &used);
                spans[child] = at..at;
            }
        }
        self.keep_unpaired(spans);
    }

    /// Keeps the order of end tags without a beginning. What follows an element without an end
    /// stays inside it, as in the source.
    fn keep_unpaired(&self, spans: &mut [Span]) {
        let nodes = &self.block.nodes;
        let children = self.children.iter().copied();
        let ends: Vec<usize> = children
            .filter(|&child| is_end_tag(&nodes[child]))
            .collect();
        let mut sorted: Vec<usize> = ends.iter().map(|&child| spans[child].start).collect();
        sorted.sort_unstable();
        ends.iter()
            .zip(sorted)
            .for_each(|(&child, at)| spans[child] = at..at);
        if let Some((&last, others)) = self.children.split_last()
            && matches!(&nodes[last].kind, Kind::Element { close, .. } if close.is_empty())
        {
            let start = others.iter().map(|&child| spans[child].end).max();
            spans[last] =
                start.map_or(spans[last].start, |end| end.max(spans[last].start))..self.window.end;
        }
    }

    /// In very deep markup, the first element gets the window.
    fn project_unaligned(&self, spans: &mut [Span]) {
        let Span { start, end } = self.window;
        let mut at = start;
        for &child in self.children {
            let element = matches!(self.block.nodes[child].kind, Kind::Element { .. });
            spans[child] = if element { at..end } else { at..at };
            if element {
                at = end;
            }
        }
    }

    fn is_atom(&self, child: usize) -> bool {
        matches!(self.block.nodes[child].kind, Kind::Atom { .. })
    }

    fn has_text(&self, child: usize) -> bool {
        !self.block.nodes[child].range.is_empty()
    }

    /// Elements around whole sentences need no alignment.
    fn take_sentences(&self, used: &mut Used) {
        let sentences = &self.alignment.sentences;
        for &child in self.children.iter().filter(|&&child| !self.is_atom(child)) {
            let range = trim(&self.block.text, self.block.nodes[child].range.clone());
            let inside = &sentences[within(sentences, |(source, _)| source, &range)];
            if let (Some(first), Some(last)) = (inside.first(), inside.last())
                && first.0.start == range.start
                && last.0.end == range.end
            {
                self.take(first.1.start..last.1.end, child, used);
            }
        }
    }

    /// Gives `range` to `child` if it is free, not empty, and inside the window.
    fn take(&self, range: Span, child: usize, used: &mut Used) {
        let inside = self.window.start <= range.start && range.end <= self.window.end;
        if inside && !range.is_empty() && used.is_free(&range) {
            used.insert(range, child);
        }
    }

    /// Gives each other element its longest run: units aligned to its words and to no others.
    fn take_runs(&self, used: &mut Used) {
        let elements = self
            .children
            .iter()
            .copied()
            .filter(|&child| self.has_text(child));
        let elements: Vec<usize> = elements.collect();
        let only = self.only_child_with_words(&elements);
        let units = &self.alignment.units[self.alignment.units_in(&self.window)];
        let units: Vec<(Option<usize>, &Unit)> = units
            .iter()
            .filter(|unit: &&Unit| unit.is_word && (unit.piece.is_some() || only.is_some()))
            .map(|unit: &'a Unit| (only.or_else(|| self.owner(&elements, unit.piece?)), unit))
            .collect();
        // By child, the number of bytes in its longest run's words, and the run's range.
        let mut longest: BTreeMap<usize, (usize, Span)> = BTreeMap::new();
        for run in units.chunk_by(|(owner, _), (next, _)| owner == next) {
            let ((Some(child), first), (_, last)) = (run[0], run[run.len() - 1]) else {
                continue;
            };
            let bytes = run.iter().map(|(_, unit)| unit.range.len()).sum();
            let known = longest.entry(child).or_default();
            if known.0 < bytes {
                *known = (bytes, first.range.start..last.range.end);
            }
        }
        for (child, (_, range)) in longest {
            if !used.nodes.contains(&child) && !self.is_atom(child) {
                self.take(range, child, used);
            }
        }
    }

    /// Returns the child that contains every word of this element, if there is one.
    fn only_child_with_words(&self, elements: &[usize]) -> Option<usize> {
        let pieces = self.alignment.pieces_in(&self.source);
        let first = pieces.start;
        let last = pieces.end.checked_sub(1)?;
        let owner = (!pieces.is_empty()).then(|| self.owner(elements, first))??;
        (self.owner(elements, last) == Some(owner)).then_some(owner)
    }

    /// Returns the child around source piece `piece`.
    fn owner(&self, elements: &[usize], piece: usize) -> Option<usize> {
        let piece = &self.alignment.pieces[piece].range;
        let nodes = &self.block.nodes;
        let next = elements.partition_point(|&child| nodes[child].range.start <= piece.start);
        let child = elements[next.checked_sub(1)?];
        (piece.end <= nodes[child].range.end).then_some(child)
    }

    /// Extends the runs by the punctuation and white space that their elements have at their ends
    /// in the source.
    fn with_marks(&self, used: &Used) -> Used {
        let mut all = Used::default();
        let mut low = self.window.start;
        let mut runs = used.parts.iter().peekable();
        while let Some((&start, &(end, child))) = runs.next() {
            let high = runs.peek().map_or(self.window.end, |(next, _)| **next);
            let range = if self.is_atom(child) {
                start..end
            } else {
                self.extended(start..end, child, low..high)
            };
            low = range.end;
            all.insert(range, child);
        }
        all
    }

    fn extended(&self, run: Span, child: usize, limits: Span) -> Span {
        let text = &self.block.text;
        let source = &self.block.nodes[child].range;
        let mut units = self.alignment.units_in(&run);
        let pieces = self.alignment.pieces_in(source);
        let is_word = |&unit: &usize| self.alignment.units[unit].is_word;
        let words = (units.clone().find(is_word), units.rfind(is_word));
        let mut run = run;
        if let (Some(first), Some(last)) = words
            && !pieces.is_empty()
        {
            let pieces = &self.alignment.pieces[pieces];
            let opening = &text[source.start..pieces[0].range.start];
            let closing = &text[pieces[pieces.len() - 1].range.end..source.end];
            run.start = run
                .start
                .min(self.alignment.preceding(first, opening, limits.start));
            run.end = run
                .end
                .max(self.alignment.following(last, closing, limits.end));
        }
        self.with_space(run, child, limits)
    }

    /// Extends `run` by the white space around it, where the element has white space at its ends.
    fn with_space(&self, mut run: Span, child: usize, limits: Span) -> Span {
        let target = &self.alignment.target;
        let source = &self.block.text[self.block.nodes[child].range.clone()];
        if source.starts_with(char::is_whitespace) {
            run.start = target[limits.start..run.start].trim_end().len() + limits.start;
        }
        if source.ends_with(char::is_whitespace) {
            let rest = &target[run.end..limits.end];
            run.end = limits.end - rest.trim_start().len();
        }
        run
    }
}

/// Parts of the window taken by markup.
#[derive(Default)]
struct Used {
    /// The end and the node of each part, by its start.
    parts: BTreeMap<usize, (usize, usize)>,
    nodes: BTreeSet<usize>,
}

impl Used {
    fn insert(&mut self, range: Span, node: usize) {
        self.parts.insert(range.start, (range.end, node));
        self.nodes.insert(node);
    }

    fn is_free(&self, range: &Span) -> bool {
        let before = self.parts.range(..range.end).next_back();
        before.is_none_or(|(_, &(end, _))| end <= range.start)
    }
}

/// Returns whether `node` is an end tag without a beginning.
fn is_end_tag(node: &Node) -> bool {
    matches!(&node.kind, Kind::Point { raw, .. } if raw.starts_with("</"))
}
