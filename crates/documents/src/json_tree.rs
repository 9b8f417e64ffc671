//! JSON as a tree of values with their byte ranges.

use std::sync::LazyLock;

use regex::Regex;
use serde::de::IgnoredAny;

use crate::catalogue::BrokenCatalogue;
use crate::words::{Span, regex};

/// A string, the beginning or end of an object or list, or another value.
static TOKEN: LazyLock<Regex> = LazyLock::new(|| regex(r#""(?:\\.|[^"\\])*"|[{}\[\]]|[-+.\w]+"#));

/// A value of a JSON file, with the values in it.
#[derive(Debug, Default)]
pub(crate) struct Value {
    /// The key in the enclosing object; empty in a list.
    pub(crate) key: String,
    /// The first byte of the key, or of the value in a list.
    pub(crate) start: usize,
    /// The byte range of the value, with its quotes or brackets.
    pub(crate) range: Span,
    /// The values in an object or list.
    pub(crate) children: Vec<Value>,
}

impl Value {
    /// Returns the value of `key` in this object. The last one counts, as in most readers.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        self.children.iter().rev().find(|child| child.key == key)
    }

    /// Returns the string that this value is in the file `text`.
    pub(crate) fn string(&self, text: &str) -> Option<String> {
        serde_json::from_str(&text[self.range.clone()]).ok()
    }

    /// Returns the byte range between the quotes of a string.
    pub(crate) fn inner(&self) -> Span {
        self.range.start + 1..self.range.end - 1
    }
}

/// Checks that `text` is JSON.
///
/// # Errors
/// If it is not, or is nested deeper than serde_json reads (128).
pub(crate) fn check(text: &str) -> Result<(), BrokenCatalogue> {
    let checked = serde_json::from_str::<IgnoredAny>(text);
    checked.map(drop).map_err(|error| BrokenCatalogue {
        line: error.line().max(1),
        fault: format!("the JSON is broken: {error}; `python3 -m json.tool FILE` shows more"),
    })
}

/// Reads the file `text`.
///
/// # Errors
/// As [`check`].
pub(crate) fn value(text: &str) -> Result<Value, BrokenCatalogue> {
    check(text)?;
    let mut open = vec![Value::default()];
    let mut key: Option<(String, usize)> = None;
    for token in TOKEN.find_iter(text) {
        let is_end = matches!(token.as_str(), "}" | "]");
        if is_end && open.len() > 1 {
            let mut ended = open.pop().unwrap_or_default();
            ended.range.end = token.end();
            add(&mut open, ended);
            continue;
        }
        let is_key = key.is_none()
            && token.as_str().starts_with('"')
            && text[token.end()..].trim_start().starts_with(':');
        if is_key {
            let name = serde_json::from_str(token.as_str()).unwrap_or_default();
            key = Some((name, token.start()));
            continue;
        }
        let (key, start) = key.take().unwrap_or((String::new(), token.start()));
        let value = Value {
            key,
            start,
            range: token.range(),
            children: Vec::new(),
        };
        if matches!(token.as_str(), "{" | "[") {
            open.push(value);
        } else {
            add(&mut open, value);
        }
    }
    let root = open.swap_remove(0).children.pop();
    Ok(root.unwrap_or_default())
}

fn add(open: &mut [Value], value: Value) {
    if let Some(parent) = open.last_mut() {
        parent.children.push(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_the_bytes_of_the_file() {
        let text = r#"{"a\u0020b" : [1.5e3, "{", null, {}], "c": {"d": "\"x\""}, "c": "é"}"#;
        let root = value(text).unwrap();
        assert_eq!(&text[root.range.clone()], text);
        let list = root.get("a b").unwrap();
        let parts: Vec<&str> = list
            .children
            .iter()
            .map(|it| &text[it.range.clone()])
            .collect();
        assert_eq!(parts, ["1.5e3", "\"{\"", "null", "{}"]);
        assert_eq!(list.start, 1);
        assert_eq!(root.get("c").unwrap().string(text).unwrap(), "é");
        assert_eq!(root.children[1].children[0].string(text).unwrap(), "\"x\"");
        assert!(value(&"[".repeat(500)).is_err() && value("").is_err());
        assert_eq!(&text[list.children[1].inner()], "{");
    }
}
