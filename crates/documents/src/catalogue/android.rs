//! Android's resources: strings, plurals and lists of strings.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::message::{BrokenCatalogue, Message, Result};
use super::spelling::{Spelling, outside_tags, unescaped};
use crate::plurals::{Arm, Plural};
use crate::words::regex;
use crate::xml::{Element, elements};
use crate::xml_text::{plain, without_sections};

/// Characters that mean something else, quotes and white space.
static JOINED: LazyLock<Regex> = LazyLock::new(|| regex(r#"(?s)\\.|"|\s+"#));

/// A text in quotes.
static QUOTED: LazyLock<Regex> = LazyLock::new(|| regex(r#"(?s)^".*[^\\]"$|^""$"#));

/// A text with the spaces around it. Only a number makes a space at the ends a part of the text.
static INNER: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?s)^\s*(?:\\u0020)*((?:[^\\]|\\.)*?)(?:\\u0020)*\s*$"));

/// The texts of `text`, and the plurals among them.
pub(super) fn read(text: &str) -> Result<(Vec<Message>, Vec<Plural>)> {
    let all = elements(text)?;
    if all.first().is_none_or(|root| root.name != "resources") {
        let fault = "the file has no resources of Android: its first element is not `resources`; name its format with --format";
        return Err(BrokenCatalogue::at(text, 0, fault));
    }
    let attribute = |element: &Element, name| element.attribute(text, name).unwrap_or_default();
    let is_kept = |element: &Element| attribute(element, "translatable") == "false";
    let mut plurals = BTreeMap::<usize, Plural>::new();
    let string = |element: &Element| {
        let parent = &all[element.parent?];
        let key = match (element.name.as_str(), parent.name.as_str()) {
            _ if is_kept(element) || is_kept(parent) => return None,
            ("string", "resources") => attribute(element, "name"),
            ("item", "plurals" | "string-array") => {
                format!(
                    "{}.{}",
                    attribute(parent, "name"),
                    attribute(element, "quantity")
                )
            }
            _ => return None,
        };
        if parent.name == "plurals" {
            let name = attribute(element, "quantity");
            let arm = Arm::new(text, &name, element.outer.clone(), element.inner.clone());
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

/// The text that Android shows for `raw`: without quotes, and, unless it was `quoted`, with one
/// space for white space.
fn shown(raw: &str, quoted: bool) -> String {
    let joined = JOINED.replace_all(raw, |found: &Captures<'_>| match &found[0] {
        escape if quoted || escape.starts_with('\\') => escape.to_owned(),
        "\"" => String::new(),
        _ => " ".to_owned(),
    });
    unescaped(&joined).unwrap_or_default()
}
