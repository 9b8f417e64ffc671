//! Attributes that readers see or hear.

use std::sync::LazyLock;

use regex::Regex;

use super::references::{decode, entities};
use crate::block::Block;
use crate::builder::{Builder, Space};
use crate::escape::Escape;
use crate::words::{Span, has_letters, moved, regex};

static ATTRIBUTE: LazyLock<Regex> = LazyLock::new(|| {
    regex(r#"[\s/]([^\s"'<>/=]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>][^\s>]*))"#)
});

/// Returns the names of the attributes in the start tag `tag`, in lower case, with the ranges of
/// their values.
pub(super) fn attributes(tag: &str) -> Vec<(String, Span)> {
    let mut all = Vec::new();
    for found in ATTRIBUTE.captures_iter(tag) {
        if let Some(value) = (2..5).find_map(|group| found.get(group)) {
            all.push((found[1].to_ascii_lowercase(), value.range()));
        }
    }
    all
}

/// Returns the ranges of these attributes' values in `tag`, the start tag of `element`, which
/// begins at `start`.
pub(crate) fn texts(element: &str, tag: &str, start: usize) -> Vec<Span> {
    let all = attributes(tag);
    let role = all
        .iter()
        .find(|(name, _)| matches!(name.as_str(), "type" | "name" | "property"));
    let role = role.map_or(String::new(), |(_, value)| {
        tag[value.clone()].to_ascii_lowercase()
    });
    let texts = all.iter().filter(|(name, _)| is_text(element, name, &role));
    texts.map(|(_, value)| moved(value, 0, start)).collect()
}

/// `role` is the type of an input (`submit`), or the name of metadata (`description`).
fn is_text(element: &str, name: &str, role: &str) -> bool {
    match (element, name) {
        ("link" | "style", _) => false,
        ("img" | "area" | "input", "alt")
        | ("input" | "textarea", "placeholder")
        | ("option" | "optgroup" | "track", "label")
        | (_, "title" | "aria-label" | "aria-description" | "aria-placeholder") => true,
        ("input", "value") => matches!(role, "button" | "submit" | "reset"),
        ("meta", "content") => ["description", "title", "image:alt"].contains(
            &role
                .trim_start_matches("og:")
                .trim_start_matches("twitter:"),
        ),
        _ => false,
    }
}

/// Returns the value `page[range]` as a block, unless it is a name or code.
pub(super) fn block(page: &str, range: Span) -> Option<Block> {
    let source = &page[range.clone()];
    if !is_prose(source) || !has_letters(&decode(source)) {
        return None;
    }
    let quote = page[..range.start]
        .chars()
        .next_back()
        .filter(|c| matches!(c, '"' | '\''));
    let mut builder = Builder::new(Space::Keep);
    builder.text(&decode(source));
    let entities = entities([source].into_iter()).of_block(source);
    Some(builder.finish(Escape::Attribute(quote, entities)))
}

/// Returns whether a value that readers see is neither a name nor code.
pub(crate) fn is_prose(value: &str) -> bool {
    let has_space = value.trim().contains(char::is_whitespace);
    (has_space || !value.contains(['.', '_', '/', ':'])) && !value.contains(['<', '{'])
}
