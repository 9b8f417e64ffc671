//! A paragraph and its pieces: texts, and marks for its elements, units and points.

use crate::words::Span;

/// Maximum number of bytes that a unit shows to the model.
const MAX_SHOWN: usize = 1000;

/// An element, unit or point of a paragraph. It stores ranges of the XML, so that run properties
/// are not copied for each text.
#[derive(Clone, Debug)]
pub(super) enum Mark {
    /// An element around text: its start tag and end tag, and the tag that HTML has for it.
    Element {
        open: Span,
        close: Span,
        tag: &'static str,
    },
    /// Alternatives, in their run: what is written around the translated one, its content, and the
    /// others, which are in the last range.
    Alternatives {
        run: Option<usize>,
        open: Span,
        inner: Span,
        close: Span,
        others: Box<[Branch]>,
    },
    /// A text: the name of its element and the index of its run.
    Text { name: Span, run: Option<usize> },
    /// A point or a unit, which may contain paragraphs, and the index of its run.
    Point { range: Span, run: Option<usize> },
    /// A field: the items before its result and after it. A field that is one unit has all items
    /// in the first range.
    Field { open: Span, close: Span },
}

/// An alternative that gets the translation of another one: its content, and its texts.
#[derive(Clone, Debug)]
pub(super) struct Branch {
    pub(super) inner: Span,
    pub(super) texts: Vec<Span>,
}

/// A run of text. Its children become separate runs where a translation splits them.
#[derive(Clone, Debug)]
pub(super) struct Run {
    /// Its start tag and end tag.
    pub(super) open: Span,
    pub(super) close: Span,
    pub(super) properties: Span,
    /// Equal for runs with the same formatting; 0 for texts without a run.
    pub(super) look: usize,
    pub(super) is_raised: bool,
}

/// Where a paragraph stands, and therefore how its text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Between the tags of an element.
    Element,
    /// In an attribute, in these quotation marks.
    Attribute(char),
    /// In the header or footer of a sheet, where `&` begins a code.
    Header,
}

/// A paragraph that contains words.
#[derive(Clone, Debug)]
pub(super) struct Paragraph {
    pub(super) place: Place,
    /// The byte range of its content.
    pub(super) inner: Span,
    /// Its text, with `<i id=N>` for element N (`<sup>` if it is raised, `<a>` for a link),
    /// `<img id=N>` or `<br id=N>` for point N, and `<code id=N>` for unit N.
    pub(super) html: String,
    pub(super) marks: Box<[Mark]>,
    pub(super) runs: Box<[Run]>,
    /// The mark of the text outside of elements.
    pub(super) base: Option<usize>,
    /// The items that fields repeat.
    pub(super) items: Box<[Item]>,
}

/// A piece of a paragraph: the byte range of a text, or the index of a mark.
#[derive(Clone, Debug)]
pub(super) enum Item {
    Text(Span),
    /// A text that shows its line breaks.
    Lines(Span),
    Open(usize),
    Close(usize),
    Point(usize, &'static str),
    /// A space that the document writes as an element.
    Space,
    /// A unit that stays unchanged, and the XML of the text that it shows.
    Unit(usize, String),
}

/// Returns the XML of the text that `items` show; empty if it is very long.
pub(super) fn shown(xml: &str, items: &[Item]) -> String {
    let mut all = String::new();
    for item in items {
        match item {
            Item::Text(text) | Item::Lines(text) => all += &xml[text.clone()],
            Item::Unit(_, text) => all += text,
            Item::Point(_, "br") | Item::Space => all.push(' '),
            _ => {}
        }
        if all.len() > MAX_SHOWN || all.contains('<') {
            return String::new();
        }
    }
    all
}
