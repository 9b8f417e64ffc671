//! Options that requests for texts and for documents share.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::super::body::Texts;
use super::super::error::ApiError;

/// An option that no model here can follow, and that changes the translation: only null is taken.
pub(super) fn refused<'de, D: Deserializer<'de>>(from: D) -> Result<(), D::Error> {
    match Option::<Value>::deserialize(from)? {
        None => Ok(()),
        Some(_) => Err(D::Error::custom("no model of this server can follow it; leave it out")),
    }
}

/// `value` of the option `field` without spaces and in small letters; empty where there is none.
///
/// # Errors
/// If it is none of `known`.
pub(super) fn known(field: &str, value: Option<&str>, known: &[&str]) -> Result<String, ApiError> {
    let value = value.unwrap_or_default().trim().to_lowercase();
    if value.is_empty() || known.contains(&&*value) {
        return Ok(value);
    }
    let error = format!("{value} is not supported");
    Err(ApiError::bad(field, error, format!("one of {}", known.join(", "))))
}

/// Checks the form of address, of which models do not know.
///
/// # Errors
/// If one is demanded, and not only preferred.
pub(super) fn check_formality(formality: Option<&str>, target: &str) -> Result<(), ApiError> {
    let all = ["default", "prefer_less", "prefer_more", "less", "more"];
    let formality = known("formality", formality, &all)?;
    if formality == "less" || formality == "more" {
        let error = format!("Target language '{target}' doesn't support formality");
        return Err(ApiError::bad("formality", error, all[..3].join(", ")));
    }
    Ok(())
}

/// The items of a list, which may stand in texts with commas.
pub(super) fn items(texts: Option<Texts>) -> Vec<String> {
    let (texts, _) = texts.map(Texts::into_list).unwrap_or_default();
    let items = texts.iter().flat_map(|text| text.split(','));
    items.map(|item| item.trim().to_owned()).filter(|item| !item.is_empty()).collect()
}
