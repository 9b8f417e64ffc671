//! Fluent: the patterns of messages, attributes and select arms. Terms are names and stay
//! unchanged.

use std::sync::{Arc, LazyLock};

use regex::{Captures, Regex};

use super::fluent_pattern::{KNOWN, Pattern};
use super::message::{BrokenCatalogue, Context, Message, Result};
use super::spelling::Spelling;
use crate::plurals::{Arm, MAX_MULTIPLIED_NESTING, Plural};
use crate::words::{Span, regex, trim};

/// A token: the name of a message, term or attribute, a comment, the start of a select or of its
/// arms, a placeable within a pattern, or a brace.
static PART: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?m)^-?[A-Za-z][\w-]*[ ]*=|^[ ]+\.[A-Za-z][\w-]*[ ]*=|^#.*$",
        r#"|\{[^{}]*->[ ]*\r?$|^\s*\*?\[\s*[\w.-]+\s*\]"#,
        r#"|\{\s*"(?:\\.|[^"\\\n])*"\s*\}|\{(?:[^{}\n]|\n[ \r\n])*\s*\}|[{}]"#,
    ))
});
/// A line outside of patterns: it is not indented.
static JUNK: LazyLock<Regex> = LazyLock::new(|| regex(r"\n\S"));
/// A line break with the white space around it.
static BREAK: LazyLock<Regex> = LazyLock::new(|| regex(r"\s*\n\s*"));

/// Reads the texts of a file and their plurals.
pub(super) fn read(text: &str) -> Result<(Vec<Message>, Vec<Plural>)> {
    let newline = if text.contains('\r') { "\r\n" } else { "\n" };
    let mut file = File {
        text,
        newline,
        ..File::default()
    };
    let end = text.len()..text.len();
    for part in PART.find_iter(text).map(|part| part.range()).chain([end]) {
        file.part(part)?;
    }
    Ok((file.all, file.plurals))
}

/// The state of the parser.
#[derive(Default)]
struct File<'a> {
    text: &'a str,
    newline: &'static str,
    /// The message's name, empty outside of messages; `key` adds the attribute's name.
    name: Arc<str>,
    key: Context,
    /// The open selects.
    open: Vec<Plural>,
    /// The byte where the pattern begins.
    at: usize,
    all: Vec<Message>,
    plurals: Vec<Plural>,
}

impl File<'_> {
    /// Reads `range`, a [`PART`] or the end of the file.
    fn part(&mut self, range: Span) -> Result<()> {
        let part = self.text[range.clone()].trim();
        let part = if part.starts_with('#') { "" } else { part };
        let is_placeable = part.starts_with('{') && part.len() > 1 && part.ends_with('}');
        if is_placeable || part.ends_with(']') && self.open.is_empty() {
            return Ok(());
        }
        self.pattern(range.start)?;
        self.at = range.end;
        self.arm(part, range.end);
        let name = part.trim_end_matches('=').trim_end();
        let mut fault = "";
        match part {
            "}" if !self.open.is_empty() => {
                let plural = self
                    .open
                    .pop()
                    .filter(|it: &Plural| it.arms.iter().all(Arm::is_of_number));
                // Each level multiplies the text.
                self.plurals
                    .extend(plural.filter(|_| self.open.len() < MAX_MULTIPLIED_NESTING));
            }
            "{" | "}" => {
                fault = "the brace has no other on its line; write one of a text as `{\"{\"}`";
            }
            _ if part.ends_with("->") => {
                let is_ordinal = part.contains("\"ordinal\"");
                self.open.push(Plural {
                    is_ordinal,
                    ..Plural::default()
                });
            }
            _ if part.ends_with(']') => {}
            _ if !self.open.is_empty() => {
                fault = "a selection above this line is not closed; add `}`"
            }
            _ if name.starts_with('.') => self.key = Context::new(&self.name, &name[1..]),
            _ => {
                self.name = name.into();
                self.key = Arc::clone(&self.name).into();
            }
        }
        match fault {
            "" => Ok(()),
            _ => Err(BrokenCatalogue::at(self.text, range.start, fault)),
        }
    }

    /// Ends the current arm before `part`, which ends at `end`. Begins the next arm if `part` is
    /// its name.
    fn arm(&mut self, part: &str, end: usize) {
        let Some(Plural { arms, .. }) = self.open.last_mut() else {
            return;
        };
        let start = end - part.len();
        if let Some(last) = arms
            .last_mut()
            .filter(|_| part == "}" || part.ends_with(']'))
        {
            last.inner.end = self.text[..start].trim_end().len();
            last.whole.end = last.inner.end;
        }
        if part.ends_with(']') {
            let name = part.trim_matches(|c: char| c.is_whitespace() || "*[]".contains(c));
            arms.push(Arm::new(self.text, name, start..end, end..end));
        }
    }

    /// Adds the pattern that ends at `end`.
    fn pattern(&mut self, end: usize) -> Result<()> {
        let range = trim(self.text, self.at..end);
        let junk = JUNK
            .find(&self.text[self.at..end])
            .map(|junk| self.at + junk.end() - 1);
        let is_outside = self.name.is_empty() && !range.is_empty();
        if let Some(at) = junk.or(is_outside.then_some(range.start)) {
            let fault =
                "here is no comment and no `name = text`; indent a line of the message before";
            return Err(BrokenCatalogue::at(self.text, at, fault));
        }
        let source = shown(&self.text[range.clone()]);
        if let Some(source) = source.filter(|it| !it.is_empty() && !self.name.starts_with('-')) {
            let pattern = Pattern::new(self.text, &range, self.newline);
            let spelling = Spelling::Pattern(pattern);
            self.all
                .push(Message::text(self.key.clone(), range, source, spelling));
        }
        Ok(())
    }
}

/// Returns the text that readers see for `lines`, without their indentation. Returns `None` if
/// there is a placeable that is not allowed in a text.
fn shown(lines: &str) -> Option<String> {
    if KNOWN.replace_all(lines, "").contains(['{', '}']) {
        return None;
    }
    let shown = BREAK.replace_all(lines, |found: &Captures<'_>| {
        "\n".repeat(found[0].matches('\n').count())
    });
    Some(shown.into_owned())
}
