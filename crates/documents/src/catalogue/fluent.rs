//! Fluent: the patterns of messages, of attributes and of the arms of selections. Terms, which are
//! names, stay.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::message::{BrokenCatalogue, Message};
use super::spelling::Spelling;
use crate::words::{regex, trim};

/// The name of a message or a term, that of an attribute, a comment, the beginning of a selection
/// and of its arms; a placeable, which is a part of a pattern; a brace.
static PART: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?m)^-?[A-Za-z][\w-]*[ ]*=|^[ ]+\.[A-Za-z][\w-]*[ ]*=|^#.*$",
        r#"|\{[^{}]*->[ ]*\r?$|^\s*\*?\[\s*[\w.-]+\s*\]"#,
        r#"|\{\s*"(?:\\.|[^"\\\n])*"\s*\}|\{(?:[^{}\n]|\n[ \r\n])*\s*\}|[{}]"#,
    ))
});
/// The placeables that are known as parts of a text.
static KNOWN: LazyLock<Regex> = LazyLock::new(|| regex(r"\{[^{}\n]{0,80}\}"));
/// A line of no pattern: it is not indented.
static JUNK: LazyLock<Regex> = LazyLock::new(|| regex(r"\n\S"));
/// A break of lines with the white space around it.
static BREAK: LazyLock<Regex> = LazyLock::new(|| regex(r"\s*\n\s*"));

/// The texts of `text`.
pub(super) fn read(text: &str) -> Result<Vec<Message>, BrokenCatalogue> {
    let newline = if text.contains('\r') { "\r\n    " } else { "\n    " };
    let [name, key] = Default::default();
    let mut file = File { text, newline, name, key, depth: 0, at: 0, all: Vec::new() };
    let end = text.len()..text.len();
    for part in PART.find_iter(text).map(|part| part.range()).chain([end]) {
        file.part(part)?;
    }
    Ok(file.all)
}

/// A file as far as it was read.
struct File<'a> {
    text: &'a str,
    newline: &'static str,
    /// The name of the message, and this with that of its attribute; none outside of messages.
    name: String,
    key: String,
    /// The number of selections that are open.
    depth: usize,
    /// The byte at which the pattern begins.
    at: usize,
    all: Vec<Message>,
}

impl File<'_> {
    /// Reads `range`, a [`PART`] or the end of the file.
    fn part(&mut self, range: Range<usize>) -> Result<(), BrokenCatalogue> {
        let part = self.text[range.clone()].trim();
        let part = if part.starts_with('#') { "" } else { part };
        let is_placeable = part.starts_with('{') && part.len() > 1 && part.ends_with('}');
        if is_placeable || part.ends_with(']') && self.depth == 0 {
            return Ok(());
        }
        self.pattern(range.start)?;
        self.at = range.end;
        let (name, mut fault) = (part.trim_end_matches('=').trim_end(), "");
        match part {
            "}" if self.depth > 0 => self.depth -= 1,
            "{" | "}" => {
                fault = "the brace has no other on its line; write one of a text as `{\"{\"}`";
            }
            _ if part.ends_with("->") => self.depth += 1,
            _ if part.ends_with(']') => {}
            _ if self.depth > 0 => fault = "a selection above this line is not closed; add `}`",
            _ if name.starts_with('.') => self.key = self.name.clone() + name,
            _ => (self.name, self.key) = (name.into(), name.into()),
        }
        if fault.is_empty() {
            Ok(())
        } else {
            Err(BrokenCatalogue::at(self.text, range.start, fault))
        }
    }

    /// Adds the pattern that ends at `end`.
    fn pattern(&mut self, end: usize) -> Result<(), BrokenCatalogue> {
        let range = trim(self.text, self.at..end);
        let junk = JUNK.find(&self.text[self.at..end]).map(|junk| self.at + junk.end() - 1);
        let is_outside = self.name.is_empty() && !range.is_empty();
        if let Some(at) = junk.or(is_outside.then_some(range.start)) {
            let fault =
                "here is no comment and no `name = text`; indent a line of the message before";
            return Err(BrokenCatalogue::at(self.text, at, fault));
        }
        let source = joined(&self.text[range.clone()]);
        if let Some(source) = source.filter(|it| !it.is_empty() && !self.name.starts_with('-')) {
            let spelling = Spelling::Lines(self.newline.into());
            self.all.push(Message::text(self.key.clone(), range, source, spelling));
        }
        Ok(())
    }
}

/// The text of lines that a reader sees as one, with its paragraphs; `None` if it has a placeable
/// that is not known to be a part of a text.
fn joined(lines: &str) -> Option<String> {
    if KNOWN.replace_all(lines, "").contains(['{', '}']) {
        return None;
    }
    let joined =
        BREAK.replace_all(lines, |found: &Captures<'_>| match found[0].matches('\n').count() {
            1 => " ".into(),
            more => "\n".repeat(more),
        });
    Some(joined.into_owned())
}
