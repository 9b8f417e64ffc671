//! A string catalogue while it is read.

use super::layout::Layout;
use crate::catalogue::message::{Lines, Message};
use crate::catalogue::spelling::Spelling;
use crate::json_tree::Value;
use crate::plurals::Categories;

/// The state of a translation that nobody has read.
pub(super) const TO_REVIEW: &str = "\"needs_review\"";

/// The file, and the messages that were found in it.
pub(super) struct File<'a> {
    pub(super) text: &'a str,
    pub(super) lines: Lines,
    pub(super) layout: Layout<'a>,
    pub(super) spelling: Spelling,
    /// The plural categories of the target language.
    pub(super) categories: Option<Categories>,
    /// The source and target language.
    pub(super) languages: [&'a str; 2],
    pub(super) messages: Vec<Message>,
}

pub(super) fn is_object(text: &str, value: &Value) -> bool {
    text[value.range.clone()].starts_with('{')
}

/// Returns whether a localization has a text.
pub(super) fn has_text(value: &Value) -> bool {
    let is_unit = value.key == "stringUnit" && value.get("value").is_some();
    is_unit || value.children.iter().any(has_text)
}
