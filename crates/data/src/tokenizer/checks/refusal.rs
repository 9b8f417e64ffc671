//! Reasons for which a file is refused.

/// A part of a `tokenizer.json`, and why it cannot be used, with the remedy.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::tokenizer) struct Refusal {
    pub part: String,
    pub message: String,
}

pub(super) type Checked<T = ()> = Result<T, Refusal>;

/// The error for `part`.
pub(super) fn refusal<T>(part: &str, message: impl Into<String>) -> Checked<T> {
    Err(Refusal { part: part.to_owned(), message: message.into() })
}
