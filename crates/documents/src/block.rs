//! A block: text that belongs together, its markup, its sentences.

use std::collections::BTreeSet;
use std::sync::Arc;

use burnformer_glossary::PartKind;

use crate::Translated;
use crate::escape::Escape;
use crate::words::{Span, moved, within};

/// A paragraph, a heading, a table cell, a subtitle.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// The byte range of the block in the document. These bytes are written unchanged if
    /// translation changes no sentence.
    pub(crate) source: Span,
    /// Plain text. White space before, between and after the sentences is kept unchanged.
    pub(crate) text: String,
    /// Markup in the order of its beginnings; parents come before their children.
    pub(crate) nodes: Vec<Node>,
    /// The parts that must stay unchanged; sorted, disjoint.
    pub(crate) atoms: Vec<Atom>,
    /// Sorted, disjoint, without white space at their ends.
    pub(crate) segments: Vec<Segment>,
    pub(crate) escape: Escape,
    pub(crate) lines: Lines,
}

/// The lines of a block whose text is one line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lines {
    /// The offsets of the source's line breaks, which are spaces in the text.
    pub(crate) breaks: Vec<usize>,
    /// The text of a line break.
    pub(crate) newline: Arc<str>,
}

/// A piece of markup within a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// Bytes of the block's text; empty for a point.
    pub(crate) range: Span,
    /// The element around it, by index.
    pub(crate) parent: Option<usize>,
    pub(crate) kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Stands around text. A link that finds its definition by its text has this as `label`, which
    /// is written if the text changes.
    Element {
        open: String,
        close: String,
        label: Option<String>,
    },
    /// Stands between characters. `space_after` says that the source has white space after it and
    /// the text has none; `is_space` says that the space after it in the text replaces it.
    Point {
        raw: String,
        space_after: bool,
        is_space: bool,
    },
    /// Stands for text that must stay unchanged, an [`Atom`].
    Atom { raw: String },
}

/// A part of the text that must stay unchanged.
#[derive(Clone, Debug)]
pub(crate) struct Atom {
    pub(crate) range: Span,
    /// The index of the node that the document has instead of the text, if there is one.
    pub(crate) node: Option<usize>,
    /// The rule by which it is kept; symbols are kept byte for byte too.
    pub(crate) kind: PartKind,
    /// The text of a message, in the categories of the target language, and its arms by their
    /// bytes.
    pub(crate) message: String,
    pub(crate) arms: Vec<(Span, Block)>,
    /// The message with the translations of its arms, if they change it.
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
    /// Boxed, because most sentences wait for their translations at one time.
    Done(Box<AtomText>),
}

/// A translation with the ranges of the atoms in it.
#[derive(Clone, Debug)]
pub(crate) struct AtomText {
    pub(crate) translated: Translated,
    /// Index of the atom in [`Block::atoms`], bytes of the translation; sorted by these.
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
    /// Returns whether it is a link of HTML or Markdown around text.
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
    /// characters are ignored.
    pub(crate) fn is_unchanged(&self) -> bool {
        self.atoms.iter().all(|atom| atom.written.is_none())
            && self
                .segments
                .iter()
                .all(|Segment { range, state }| match state {
                    State::Done(done) => {
                        let words = |text| {
                            str::split(text, |c: char| c.is_whitespace() || c.is_control())
                                .filter(|word| !word.is_empty())
                        };
                        words(&done.translated.text).eq(words(&self.text[range.clone()]))
                    }
                    _ => true,
                })
    }

    /// The arms of its messages.
    pub(crate) fn arms_mut(&mut self) -> impl Iterator<Item = &mut Block> {
        self.atoms
            .iter_mut()
            .flat_map(|atom| &mut atom.arms)
            .map(|(_, arm)| arm)
    }

    /// Indices of the atoms within `range`.
    pub(crate) fn atoms_in(&self, range: &Span) -> Span {
        within(&self.atoms, |atom| &atom.range, range)
    }

    /// The ranges of the atoms within `range`, relative to its start.
    pub(crate) fn parts(&self, range: &Span) -> Vec<Span> {
        let atoms = self.atoms[self.atoms_in(range)].iter();
        atoms
            .map(|atom| moved(&atom.range, range.start, 0))
            .collect()
    }

    /// The offsets in the text at which markup begins or ends. Atoms are not markup.
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
