//! A pattern of Fluent, as it is written.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

use crate::escape::by_number;
use crate::words::{Span, regex};

/// Placeables allowed in a text, including string literals for syntax characters.
pub(super) static KNOWN: LazyLock<Regex> =
    LazyLock::new(|| regex(r#"\{"(?:[{}\[*. ]|\\u[0-9a-f]{4})"\}|\{[^{}\n]{0,80}\}"#));

/// How a message's text is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    newline: &'static str,
    /// The indentation of its lines.
    indent: String,
    /// If true, it begins its line.
    begins_line: bool,
    /// The placeables of the source. All other braces are text.
    placeables: Vec<String>,
}

impl Pattern {
    /// Creates the pattern at `range` of the file `text`.
    pub(super) fn new(text: &str, range: &Span, newline: &'static str) -> Self {
        let before = text[..range.start].trim_end_matches(' ');
        let begins_line = before.ends_with('\n');
        let indent = if begins_line {
            range.start - before.len()
        } else {
            4
        };
        let placeables = KNOWN.find_iter(&text[range.clone()]);
        Self {
            newline,
            indent: " ".repeat(indent),
            begins_line,
            placeables: placeables.map(|found| found.as_str().into()).collect(),
        }
    }

    /// Returns `text` as lines; characters that would be syntax become string literals in braces.
    pub(super) fn write(&self, text: &str) -> String {
        let placeables_by_text: HashMap<String, &str> = self
            .placeables
            .iter()
            .map(|it| (without_spaces(it), &**it))
            .collect();
        let mut out = String::new();
        for (number, line) in text.split('\n').enumerate() {
            if number > 0 {
                out += self.newline;
                out += if line.is_empty() { "" } else { &self.indent };
            }
            write_line(
                &mut out,
                line,
                number > 0 || self.begins_line,
                &placeables_by_text,
            );
        }
        if out.is_empty() { "{\"\"}".into() } else { out }
    }
}

fn without_spaces(text: &str) -> String {
    text.split_whitespace().collect()
}

/// Writes `line`. `known` maps placeables without spaces to their spelling in the source.
fn write_line(out: &mut String, line: &str, begins_line: bool, known: &HashMap<String, &str>) {
    let last = line.len().saturating_sub(1);
    let mut placeables = KNOWN.find_iter(line).peekable();
    let mut end = 0;
    for (at, c) in line.char_indices() {
        if at < end {
            continue;
        }
        while placeables.next_if(|found| found.start() < at).is_some() {}
        let found = placeables.next_if(|found| found.start() == at);
        if let Some(found) = found
            && let Some(placeable) = known.get(&without_spaces(found.as_str()))
        {
            *out += placeable;
            end = found.end();
            continue;
        }
        let is_sign = at == 0 && begins_line && "[*.".contains(c);
        let is_edge = c == ' ' && (at == 0 || at == last);
        match c {
            '{' | '}' => *out += &format!("{{\"{c}\"}}"),
            _ if is_sign || is_edge => *out += &format!("{{\"{c}\"}}"),
            c if c.is_control() && c != '\t' => *out += &format!("{{\"{}\"}}", by_number(c)),
            c => out.push(c),
        }
    }
}
