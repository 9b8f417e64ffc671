//! The pieces of a paragraph: texts, and marks for its elements, units and points.

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
    /// A text: the name of its element and the index of its run.
    Text { name: Span, run: Option<usize> },
    /// A point or a unit, which may contain paragraphs, and the index of its run.
    Point { range: Span, run: Option<usize> },
    /// A field: the items before its result and after it. A field that is one unit has all items
    /// in the first range.
    Field { open: Span, close: Span },
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
