//! JSON: the strings of objects and lists; ARB, in which they are messages of ICU. YAML has objects
//! and lists, too.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use serde::de::IgnoredAny;

use super::message::{BrokenCatalogue, Message};
use super::spelling::Spelling;
use crate::words::regex;

/// A string, or the beginning or the end of an object or a list.
static TOKEN: LazyLock<Regex> = LazyLock::new(|| regex(r#""(?:\\.|[^"\\])*"|[{}\[\]]"#));

/// The texts of `text`.
pub(super) fn read(text: &str) -> Result<Vec<Message>, BrokenCatalogue> {
    serde_json::from_str::<IgnoredAny>(text).map_err(|error| BrokenCatalogue {
        line: error.line().max(1),
        fault: format!("the JSON is broken: {error}; `python3 -m json.tool FILE` shows more"),
    })?;
    let spelling = Spelling::Json(text.is_ascii() && text.contains("\\u"));
    let mut keys = Keys::default();
    for token in TOKEN.find_iter(text) {
        match token.as_str() {
            "{" | "[" => keys.open(false),
            "}" | "]" => keys.close(),
            string => {
                let value = serde_json::from_str::<String>(string).ok();
                let range = token.start() + 1..token.end() - 1;
                match text[token.end()..].trim_start().starts_with(':') {
                    true => keys.key(value.unwrap_or_default()),
                    false => keys.value(range, value, spelling.clone()),
                }
            }
        }
    }
    Ok(keys.texts)
}

/// The keys of the text of an entry (browsers' extensions, FormatJS, Transifex), and of what tells
/// about it.
const TEXTS: [&str; 3] = ["message", "defaultMessage", "string"];
const NOTES: [&str; 5] =
    ["description", "placeholders", "developer_comment", "character_limit", "context"];

/// The texts of a file, read in its order.
#[derive(Default)]
pub(super) struct Keys {
    open: Vec<Container>,
    pub(super) texts: Vec<Message>,
}

/// An object or a list.
#[derive(Default)]
struct Container {
    name: String,
    /// The number of texts before it.
    start: usize,
    /// The key of the next value; none in a list.
    key: Option<String>,
    /// If true, nothing in it is translated.
    is_kept: bool,
    /// If true, it has one of [`TEXTS`].
    is_entry: bool,
    /// The texts of its [`NOTES`].
    notes: Vec<Range<usize>>,
}

impl Keys {
    /// The key of the next value.
    pub(super) fn key(&mut self, key: String) {
        if let Some(container) = self.open.last_mut() {
            container.key = Some(key);
        }
    }

    /// Takes the key of the next value, and whether it stays unchanged: keys that begin with `@` or
    /// `$` tell about others, and so do those below an empty key.
    fn next(&mut self) -> (String, bool) {
        let Some(container) = self.open.last_mut() else { return Default::default() };
        let key = container.key.take();
        let tells = |key: &str| key.is_empty() || key.starts_with(['@', '$']);
        let is_kept = container.is_kept || key.as_deref().is_some_and(tells);
        (key.unwrap_or_default(), is_kept)
    }

    /// Begins an object or a list; one that is a key is `kept`.
    pub(super) fn open(&mut self, kept: bool) {
        let ((name, is_kept), start) = (self.next(), self.texts.len());
        let is_kept = is_kept || kept;
        self.open.push(Container { name, start, is_kept, ..Container::default() });
    }

    /// Ends an object or a list. Notes in an entry of the file stay unchanged.
    pub(super) fn close(&mut self) {
        let Some(Container { name, start, is_entry, notes, .. }) = self.open.pop() else { return };
        if is_entry && self.open.len() == 1 {
            notes.into_iter().rev().for_each(|note| drop(self.texts.drain(note)));
        }
        self.end(&name, start);
    }

    /// Ends the value of `key`, before which were `start` texts.
    fn end(&mut self, key: &str, start: usize) {
        let Some(container) = self.open.last_mut() else { return };
        container.is_entry |= TEXTS.contains(&key);
        container.notes.extend(NOTES.contains(&key).then_some(start..self.texts.len()));
    }

    /// A value at `range`; without a text, it stays unchanged.
    pub(super) fn value(&mut self, range: Range<usize>, text: Option<String>, spelling: Spelling) {
        let ((key, is_kept), start) = (self.next(), self.texts.len());
        let source = text.filter(|_| !is_kept);
        self.texts.extend(source.map(|source| Message::text(key.clone(), range, source, spelling)));
        self.end(&key, start);
    }
}
