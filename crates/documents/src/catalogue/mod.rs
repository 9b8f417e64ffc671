//! Catalogues: files of messages and their translations, such as PO, XLIFF and TMX. All bytes stay
//! unchanged, except in the slots of translated messages, their states, and what the file declares
//! about its languages and plural forms.

mod android;
mod fluent;
mod fluent_pattern;
mod json;
mod json_kinds;
mod language;
mod message;
mod notebook;
mod pairs;
mod plural;
mod po;
mod po_header;
mod qt;
mod resx;
mod spelling;
mod stringsdict;
mod tmx;
mod xcstrings;
mod xliff;
mod xliff_segments;
mod yaml;
mod yaml_scalar;

use std::collections::HashSet;

use burnformer_text::apply_edits;

pub(crate) use self::language::in_language;
pub(crate) use self::message::Slot;
pub use self::message::{BrokenCatalogue, Context, Message, MessageState};
use self::message::{Lines, Result, differ};
pub(crate) use self::message::{is_same, tag_of};
pub(crate) use self::spelling::{format_of, has_tags_of};
pub use self::tmx::stream_tmx;
use crate::format::Format;
use crate::plurals::{Categories, Plural, adapted};
use crate::words::Span;

/// A file of messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Catalogue {
    /// The messages, in the order of the file.
    pub messages: Vec<Message>,
    /// The source and target language as the file writes them; `None` if it does not name them.
    pub languages: [Option<String>; 2],
}

impl Catalogue {
    /// Reads `text`. `languages`, if given, must be the languages of the file, as codes such as
    /// `de` and `pt-BR`. In a file with more than two languages (TMX), they select the messages to
    /// read.
    ///
    /// # Errors
    /// If the file is broken or does not have these languages. A format that is not a catalogue has
    /// no messages.
    pub fn read(text: &str, format: Format, languages: [Option<&str>; 2]) -> Result<Self> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let (messages, found) = match format {
            Format::Po => po::read(text)?,
            Format::Xliff => xliff::read(text)?,
            Format::Qt => qt::read(text)?,
            Format::XcStrings => xcstrings::read(text, languages[1])?,
            Format::Tmx => {
                let mut messages = Vec::new();
                let found = tmx::stream((text.as_bytes(), false), languages, &mut |it| {
                    messages.push(it)
                })?;
                (messages, found)
            }
            _ => (texts(text, format)?.0, [None, None]),
        };
        let other = found.iter().zip(languages).find_map(|(found, asked)| {
            Some((found.as_ref()?, asked?)).filter(|(found, asked)| !is_same(found, asked))
        });
        if let Some((found, asked)) = other {
            let fault = format!(
                "the catalogue is in {found:?} and not in {asked:?}; name one of these languages, in this direction"
            );
            return Err(BrokenCatalogue { line: 1, fault });
        }
        Ok(Self {
            messages,
            languages: found,
        })
    }

    /// Like [`read`](Self::read), for a model between `languages` that fills the catalogue. Codes
    /// of no language are ignored, and so is another source language, except in TMX and string
    /// catalogues.
    ///
    /// # Errors
    /// If the file is broken, or its translations are in another language than the model's.
    pub fn read_into(text: &str, format: Format, languages: [Option<&str>; 2]) -> Result<Self> {
        let pair = if matches!(format, Format::Tmx | Format::XcStrings) {
            languages
        } else {
            [None; 2]
        };
        let catalogue = Self::read(text, format, pair)?;
        match (&catalogue.languages[1], languages[1]) {
            (Some(found), Some(target)) if differ(found, target) => {
                let fault = format!(
                    "the translations of the file are in {found:?}, and the model translates into {target:?}; \
                     take a model into {found:?}, or a file for {target:?}"
                );
                Err(BrokenCatalogue { line: 1, fault })
            }
            _ => Ok(catalogue),
        }
    }
}

/// Returns `text` with its plurals in the categories of `target`.
pub(crate) fn with_categories(text: &str, format: Format, target: &Categories) -> Result<String> {
    let outer = adapted(text, &texts(text, format)?.1, target);
    // Plurals inside the arms of others are adapted after them.
    Ok(adapted(&outer, &texts(&outer, format)?.1, target))
}

/// Returns the messages and plurals of a monolingual file.
fn texts(text: &str, format: Format) -> Result<(Vec<Message>, Vec<Plural>)> {
    let (mut all, plurals) = match format {
        Format::Json => json::read(text)?,
        Format::Yaml => yaml::read(text)?,
        Format::Fluent => fluent::read(text)?,
        Format::Properties => (pairs::properties(text)?, Vec::new()),
        Format::Android => android::read(text)?,
        Format::Strings => (pairs::strings(text)?, Vec::new()),
        Format::Resx => (resx::read(text)?, Vec::new()),
        Format::StringsDict => stringsdict::read(text)?,
        Format::Notebook => (notebook::read(text)?, Vec::new()),
        _ if format.is_foreign(text) => {
            let fault = format!("the file has no line of {format}; name its format with --format");
            return Err(BrokenCatalogue { line: 1, fault });
        }
        _ => Default::default(),
    };
    let lines = Lines::of(text);
    all.iter_mut()
        .for_each(|message| message.line = lines.number(message.slot.range.start));
    Ok((all, plurals))
}

/// Writes `translations` into their slots in `text`. The boolean says whether a translation differs
/// from the source. A message stays unchanged if none of its forms differs.
pub(crate) fn write(text: &str, translations: Vec<(Slot, String, bool)>) -> String {
    let changing = translations
        .iter()
        .filter(|(_, _, has_changed)| *has_changed);
    let groups: HashSet<usize> = changing.map(|(slot, ..)| slot.group).collect();
    let mut edits: Vec<(Span, String)> = Vec::new();
    let mut marks: Vec<(Span, String)> = Vec::new();
    for (slot, translation, _) in translations
        .iter()
        .filter(|it| groups.contains(&it.0.group))
    {
        let [open, close] = &slot.around;
        let written = format!("{open}{}{close}", slot.spelling.write(translation));
        edits.push((slot.range.clone(), written));
        marks.extend(slot.marks.iter().cloned());
    }
    // The forms of a message share marks; a stable sort keeps the order of insertions at one
    // offset.
    marks.sort_by_key(|(range, _)| (range.start, range.end));
    marks.dedup();
    edits.extend(marks);
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    apply_edits(text, &edits)
}
