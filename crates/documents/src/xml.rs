//! XML as a list of elements with their byte ranges.

use std::sync::LazyLock;

use quick_xml::Reader;
use quick_xml::escape::unescape;
use quick_xml::events::{BytesStart, Event};
use regex::Regex;

use crate::catalogue::BrokenCatalogue;
use crate::words::{Span, regex};

/// Maximum depth and number of elements; a file with more is refused.
const MAX_DEPTH: usize = 200;
const MAX_ELEMENTS: usize = 1 << 20;

/// An attribute: its name, and its value in one of two groups.
static ATTRIBUTE: LazyLock<Regex> =
    LazyLock::new(|| regex(r#"\s([^\s"'<>/=]+)\s*=\s*(?:"([^"]*)"|'([^']*)')"#));

/// An element of an XML file.
pub(crate) struct Element<'a> {
    /// The name with its prefix.
    pub(crate) name: &'a str,
    /// Byte range of the start tag.
    pub(crate) tag: Span,
    /// Byte range between the tags.
    pub(crate) inner: Span,
    /// Byte range including both tags.
    pub(crate) outer: Span,
    /// The index of the enclosing element.
    pub(crate) parent: Option<usize>,
}

impl<'a> Element<'a> {
    /// Returns the byte range of the end tag; empty for a self-closing tag.
    pub(crate) fn end_tag(&self) -> Span {
        self.inner.end..self.outer.end
    }

    /// Returns the name without its prefix.
    pub(crate) fn local_name(&self) -> &'a str {
        local(self.name)
    }

    /// Returns the value of the attribute `name` in the file `text`, ignoring prefixes.
    pub(crate) fn attribute(&self, text: &str, name: &str) -> Option<String> {
        let tag = text[self.tag.clone()].trim_matches(['<', '>', '/']);
        let tag = BytesStart::from_content(tag, self.name.len());
        let mut attributes = tag.attributes();
        let mut attributes = attributes.with_checks(false).flatten();
        let found = attributes.find(|known| known.key.local_name().as_ref() == name)?;
        let value = unescape(&found.value);
        Some(value.map_or(found.value.to_string(), |value| value.into_owned()))
    }
}

/// Iterates over the names of the attributes in the start tag `tag`, with the ranges of their
/// values.
pub(crate) fn attributes(tag: &str) -> impl Iterator<Item = (&str, Span)> {
    ATTRIBUTE.captures_iter(tag).filter_map(|found| {
        let value = found.get(2).or_else(|| found.get(3))?;
        Some((found.get(1)?.as_str(), value.range()))
    })
}

/// Returns a name without its prefix.
pub(crate) fn local(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or_default()
}

/// Returns the elements of `text` in the order of their start tags.
///
/// # Errors
/// If the XML is broken, truncated, too large or too deep.
pub(crate) fn elements(text: &str) -> Result<Vec<Element<'_>>, BrokenCatalogue> {
    // The reader does not count a byte-order mark.
    let skipped = text.len() - text.trim_start_matches('\u{feff}').len();
    let mut reader = Reader::from_str(&text[skipped..]);
    let count = text.matches('<').count() - text.matches("</").count();
    let mut all: Vec<Element<'_>> = Vec::with_capacity(count.min(MAX_ELEMENTS));
    let mut open: Vec<usize> = Vec::new();
    while all.len() < MAX_ELEMENTS {
        let start = skipped + reader.buffer_position() as usize;
        let event = reader.read_event().map_err(|error| {
            let fault = format!("the XML is broken: {error}; `xmllint --noout FILE` shows more");
            BrokenCatalogue::at(text, skipped + reader.error_position() as usize, fault)
        })?;
        let end = skipped + reader.buffer_position() as usize;
        match event {
            Event::Start(tag) if open.len() < MAX_DEPTH => {
                all.push(element(text, &tag, start..end, open.last().copied()));
                open.push(all.len() - 1);
            }
            Event::Start(_) => {
                let fault =
                    "elements lie deeper than 200 in each other; write them beside each other";
                return Err(BrokenCatalogue::at(text, start, fault));
            }
            Event::Empty(tag) => all.push(element(text, &tag, start..end, open.last().copied())),
            Event::End(_) => {
                if let Some(index) = open.pop() {
                    all[index].inner.end = start;
                    all[index].outer.end = end;
                }
            }
            Event::Eof => {
                let Some(index) = open.pop() else {
                    return Ok(all);
                };
                let name = &all[index].name;
                let fault = format!("the element `{name}` is not closed; the file may be cut off");
                return Err(BrokenCatalogue::at(text, all[index].tag.start, fault));
            }
            _ => {}
        }
    }
    Err(BrokenCatalogue::at(
        text,
        0,
        "the file has a million elements; divide it",
    ))
}

fn element<'a>(
    text: &'a str,
    tag: &BytesStart<'_>,
    range: Span,
    parent: Option<usize>,
) -> Element<'a> {
    let name = range.start + 1;
    Element {
        name: &text[name..name + tag.name().as_ref().len()],
        inner: range.end..range.end,
        outer: range.clone(),
        tag: range,
        parent,
    }
}
