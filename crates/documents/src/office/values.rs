//! Attributes with text that readers see or hear.

use std::collections::HashMap;
use std::sync::LazyLock;

use quick_xml::escape::unescape;

use super::kind::{OfficeKind, has};
use crate::format::{is_prose, values as values_of_page};
use crate::words::{Span, has_letters, moved};
use crate::xml::{Element, attributes, local};

/// Elements and their attributes with text, without prefixes.
static VALUES: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    let rows = include_str!("values.tsv").lines();
    let rows = rows.filter_map(|row| row.split_once('\t'));
    rows.flat_map(|(elements, names)| elements.split(' ').map(move |element| (element, names)))
        .collect()
});

/// Returns the ranges of the values of `element`, which has the name `name` without its prefix,
/// that are prose.
pub(super) fn values(xml: &str, kind: OfficeKind, element: &Element<'_>, name: &str) -> Vec<Span> {
    let Span { start, end } = element.tag;
    let tag = &xml[start..end];
    let mut ranges: Vec<Span> = if kind == OfficeKind::Epub {
        values_of_page(&name.to_ascii_lowercase(), tag, start)
    } else {
        let Some(names) = VALUES.get(name) else {
            return Vec::new();
        };
        // A value that is not well-formed could not be read again, so it stays as it is.
        let texts = attributes(tag).filter(|(name, range)| {
            has(names, local(name)) && unescape(&tag[range.clone()]).is_ok()
        });
        texts.map(|(_, range)| moved(&range, 0, start)).collect()
    };
    ranges.retain(|range| {
        let value = &xml[range.clone()];
        let is_quoted = xml[..range.start].ends_with(['"', '\'']);
        is_quoted && is_prose(value) && has_letters(&without_references(value))
    });
    ranges
}

/// Returns `value` without its references to characters.
fn without_references(value: &str) -> String {
    let mut parts = value.split('&');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + part.split_once(';').map_or(part, |(_, rest)| rest)
    })
}
