//! YAML: the texts of mappings and lists.

use std::sync::LazyLock;

use regex::Regex;
use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use super::json::Keys;
use super::message::{BrokenCatalogue, Message, Result};
use super::spelling::Spelling;
use super::yaml_scalar::{Block, VALUES};
use crate::plurals::Plural;
use crate::words::{Span as Bytes, regex};

/// An anchor, a tag and a block indicator before a text.
static PROPERTIES: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^(?:(?:[&!]\S*|#.*)\s+)+(?:[|>].*\s+)?"));

/// Reads the texts of a file and their plurals.
pub(super) fn read(text: &str) -> Result<(Vec<Message>, Vec<Plural>)> {
    let bytes = text
        .char_indices()
        .map(|(at, _)| at)
        .chain([text.len()])
        .collect();
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut file = File {
        text,
        bytes,
        newline,
        keys: Keys::default(),
        mappings: Vec::new(),
    };
    file.keys.text = text;
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            let fault = format!(
                "the YAML is broken: {}; quote the text there, or mend its indentation",
                error.info()
            );
            BrokenCatalogue {
                line: error.marker().line(),
                fault,
            }
        })?;
        if file.mappings.is_empty() && matches!(&event, Event::Scalar(text, ..) if !text.is_empty())
        {
            let fault = "the file is no YAML with texts: it has no keys and no list; name its format with --format";
            return Err(BrokenCatalogue::at(text, 0, fault));
        }
        file.event(event, span);
    }
    file.keys.finish()
}

struct File<'a> {
    text: &'a str,
    /// The byte offset of each character.
    bytes: Vec<usize>,
    newline: &'static str,
    keys: Keys<'a>,
    /// For each open mapping or list, whether the next node is a key; `None` in a list.
    mappings: Vec<Option<bool>>,
}

impl File<'_> {
    fn event(&mut self, event: Event<'_>, span: Span) {
        match event {
            Event::MappingStart(..) | Event::SequenceStart(..) => {
                let is_key = self.node();
                self.keys.open(is_key);
                self.mappings
                    .push(matches!(event, Event::MappingStart(..)).then_some(true));
            }
            Event::MappingEnd | Event::SequenceEnd => {
                self.keys.close();
                self.mappings.pop();
            }
            Event::Alias(_) => drop(self.node()),
            Event::Scalar(text, style, anchor, tag) => {
                if self.node() {
                    return self
                        .keys
                        .key(text.into_owned(), self.bytes[span.start.index()]);
                }
                let is_value = style == ScalarStyle::Plain
                    && VALUES.iter().any(|value| text.eq_ignore_ascii_case(value));
                let is_text = !is_value && tag.as_ref().is_none_or(|tag| tag.suffix == "str");
                let text = Some(text.into_owned()).filter(|_| is_text);
                let is_named = anchor > 0 || tag.is_some();
                if let Some((range, spelling)) = self.scalar(span, style, is_named) {
                    self.keys.value(range, text, spelling);
                }
            }
            _ => {}
        }
    }

    /// Returns whether the next node is a key.
    fn node(&mut self) -> bool {
        match self.mappings.last_mut() {
            Some(Some(is_key)) => std::mem::replace(is_key, !*is_key),
            _ => false,
        }
    }

    /// Returns the bytes of a scalar that a translation replaces, and how to write it. They start
    /// after its anchor and tag if it `is_named`. Returns `None` if this cannot be determined.
    fn scalar(&self, span: Span, style: ScalarStyle, is_named: bool) -> Option<(Bytes, Spelling)> {
        let [start, end] = [span.start, span.end].map(|it| self.bytes[it.index()]);
        let properties = PROPERTIES.find(&self.text[start..end]).filter(|_| is_named);
        let start = start + properties.map_or(0, |found| found.len());
        let source = self.text[start..end].trim_end_matches([' ', '\t', '\r', '\n']);
        let newline = self.newline;
        let range = start..start + source.len();
        Some(match style {
            // The span may extend to the end of a comment.
            ScalarStyle::DoubleQuoted => (start..start + string(source)?, Spelling::Quoted),
            ScalarStyle::SingleQuoted => (start..start + string(source)?, Spelling::Single),
            // Readers disagree about a colon after a text that contains one.
            ScalarStyle::Plain => {
                let is_key = self.text[range.end..]
                    .trim_start_matches(' ')
                    .starts_with(':');
                (!is_key).then_some((range, Spelling::Plain))?
            }
            ScalarStyle::Literal | ScalarStyle::Folded => {
                let block = Block::at(self.text, start, newline)?;
                // Lines that begin with white space are not folded.
                if block.is_folded() && source.contains(&format!("{newline}{} ", block.indent)) {
                    return None;
                }
                (
                    start - block.header.len()..range.end,
                    Spelling::Block(block),
                )
            }
        })
    }
}

/// Returns the length of the quoted string at the beginning of `text`.
fn string(text: &str) -> Option<usize> {
    static STRING: LazyLock<Regex> =
        LazyLock::new(|| regex(r#"^(?s:"(?:\\.|[^"\\])*"|'(?:''|[^'])*')"#));
    STRING.find(text).map(|string| string.len())
}
