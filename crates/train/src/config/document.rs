//! A TOML text that is checked key by key and type by type, so that errors can name the line.

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;

use serde::Deserialize;
use toml::de::{DeTable, DeValue, Deserializer, Error};
use toml::{Spanned, Table};

use super::TrainConfig;
use super::layers::{ConfigFileError, known_keys, nearest};

/// The largest size of a configuration file in bytes. All keys together take a few thousand.
const LONGEST_FILE: u64 = 1 << 20;

/// The content of a configuration file.
pub(super) struct Document {
    /// The value of the key `preset`.
    pub preset: Option<String>,
    /// All other keys. They exist and have the right types.
    pub table: Table,
}

/// Reads the file at `path`, but no more than the largest size of a configuration.
pub(super) fn read(path: &Path) -> Result<Document, ConfigFileError> {
    let unreadable = |source| ConfigFileError::Unreadable { path: path.into(), source };
    let file = File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.take(LONGEST_FILE + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    let place = path.display().to_string();
    if bytes.len() as u64 > LONGEST_FILE {
        let message = format!("longer than {LONGEST_FILE} bytes; is this a configuration file?");
        return Err(ConfigFileError::Syntax { place, message });
    }
    match std::str::from_utf8(&bytes) {
        Ok(text) => parse(&place, text),
        Err(error) => {
            let at = error.valid_up_to();
            let place = format!("{place}:{}", line_at(&bytes, at));
            let message = format!("byte 0x{:02x} is not UTF-8; save the file as UTF-8", bytes[at]);
            Err(ConfigFileError::Syntax { place, message })
        }
    }
}

/// Parses and checks `text`, which error messages call `place`.
pub(super) fn parse(place: &str, text: &str) -> Result<Document, ConfigFileError> {
    let at = |span: Option<Range<usize>>| match span {
        Some(span) => format!("{place}:{}", line_at(text.as_bytes(), span.start)),
        None => place.to_string(),
    };
    let syntax = |error: Error| ConfigFileError::Syntax {
        place: at(error.span()),
        message: error.message().to_string(),
    };
    let mut parsed = DeTable::parse(text).map_err(syntax)?;
    let preset = preset(parsed.get_mut(), &at)?;
    remove_retired(parsed.get_mut());
    if let Some((key, span)) = first_unknown(parsed.get_ref(), &known_keys()) {
        let known = known_keys();
        let nearest = nearest(&key, known.iter().map(String::as_str));
        return Err(ConfigFileError::UnknownKey { place: at(Some(span)), key, nearest });
    }
    TrainConfig::deserialize(Deserializer::from(parsed.clone())).map_err(|whole| {
        let found = first_wrong(parsed.get_ref(), &|table| table);
        let (error, span) =
            found.map_or_else(|| (whole.clone(), whole.span()), |(e, at)| (e, Some(at)));
        ConfigFileError::Type { place: at(span), message: one_line(&error) }
    })?;
    let table = Table::deserialize(Deserializer::from(parsed)).map_err(syntax)?;
    Ok(Document { preset, table })
}

/// Takes the `preset` key out of `table`.
fn preset(
    table: &mut DeTable,
    at: &dyn Fn(Option<Range<usize>>) -> String,
) -> Result<Option<String>, ConfigFileError> {
    let Some(value) = table.remove("preset") else {
        return Ok(None);
    };
    match value.get_ref() {
        DeValue::String(name) => Ok(Some(name.to_string())),
        _ => {
            let message = "preset must be a name in quotes, such as preset = \"small\"".into();
            Err(ConfigFileError::Type { place: at(Some(value.span())), message })
        }
    }
}

/// Takes the keys out of `table` that only earlier versions know, where they switch their option off. The file of a run
/// names every key, and the run of an earlier version can go on.
fn remove_retired(table: &mut DeTable) {
    let is_off = |section: &DeTable, key: &str| match section.get(key).map(Spanned::get_ref) {
        Some(DeValue::Integer(number)) => number.as_str() == "0",
        Some(DeValue::Float(number)) => number.as_str().parse() == Ok(0.0),
        _ => false,
    };
    let section = |value: &mut Spanned<DeValue>| matches!(value.get_ref(), DeValue::Table(own) if is_off(own, "models"));
    if table.get_mut("diversification").is_some_and(section) {
        table.remove("diversification");
    }
    if let Some(DeValue::Table(training)) = table.get_mut("training").map(Spanned::get_mut)
        && is_off(training, "word_dropout")
    {
        training.remove("word_dropout");
    }
}

/// The first key in the text, dotted, that does not exist.
fn first_unknown(table: &DeTable, known: &[String]) -> Option<(String, Range<usize>)> {
    fn walk(
        prefix: &str,
        table: &DeTable,
        known: &[String],
        found: &mut Vec<(String, Range<usize>)>,
    ) {
        for (key, value) in table {
            let name: &str = key.get_ref();
            let path = if prefix.is_empty() { name.into() } else { format!("{prefix}.{name}") };
            if !known.contains(&path) {
                found.push((path, key.span()));
            } else if let DeValue::Table(inner) = value.get_ref() {
                walk(&path, inner, known, found);
            }
        }
    }
    let mut found = Vec::new();
    walk("", table, known, &mut found);
    found.into_iter().min_by_key(|(_, span)| span.start)
}

/// The error of the first value in `table` that is of the wrong type, and its place. `whole` makes a configuration of a part
/// of the table.
fn first_wrong<'i>(
    table: &DeTable<'i>,
    whole: &dyn Fn(DeTable<'i>) -> DeTable<'i>,
) -> Option<(Error, Range<usize>)> {
    table.iter().find_map(|(key, value)| {
        let with = |value| whole(DeTable::from_iter([(key.clone(), value)]));
        match value.get_ref() {
            DeValue::Table(inner) => {
                first_wrong(inner, &|table| with(Spanned::new(value.span(), DeValue::Table(table))))
            }
            _ => {
                let alone = Spanned::new(value.span(), with(value.clone()));
                let error = TrainConfig::deserialize(Deserializer::from(alone)).err()?;
                Some((error, value.span()))
            }
        }
    })
}

/// The line, counted from 1, of the byte at `at`.
fn line_at(text: &[u8], at: usize) -> usize {
    1 + text[..at.min(text.len())].iter().filter(|&&byte| byte == b'\n').count()
}

/// A parser's message without its line breaks and Rust's names of types.
pub(super) fn one_line(error: &Error) -> String {
    let message = error.to_string().trim_end().replace('\n', " ");
    let names = [
        ("expected usize", WHOLE),
        ("expected u64", WHOLE),
        ("expected u32", WHOLE),
        ("expected f64", "expected a number"),
    ];
    names.iter().fold(message, |message, (name, words)| message.replace(name, words))
}

/// The words that replace Rust's types of whole numbers in a message.
const WHOLE: &str = "expected a whole number, 0 or more,";
