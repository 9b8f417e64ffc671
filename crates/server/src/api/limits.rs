//! The limits on every field of every request, in one table.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::error::{ApiError, Result};
use crate::settings::Limits;

/// The maximum number of characters of a language code, the name of a format, a number or any other
/// word.
const MAX_WORD: usize = 64;
/// The maximum number of characters of a key.
const MAX_KEY: usize = 512;
/// The maximum number of characters of the name of a glossary.
const MAX_NAME: usize = 256;
/// The maximum number of characters of a term and its translations. `burnformer-terminology` has
/// tighter limits with a better message.
const MAX_TERM: usize = 10_000;
/// The maximum number of characters of a list separated by commas.
const MAX_LIST: usize = 4_000;
/// The maximum number of characters of the terms of a glossary, as a multiple of the limit for
/// texts.
const MAX_ENTRIES: usize = 5;
/// The maximum number of language pairs of a glossary.
const MAX_DICTIONARIES: usize = 100;
/// The maximum number of values of a field with a single value. Some programs send objects in
/// fields of other requests; these are ignored.
const MAX_VALUES: usize = 16;
/// The maximum number of characters of a path.
pub(crate) const MAX_PATH: usize = 512;

/// The bounds of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bounds {
    /// The maximum number of characters of each of its texts.
    characters: usize,
    /// The maximum number of values in it, including the lists and objects around them.
    values: usize,
}

/// The bounds of the field `name` of a request, or of an object in one; `None` if no request has
/// it. The texts of a request together, and their number, have the tighter bounds of
/// [`Service::check_texts`](super::Service::check_texts).
fn bounds(name: &str, limits: &Limits) -> Option<Bounds> {
    // A sentence with a prefix and a pair of terms are three values.
    let texts = 4 * limits.texts + 4;
    let terms = 4 * limits.terms + 4;
    let (characters, values) = match name {
        "q" | "text" | "texts" | "sentences" => (limits.characters, texts),
        "sentence" | "prefix" | "translation" | "context" => (limits.characters, MAX_VALUES),
        "entries" => (MAX_ENTRIES * limits.characters, MAX_VALUES),
        "glossary" => (MAX_TERM, terms),
        "dictionaries" => (MAX_WORD, 6 * MAX_DICTIONARIES),
        "ignore_tags" => (MAX_LIST, 128),
        "glossary_id" | "glossary_ids" => (MAX_NAME, MAX_VALUES),
        "name" => (MAX_NAME, MAX_VALUES),
        "api_key" | "document_key" => (MAX_KEY, MAX_VALUES),
        // The body has a limit, and the unpacked file has a price.
        "file" => (usize::MAX, MAX_VALUES),
        "source"
        | "target"
        | "source_lang"
        | "target_lang"
        | "type"
        | "format"
        | "alternatives"
        | "beam"
        | "length_penalty"
        | "links"
        | "tag_handling"
        | "split_sentences"
        | "preserve_formatting"
        | "formality"
        | "model_type"
        | "output_format"
        | "entries_format"
        | "style_id"
        | "custom_instructions"
        | "translation_memory_id"
        | "translation_memory_threshold"
        | "resource"
        | "page"
        | "page_size" => (MAX_WORD, MAX_VALUES),
        _ => return None,
    };
    Some(Bounds { characters, values })
}

/// Checks a text of the field `name`.
///
/// # Errors
/// Returns an error with the field and its limit if the text is longer.
pub(super) fn check_text(name: &str, text: &str, limits: &Limits) -> Result<()> {
    let Some(Bounds {
        characters: max, ..
    }) = bounds(name, limits)
    else {
        return Ok(());
    };
    if text.len() <= max {
        return Ok(());
    }
    match text.chars().count() {
        count if count > max => {
            let error = format!("{name} has {count} characters, more than the {max} allowed");
            Err(ApiError::bad(name, error, "send a shorter one"))
        }
        _ => Ok(()),
    }
}

/// Checks the number of values of the field `name`.
///
/// # Errors
/// Returns an error with the field and its limit if there are more.
pub(super) fn check_count(name: &str, count: usize, limits: &Limits) -> Result<()> {
    match bounds(name, limits) {
        Some(Bounds { values: max, .. }) if count > max => {
            let error = format!("{name} has more values than the {max} allowed");
            Err(ApiError::bad(name, error, "send fewer at a time"))
        }
        _ => Ok(()),
    }
}

/// Checks all fields of a JSON body without keeping anything in memory. A body that is not an
/// object is left to the deserializer.
///
/// # Errors
/// Returns an error with the field and its limit if a text or a list is longer.
pub(super) fn check_json(text: &str, limits: &Limits) -> Result<()> {
    let mut found = Ok(());
    let mut values = 0;
    let checker = Checker {
        name: "",
        outer: "",
        values: &mut values,
        limits,
        found: &mut found,
    };
    let mut json = serde_json::Deserializer::from_str(text);
    // Other errors are reported better by the deserializer, which knows the types of the fields.
    let _ = checker.deserialize(&mut json);
    found
}

/// Deserializes a JSON value and checks it.
struct Checker<'a> {
    /// The name of the nearest field around the value.
    name: &'a str,
    /// The name of the outermost field around the value, and below the number of values in it so
    /// far.
    outer: &'a str,
    values: &'a mut usize,
    limits: &'a Limits,
    found: &'a mut Result<()>,
}

impl Checker<'_> {
    /// Records the result of a check, and stops at an error.
    fn note<E: Error>(&mut self, checked: Result<()>) -> Result<(), E> {
        if checked.is_ok() {
            return Ok(());
        }
        *self.found = checked;
        Err(E::custom("beyond a limit"))
    }

    fn inside(&mut self) -> Checker<'_> {
        Checker {
            name: self.name,
            outer: self.outer,
            values: self.values,
            limits: self.limits,
            found: self.found,
        }
    }
}

impl<'de> DeserializeSeed<'de> for Checker<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(mut self, from: D) -> Result<(), D::Error> {
        *self.values += 1;
        let checked = check_count(self.outer, *self.values, self.limits);
        self.note(checked)?;
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Checker<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(mut self, text: &str) -> Result<(), E> {
        let checked = check_text(self.name, text, self.limits);
        self.note(checked)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(self.inside())?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut fields: A) -> Result<(), A::Error> {
        let is_request = self.outer.is_empty();
        let is_known = is_request || bounds(self.outer, self.limits).is_some();
        while let Some(name) = fields.next_key::<String>()? {
            let mut checker = self.inside();
            if is_known {
                checker.name = &name;
            }
            if is_request {
                checker.outer = &name;
                *checker.values = 0;
            }
            fields.next_value_seed(checker)?;
        }
        Ok(())
    }
}
