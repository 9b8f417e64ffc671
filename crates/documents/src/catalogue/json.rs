//! JSON: the strings of objects and lists; ARB, in which they are messages of ICU.

use std::sync::LazyLock;

use regex::Regex;
use serde::de::IgnoredAny;

use super::keys::Keys;
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
