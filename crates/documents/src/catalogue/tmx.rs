//! TMX 1.4: units with a text in each of several languages.

use std::collections::BTreeSet;
use std::io::{BufRead, Read};

use super::message::{BrokenCatalogue, Message, MessageState, Result, Slot, is_same};
use super::xliff::content;
use crate::encoding::tmx_as_utf8;
use crate::words::Span;
use crate::xml::{Element, elements};

/// Maximum number of bytes in a unit, and in everything outside of units.
const MAX_BYTES: usize = 16 << 20;
/// Maximum number of languages listed in an error.
const MAX_LANGUAGES: usize = 40;

/// Reads a translation memory (TMX) from `file` and passes its messages to `each` one by one, so
/// the file may be larger than memory. Returns the languages of the first message.
///
/// `languages` are the codes of the source and target language. By default, the source is the
/// file's source language, and the target is the first other language of each unit.
///
/// # Errors
/// If the file is broken, is not valid in its encoding, cannot be read, or has no text in these
/// languages.
pub fn stream_tmx(
    file: impl BufRead,
    languages: [Option<&str>; 2],
    each: &mut dyn FnMut(Message),
) -> Result<[Option<String>; 2]> {
    let file = tmx_as_utf8(file).map_err(|fault| BrokenCatalogue { line: 1, fault })?;
    stream(file, languages, each)
}

/// Like [`stream_tmx`], for a file already in UTF-8, whatever encoding it declares. `is_decoded`
/// says whether it was converted from another encoding.
pub(super) fn stream(
    (mut file, is_decoded): (impl BufRead, bool),
    languages: [Option<&str>; 2],
    each: &mut dyn FnMut(Message),
) -> Result<[Option<String>; 2]> {
    let mut outside = String::new();
    let mut known_languages = BTreeSet::new();
    let mut first = None;
    let mut source = None;
    let mut line = 1;
    let mut at = 0;
    let mut count = 0;
    while let Some(text) = next_unit(&mut file, line, is_decoded)? {
        let is_start = |at: usize| !text[at + 3..].starts_with(char::is_alphanumeric);
        let start = text
            .rmatch_indices("<tu")
            .map(|(at, _)| at)
            .find(|&at| is_start(at));
        let (before, unit) =
            text.split_at(start.filter(|_| text.ends_with('>')).unwrap_or(text.len()));
        let lines = before.matches('\n').count();
        outside += before;
        if !unit.is_empty() {
            let line = line + lines;
            let at = at + before.len();
            let source = source.get_or_insert_with(|| source_of(&outside));
            let all = elements(unit).map_err(|error| BrokenCatalogue {
                line: line + error.line - 1,
                ..error
            })?;
            count += 1;
            let languages = [languages[0].or(source.as_deref()), languages[1]];
            if let Some((mut message, pair)) = message(unit, &all, languages) {
                let Span { start, end } = message.slot.range;
                message.slot = Slot {
                    range: at + start..at + end,
                    group: count,
                    ..message.slot
                };
                first.get_or_insert(pair.map(Some));
                each(Message { line, ..message });
            }
            let more = variants(unit, &all).map(|(language, _)| language);
            known_languages.extend(more.take(MAX_LANGUAGES.saturating_sub(known_languages.len())));
            // Keeps the line numbers outside of units.
            outside += &"\n".repeat(unit.matches('\n').count());
        }
        line += text.matches('\n').count();
        at += text.len();
    }
    let fault = match elements(&outside)?.first() {
        Some(root) if root.name == "tmx" && (first.is_some() || count == 0) => {
            return Ok(first.unwrap_or_default());
        }
        Some(root) if root.name == "tmx" => {
            let [from, to] = languages.map(|language| language.unwrap_or("another language"));
            let known_languages = Vec::from_iter(known_languages).join(", ");
            format!(
                "no unit has a text in {from} beside one in {to}, but in {known_languages}; add \
                 the other `tuv`, empty where it is to be translated, or take a memory of the \
                 model's languages"
            )
        }
        _ => "the file is no TMX: it has no element `tmx`; export the memory as TMX 1.4".into(),
    };
    Err(BrokenCatalogue { line: 1, fault })
}

/// Returns whether `text` ends with the end tag of a unit.
fn is_end_of_unit(text: &[u8]) -> bool {
    text.strip_suffix(b">")
        .is_some_and(|tag| tag.trim_ascii_end().ends_with(b"</tu"))
}

/// Returns the text up to the end of the next unit, which begins at `line`, or of the file. Returns
/// `None` at the end.
fn next_unit(file: &mut impl BufRead, line: usize, is_decoded: bool) -> Result<Option<String>> {
    let mut text = Vec::new();
    let broken = |fault| BrokenCatalogue { line, fault };
    loop {
        let limit = MAX_BYTES - text.len();
        let read = file.by_ref().take(limit as u64).read_until(b'>', &mut text);
        let read = read.map_err(|error| broken(error.to_string()))?;
        if limit == 0 {
            let fault =
                "16 MiB without the end of a unit (`tu`); take comments and attachments away";
            return Err(broken(fault.into()));
        }
        if read == 0 || is_end_of_unit(&text) {
            break;
        }
    }
    let fault = "the memory is not in UTF-8, or not in the encoding that its first line names; \
        `iconv -f ITS-ENCODING -t UTF-8 OLD > NEW` converts it";
    let text = String::from_utf8(text)
        .ok()
        .filter(|it| !is_decoded || !it.contains('\u{fffd}'));
    let text = text.ok_or_else(|| broken(fault.into()))?;
    Ok((!text.is_empty()).then_some(text))
}

/// Returns the source language in the header, unless it is `*all*`.
fn source_of(outside: &str) -> Option<String> {
    let value = outside
        .split_once("srclang=")?
        .1
        .get(1..)?
        .split(['"', '\''])
        .next();
    value
        .filter(|language| *language != "*all*")
        .map(String::from)
}

/// Returns the segments of a unit with their languages.
fn variants<'a>(
    text: &'a str,
    all: &'a [Element<'a>],
) -> impl Iterator<Item = (String, [&'a Element<'a>; 2])> {
    let mut last = None;
    let segments = all.iter().filter(|element| element.local_name() == "seg");
    // Each language has one segment. The tag of a language with several is read once.
    let firsts = segments.filter(move |segment| {
        let is_first = last != Some(segment.parent);
        last = Some(segment.parent);
        is_first
    });
    firsts.filter_map(|segment| {
        let variant = &all[segment.parent?];
        Some((variant.attribute(text, "lang")?, [variant, segment]))
    })
}

/// Returns the message of the unit `text` and its languages; `None` if it lacks one of `pair`.
fn message(
    text: &str,
    all: &[Element<'_>],
    pair: [Option<&str>; 2],
) -> Option<(Message, [String; 2])> {
    let unit = all.first()?;
    let variants: Vec<_> = variants(text, all).collect();
    let find = |asked: &str| {
        let exact = variants
            .iter()
            .find(|(language, _)| language.eq_ignore_ascii_case(asked));
        exact.or_else(|| {
            variants
                .iter()
                .find(|(language, _)| is_same(language, asked))
        })
    };
    let unit_source = unit
        .attribute(text, "srclang")
        .filter(|language| language != "*all*");
    let (from, [_, source]) = match pair[0].or(unit_source.as_deref()) {
        Some(asked) => find(asked),
        None => variants.first(),
    }?;
    let (to, [variant, target]) = match pair[1] {
        Some(asked) => find(asked),
        None => variants.iter().find(|(language, _)| language != from),
    }?;
    let time = ["changedate", "creationdate"].into_iter().find_map(|name| {
        variant
            .attribute(text, name)
            .or_else(|| unit.attribute(text, name))
    });
    let (source, spelling) = content(&text[source.inner.clone()]);
    let target_text = content(&text[target.inner.clone()]).0;
    let is_new = target_text.trim().is_empty();
    let state = if is_new {
        MessageState::Untranslated
    } else {
        MessageState::Translated
    };
    let tag = text[target.tag.clone()]
        .trim_end_matches(['/', '>'])
        .trim_end();
    let around = [format!("{tag}>"), format!("</{}>", target.name)];
    let range = target.outer.clone();
    let context = unit.attribute(text, "tuid").unwrap_or_default().into();
    let slot = Slot {
        range,
        around,
        spelling,
        marks: vec![],
        group: 0,
        is_plural: false,
    };
    let time = time.unwrap_or_default();
    let message = Message {
        line: 0,
        context,
        source,
        target: target_text,
        state,
        time,
        slot,
    };
    Some((message, [from.clone(), to.clone()]))
}
