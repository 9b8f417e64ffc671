//! The scalars of YAML, as they are written.

use std::sync::LazyLock;

use regex::Regex;

use crate::escape::{by_number, escaped};
use crate::words::regex;

/// The indicator of a block scalar, and a comment after it.
static HEADER: LazyLock<Regex> = LazyLock::new(|| regex(r"[|>][-+0-9]*(?:[ \t]+#.*)?$"));

/// The characters that indent a line.
const BLANK: [char; 2] = [' ', '\t'];

/// A block scalar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// The text from the indicator up to the first line.
    pub(super) header: String,
    newline: &'static str,
    /// The indentation of each line.
    pub(super) indent: String,
}

impl Block {
    /// Parses the block with lines beginning at `start` in the file `text`; `None` if it has no
    /// indicator.
    pub(super) fn at(text: &str, start: usize, newline: &'static str) -> Option<Self> {
        let before = text[..start].trim_end();
        let line = before.rfind('\n').map_or(0, |end| end + 1);
        let header = line + HEADER.find(&before[line..])?.start();
        let indent = text[before.len()..start].rsplit('\n').next()?;
        Some(Self {
            header: text[header..start].into(),
            newline,
            indent: indent.into(),
        })
    }

    /// Returns whether readers join its lines.
    pub(super) fn is_folded(&self) -> bool {
        self.header.starts_with('>')
    }

    /// Writes `text` as a block, or in quotes if readers would see another text in the block.
    pub(super) fn write(&self, text: &str) -> String {
        let lines = text.trim_matches('\n');
        let is_other = lines.is_empty()
            || self.indent.is_empty()
            || lines.contains(needs_number)
            || lines.starts_with(BLANK)
            || self.is_folded() && lines.split('\n').any(|line| line.starts_with(BLANK));
        if is_other {
            let comment = self.header.lines().next().and_then(|it| it.find('#'));
            let comment = comment.map_or("", |at| self.header[at..].trim_end());
            let space = if comment.is_empty() { "" } else { " " };
            return [&quoted(text), space, comment].concat();
        }
        let mut out = self.header.clone();
        for (number, line) in lines.split('\n').enumerate() {
            if number > 0 {
                out += self.newline;
                // In a folded text, the first line end between two lines is a space.
                out += if self.is_folded() && !line.is_empty() {
                    self.newline
                } else {
                    ""
                };
                out += if line.is_empty() { "" } else { &self.indent };
            }
            out += line;
        }
        out
    }
}

/// Words that are other values in some version of YAML.
pub(super) const VALUES: [&str; 10] = [
    "true", "false", "null", "~", "yes", "no", "on", "off", "y", "n",
];

/// Returns whether `c` must be escaped by number: some readers refuse it or take it for a line end.
fn needs_number(c: char) -> bool {
    let ends_line = matches!(c, '\u{2028}' | '\u{2029}');
    let is_mark = matches!(c, '\u{feff}' | '\u{fffe}' | '\u{ffff}');
    ends_line || is_mark || c.is_control() && c != '\n' && c != '\t'
}

/// Writes `text` in double quotes.
pub(super) fn quoted(text: &str) -> String {
    format!(
        "\"{}\"",
        escaped(text, "\"\\", |c: char| needs_number(c)
            .then(|| by_number(c)))
    )
}

/// Writes `text` in single quotes, or in double quotes if it needs escapes.
pub(super) fn single(text: &str) -> String {
    if text.contains(|c: char| c == '\n' || needs_number(c)) {
        quoted(text)
    } else {
        format!("'{}'", text.replace('\'', "''"))
    }
}

/// Writes `text` without quotes if every YAML 1.1 and 1.2 reader takes it for a string anywhere,
/// else in double quotes. Numbers, times, dates and signs never begin with a letter.
pub(super) fn plain(text: &str) -> String {
    let is_value =
        VALUES.iter().any(|value| text.eq_ignore_ascii_case(value)) || text.parse::<f64>().is_ok();
    let is_plain = text.starts_with(char::is_alphabetic)
        && !is_value
        && !text.ends_with([' ', ':'])
        && !text.contains(['\n', '\t', '[', ']', '{', '}', ',', '?'])
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.contains(needs_number);
    if is_plain { text.into() } else { quoted(text) }
}
