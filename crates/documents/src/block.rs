//! A block: text that is translated together, with its markup and sentences.

use std::collections::BTreeSet;
use std::sync::Arc;

use burnformer_text::{Grammar, PartKind};

use crate::Translated;
use crate::escape::Escape;
use crate::words::{Span, moved, within};

/// A paragraph, heading, table cell or subtitle.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// The byte range of the block in the document. If no sentence changes, these bytes are written
    /// as they are.
    pub(crate) source: Span,
    /// Plain text. White space before, between and after sentences is kept.
    pub(crate) text: String,
    /// Markup in the order of its start positions; parents come before their children.
    pub(crate) nodes: Vec<Node>,
    /// The parts that must stay unchanged, sorted and disjoint.
    pub(crate) atoms: Vec<Atom>,
    /// Sorted and disjoint, without white space at their ends.
    pub(crate) segments: Vec<Segment>,
    pub(crate) escape: Escape,
    pub(crate) lines: Lines,
    /// The grammar of the placeholders in the text.
    pub(crate) grammar: Grammar,
}

/// The line breaks of a block that is one line of text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lines {
    /// The offsets in the text of spaces that are line breaks in the source.
    pub(crate) breaks: Vec<usize>,
    /// The line break as the document writes it.
    pub(crate) newline: Arc<str>,
}

/// A piece of markup within a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// Byte range in the block's text; empty for a point.
    pub(crate) range: Span,
    /// The index of the enclosing element.
    pub(crate) parent: Option<usize>,
    pub(crate) kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Encloses text. `label` is set for a link that finds its definition by its text; it is
    /// written if the text changes.
    Element {
        open: String,
        close: String,
        label: Option<String>,
    },
    /// Stands between characters. If `space_after` is set, white space follows it in the source but
    /// not in the text. If `is_space` is set, it replaces the space after it in the text.
    Point {
        raw: String,
        space_after: bool,
        is_space: bool,
    },
    /// Replaces an [`Atom`], text that must stay unchanged.
    Atom { raw: String },
}

/// A part of the text that must stay unchanged.
#[derive(Clone, Debug)]
pub(crate) struct Atom {
    pub(crate) range: Span,
    /// The index of the node that replaces the text in the document, if there is one.
    pub(crate) node: Option<usize>,
    /// Why the text is kept. Symbols are kept byte for byte as well.
    pub(crate) kind: PartKind,
    /// An ICU message in the plural categories of the target language, and its arms by byte range.
    pub(crate) message: String,
    pub(crate) arms: Vec<(Span, Block)>,
    /// The message with its arms translated; `None` if nothing changes.
    pub(crate) written: Option<String>,
}

/// A sentence of a block, or a part of one.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    pub(crate) range: Span,
    pub(crate) state: State,
}

#[derive(Clone, Debug)]
pub(crate) enum State {
    /// Nothing to translate.
    Kept,
    /// To be translated as it is.
    Whole,
    /// To be translated without its atoms.
    Reduced,
    /// Boxed because most sentences are pending at the same time.
    Done(Box<AtomText>),
}

/// A translation and the ranges of its atoms.
#[derive(Clone, Debug)]
pub(crate) struct AtomText {
    pub(crate) translated: Translated,
    /// Pairs of an index into [`Block::atoms`] and a byte range of the translation, sorted by
    /// range.
    pub(crate) atoms: Vec<(usize, Span)>,
}

impl Atom {
    pub(crate) fn new(range: Span, node: Option<usize>, kind: PartKind) -> Self {
        Self {
            range,
            node,
            kind,
            message: String::new(),
            arms: Vec::new(),
            written: None,
        }
    }
}

impl Node {
    /// Returns whether this is a link around text, in HTML or Markdown.
    pub(crate) fn is_link(&self) -> bool {
        let Kind::Element { open, .. } = &self.kind else {
            return false;
        };
        let name = open.get(..3).map(str::to_ascii_lowercase);
        open == "[" || name.is_some_and(|name| name == "<a>" || name == "<a " || name == "<a\n")
    }
}

impl Block {
    /// Returns whether translation changes no sentence. Differences in white space and control
    /// characters do not count.
    pub(crate) fn is_unchanged(&self) -> bool {
        self.atoms.iter().all(|atom| atom.written.is_none())
            && self
                .segments
                .iter()
                .all(|Segment { range, state }| match state {
                    State::Done(done) => {
                        words(&done.translated.text).eq(words(&self.text[range.clone()]))
                    }
                    _ => true,
                })
    }

    /// Returns whether any sentence has a translation, even one that equals it.
    pub(crate) fn is_translated(&self) -> bool {
        let mut arms = self.atoms.iter().flat_map(|atom| &atom.arms);
        self.segments
            .iter()
            .any(|segment| matches!(segment.state, State::Done(_)))
            || arms.any(|(_, arm)| arm.is_translated())
    }

    /// Iterates over the arms of the block's messages.
    pub(crate) fn arms_mut(&mut self) -> impl Iterator<Item = &mut Block> {
        self.atoms
            .iter_mut()
            .flat_map(|atom| &mut atom.arms)
            .map(|(_, arm)| arm)
    }

    /// Returns the indices of the atoms within `range`.
    pub(crate) fn atoms_in(&self, range: &Span) -> Span {
        within(&self.atoms, |atom| &atom.range, range)
    }

    /// Returns the ranges of the atoms within `range`, relative to its start.
    pub(crate) fn parts(&self, range: &Span) -> Vec<Span> {
        let atoms = self.atoms[self.atoms_in(range)].iter();
        atoms
            .map(|atom| moved(&atom.range, range.start, 0))
            .collect()
    }

    /// Returns the offsets in the text where markup begins or ends. Atoms are not markup.
    pub(crate) fn borders(&self) -> BTreeSet<usize> {
        let nodes = self
            .nodes
            .iter()
            .filter(|node| !matches!(node.kind, Kind::Atom { .. }));
        nodes
            .flat_map(|node| [node.range.start, node.range.end])
            .collect()
    }
}

/// Returns the words of `text` between white space and control characters.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
}
