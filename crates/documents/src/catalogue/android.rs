//! Android string resources: strings, plurals and arrays.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock};

use regex::{Captures, Regex};

use super::message::{BrokenCatalogue, Context, Message, Result};
use super::spelling::{Spelling, outside_tags, unescaped};
use crate::plurals::{Arm, Plural};
use crate::words::regex;
use crate::xml::{Element, elements};
use crate::xml_text::{plain, without_sections};

/// Escapes, quotes, and white space that Android collapses.
static JOINED: LazyLock<Regex> = LazyLock::new(|| regex(r#"(?s)\\.|"|[ \t\r\n]+"#));

/// A text in quotes.
static QUOTED: LazyLock<Regex> = LazyLock::new(|| regex(r#"(?s)^".*[^\\]"$|^""$"#));

/// A text with the spaces around it. A space at the ends counts only if it is escaped by number.
static INNER: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?s)^\s*(?:\\u0020)*((?:[^\\]|\\.)*?)(?:\\u0020)*\s*$"));

/// Reads the texts of a file and their plurals.
pub(super) fn read(text: &str) -> Result<(Vec<Message>, Vec<Plural>)> {
    let all = elements(text)?;
    if all.first().is_none_or(|root| root.name != "resources") {
        let fault = "the file has no resources of Android: its first element is not `resources`; \
            name its format with --format";
        return Err(BrokenCatalogue::at(text, 0, fault));
    }
    let attribute = |element: &Element<'_>, name| element.attribute(text, name).unwrap_or_default();
    let is_kept = |element: &Element<'_>| attribute(element, "translatable") == "false";
    // The tag of a group is read once, however many items it has.
    let mut groups = HashMap::<usize, Option<Arc<str>>>::new();
    let mut group = |index: usize| {
        let name = |element| Arc::from(attribute(element, "name"));
        let entry = groups.entry(index);
        entry
            .or_insert_with(|| (!is_kept(&all[index])).then(|| name(&all[index])))
            .clone()
    };
    let mut plurals = BTreeMap::<usize, Plural>::new();
    let string = |element: &Element<'_>| {
        let parent = &all[element.parent?];
        let is_typed = element.name == "item" && attribute(element, "type") == "string";
        let is_string = parent.name == "resources" && (element.name == "string" || is_typed);
        let is_item =
            element.name == "item" && ["plurals", "string-array", "array"].contains(&parent.name);
        if !is_string && !is_item || is_kept(element) {
            return None;
        }
        let group = group(element.parent?)?;
        let quantity = attribute(element, "quantity");
        let key = if is_string {
            Context::from(attribute(element, "name"))
        } else {
            Context::new(&group, &quantity)
        };
        if parent.name == "plurals" {
            let arm = Arm::new(
                text,
                &quantity,
                element.outer.clone(),
                element.inner.clone(),
            );
            plurals.entry(parent.tag.start).or_default().arms.push(arm);
        }
        let quoted = QUOTED.is_match(&text[element.inner.clone()]);
        let edge = usize::from(quoted);
        let raw = &text[element.inner.start + edge..element.inner.end - edge];
        let raw = INNER
            .captures(raw)
            .map_or(raw, |found| found.extract::<1>().1[0]);
        let start = raw.as_ptr() as usize - text.as_ptr() as usize;
        let range = start..start + raw.len();
        let (source, has_elements) = match plain(raw) {
            Some(text) => (shown(&text, quoted), false),
            None => (
                outside_tags(&without_sections(raw), |text| shown(text, false)),
                true,
            ),
        };
        Some(Message::text(
            key,
            range,
            source,
            if quoted && !has_elements {
                Spelling::AndroidQuoted
            } else {
                Spelling::Android(has_elements)
            },
        ))
    };
    let texts = all.iter().skip(1).filter_map(string).collect();
    Ok((texts, plurals.into_values().collect()))
}

/// Returns the text that Android shows for `raw`: without quotes, and with white space collapsed
/// unless it was `quoted`.
fn shown(raw: &str, quoted: bool) -> String {
    let joined = JOINED.replace_all(raw, |found: &Captures<'_>| match &found[0] {
        escape if quoted || escape.starts_with('\\') => escape.to_owned(),
        "\"" => String::new(),
        _ => " ".to_owned(),
    });
    unescaped(&joined).unwrap_or_default()
}
