//! A TOML text that is checked key by key and type by type, so that errors can name the line.

use std::ops::Range;
use std::path::Path;

use burnformer_files::{FileKind, read_whole};
use serde::Deserialize;
use serde_path_to_error::Segment;
use toml::de::{DeTable, DeValue, Deserializer, Error};
use toml::{Table, Value};

use super::error::{ConfigFileError, Result};
use super::peers::hint;
use super::reference::schema;
use super::train_config::TrainConfig;

/// The content of a configuration file.
#[derive(Default)]
pub(super) struct Document {
    /// The value of the key `preset`.
    pub preset: Option<String>,
    /// All other keys. They exist and have the right types.
    pub table: Table,
}

/// Reads the file at `path`.
pub(super) fn read(path: &Path) -> Result<Document> {
    let bytes =
        read_whole(path, FileKind::SETTINGS).map_err(|error| ConfigFileError::Unreadable {
            path: path.into(),
            source: error.into_io(),
        })?;
    let location = path.display().to_string();
    match std::str::from_utf8(&bytes) {
        Ok(text) => parse(&location, text),
        Err(error) => {
            let at = error.valid_up_to();
            let location = format!("{location}:{}", line_at(&bytes, at));
            let message = format!(
                "byte 0x{:02x} is not UTF-8; save the file as UTF-8",
                bytes[at]
            );
            Err(ConfigFileError::Syntax { location, message })
        }
    }
}

/// The text of a configuration, and its name in errors.
pub(super) struct Source<'a> {
    pub name: &'a str,
    /// The text; empty if values have no position.
    pub text: &'a str,
}

impl Source<'_> {
    /// The name, and the line where `span` begins.
    fn at(&self, span: Option<Range<usize>>) -> String {
        match span {
            Some(span) => format!(
                "{}:{}",
                self.name,
                line_at(self.text.as_bytes(), span.start)
            ),
            None => self.name.to_string(),
        }
    }

    /// The start of the text at `span`.
    fn excerpt(&self, span: Option<Range<usize>>) -> Option<String> {
        let line = self.text.get(span?)?.lines().next()?;
        Some(line.chars().take(40).collect())
    }
}

/// Parses and checks `text`, which error messages call `location`.
pub(super) fn parse(location: &str, text: &str) -> Result<Document> {
    let source = Source {
        name: location,
        text,
    };
    let mut parsed = DeTable::parse(text).map_err(|error| ConfigFileError::Syntax {
        location: source.at(error.span()),
        message: error.message().to_string(),
    })?;
    let preset = preset(parsed.get_mut(), &source)?;
    if let Some((key, span)) = first_unknown("", parsed.get_ref(), &known_keys()) {
        check_key(&source.at(Some(span)), &key)?;
    }
    typed(Deserializer::from(parsed.clone()), &source)?;
    let table = Table::deserialize(Deserializer::from(parsed)).map_err(|error| {
        ConfigFileError::Syntax {
            location: source.at(error.span()),
            message: error.message().to_string(),
        }
    })?;
    Ok(Document { preset, table })
}

/// Takes the `preset` key out of `table`.
fn preset(table: &mut DeTable, source: &Source) -> Result<Option<String>> {
    let Some(value) = table.remove("preset") else {
        return Ok(None);
    };
    match value.get_ref() {
        DeValue::String(name) => Ok(Some(name.to_string())),
        _ => {
            let message = "preset must be a name in quotes, such as preset = \"small\"".into();
            Err(ConfigFileError::Type {
                location: source.at(Some(value.span())),
                message,
            })
        }
    }
}

/// The first key in the text at or below `prefix`, dotted, that does not exist.
fn first_unknown(
    prefix: &str,
    table: &DeTable,
    known: &[String],
) -> Option<(String, Range<usize>)> {
    let mut first: Option<(String, Range<usize>)> = None;
    for (key, value) in table {
        let path = joined(prefix, key.get_ref());
        let unknown_key = match value.get_ref() {
            _ if !known.contains(&path) => Some((path, key.span())),
            DeValue::Table(inner) => first_unknown(&path, inner, known),
            _ => None,
        };
        first = first
            .into_iter()
            .chain(unknown_key)
            .min_by_key(|(_, span)| span.start);
    }
    first
}

fn joined(prefix: &str, key: &str) -> String {
    if prefix.is_empty() {
        key.into()
    } else {
        format!("{prefix}.{key}")
    }
}

/// Every key that exists, dotted, sections included.
pub(super) fn known_keys() -> Vec<String> {
    let all = Table::try_from(TrainConfig::default()).expect("a configuration is plain data");
    entries("", &all).into_iter().map(|(key, _)| key).collect()
}

/// The values of `table` and of its tables, each with its dotted key.
pub(crate) fn entries<'a>(prefix: &str, table: &'a Table) -> Vec<(String, &'a Value)> {
    let mut all = Vec::new();
    for (key, value) in table {
        let path = joined(prefix, key);
        if let Some(inner) = value.as_table() {
            all.extend(entries(&path, inner));
        }
        all.push((path, value));
    }
    all
}

/// Checks that the key `key`, given at `location`, exists.
pub(super) fn check_key(location: &str, key: &str) -> Result<()> {
    let keys = known_keys();
    if keys.iter().any(|name| name == key) {
        return Ok(());
    }
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let hint = hint(key, &keys);
    Err(ConfigFileError::UnknownKey {
        location: location.into(),
        key: key.into(),
        hint,
    })
}

/// The line, counted from 1, of the byte at `at`.
fn line_at(text: &[u8], at: usize) -> usize {
    1 + text[..at.min(text.len())]
        .iter()
        .filter(|&&byte| byte == b'\n')
        .count()
}

/// The configuration in `values`, from `source`.
pub(super) fn typed<'de>(
    values: impl serde::Deserializer<'de, Error = Error>,
    source: &Source,
) -> Result<TrainConfig> {
    serde_path_to_error::deserialize(values).map_err(|error| {
        let key = error.path().to_string();
        let number = number_at(error.path());
        let error = error.into_inner();
        let message = match (number, source.excerpt(error.span())) {
            (Some(number), Some(value)) => format!("{key} is {value}; it must be {number}"),
            (Some(number), None) => format!("{key} must be {number}"),
            // A path of no keys is a dot.
            (None, _) if key == "." => error.message().into(),
            (None, _) => format!("{} in {key}", error.message()),
        };
        ConfigFileError::Type {
            location: source.at(error.span()),
            message,
        }
    })
}

/// The kind of number that the key at `path` takes, in words; `None` if it takes no number.
fn number_at(path: &serde_path_to_error::Path) -> Option<&'static str> {
    let root = schema::of::<TrainConfig>();
    let key = path
        .iter()
        .try_fold(root.as_value(), |table, segment| match segment {
            Segment::Map { key } => table["properties"].get(key),
            // Serde takes a list for a table, too.
            Segment::Seq { index } => table
                .get("items")
                .or_else(|| table["properties"].as_object()?.values().nth(*index)),
            _ => None,
        });
    match key?["type"].as_str()? {
        "integer" => Some("a whole number, 0 or more"),
        "number" => Some("a number"),
        _ => None,
    }
}
