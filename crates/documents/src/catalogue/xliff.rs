//! XLIFF 1.2 and 2: units with a source and, often, a translation.

use quick_xml::escape::unescape;

use super::message::{BrokenCatalogue, Lines, Message, MessageState, Slot};
use super::spelling::{Spelling, format_of, outside_tags};
use crate::format::Format;
use crate::xml::{Element, elements};
use crate::xml_text::{plain, with_attribute, without_sections};

/// The text of `raw`, the inside of an element, and the rule by which a translation of it is
/// written. A text with elements stays XML, unless they are all in the arms of a message of ICU.
pub(super) fn content(raw: &str) -> (String, Spelling) {
    let markup = without_sections(raw);
    let is_message = |text: &str| format_of(text) == Format::Text && unescape(text).is_ok();
    match plain(raw) {
        Some(text) => (text, Spelling::Xml),
        None if markup.contains("&lt;") || !is_message(&markup) => (markup, Spelling::Markup),
        None => (
            outside_tags(&markup, |text| plain(text).unwrap_or_default()),
            Spelling::Arms,
        ),
    }
}

/// The messages of `text`, and the languages from which and into which they are translated.
pub(super) fn read(text: &str) -> Result<(Vec<Message>, [Option<String>; 2]), BrokenCatalogue> {
    let all = elements(text)?;
    let root = all.first().filter(|root| root.local_name() == "xliff");
    let fault = "its first element is not `xliff`; name its format with --format";
    let root = root.ok_or_else(|| BrokenCatalogue::at(text, 0, fault))?;
    let is_second = root
        .attribute(text, "version")
        .is_some_and(|version| version.starts_with('2'));
    let named = |name: &str| {
        all.iter()
            .take(2)
            .find_map(|element| element.attribute(text, name))
    };
    let first = ["source-language", "target-language"];
    let languages = if is_second {
        ["srcLang", "trgLang"]
    } else {
        first
    }
    .map(named);
    let file = File {
        text,
        all: &all,
        lines: Lines::of(text),
        is_second,
    };
    let name = if is_second { "segment" } else { "trans-unit" };
    let units = (0..all.len()).filter(|&index| all[index].local_name() == name);
    let messages = units.filter_map(|index| file.message(index)).collect();
    Ok((messages, languages))
}

struct File<'a> {
    text: &'a str,
    all: &'a [Element<'a>],
    lines: Lines,
    is_second: bool,
}

impl File<'_> {
    /// The message of the unit `index`; `None` if it has no source.
    fn message(&self, index: usize) -> Option<Message> {
        let (text, unit) = (self.text, &self.all[index]);
        let within = self.all[index + 1..]
            .iter()
            .take_while(|it| it.outer.start < unit.outer.end);
        let children = within.filter(|element| element.parent == Some(index));
        let child = |name: &str| {
            children
                .clone()
                .find(|element| element.local_name() == name)
        };
        let (source, target) = (child("source")?, child("target"));
        let (source_text, spelling) = content(&text[source.inner.clone()]);
        let target_text = target.map_or(String::new(), |it| content(&text[it.inner.clone()]).0);
        let previous = child("seg-source").unwrap_or(source);
        let slot = Slot {
            group: index,
            ..self.slot(unit, [source, previous], target, spelling)
        };
        let state = target
            .filter(|_| !self.is_second)
            .unwrap_or(unit)
            .attribute(text, "state");
        let state = match state.unwrap_or_default().as_str() {
            _ if self.is_kept(index) => MessageState::Kept,
            _ if target_text.trim().is_empty() => MessageState::Untranslated,
            "new" | "needs-translation" | "initial" if target_text == source_text => {
                MessageState::Untranslated
            }
            "" | "translated" | "signed-off" | "final" | "reviewed" => MessageState::Translated,
            _ => MessageState::Fuzzy,
        };
        let context = unit.attribute(text, "id").unwrap_or_default().into();
        let (line, time) = (self.lines.number(unit.outer.start), String::new());
        Some(Message {
            line,
            context,
            source: source_text,
            target: target_text,
            state,
            time,
            slot,
        })
    }

    /// Returns whether element `index` or one around it says that it is not translated.
    fn is_kept(&self, index: usize) -> bool {
        let parents = std::iter::successors(Some(index), |&index| self.all[index].parent);
        let mut values = parents.filter_map(|it| self.all[it].attribute(self.text, "translate"));
        values.next().as_deref() == Some("no")
    }

    /// The slot of a translation: what is within `target`, or a new element after `previous`.
    fn slot(
        &self,
        unit: &Element<'_>,
        [source, previous]: [&Element<'_>; 2],
        target: Option<&Element<'_>>,
        spelling: Spelling,
    ) -> Slot {
        let text = self.text;
        let name = source.name.replace("source", "target");
        let (range, space, mut tag) = match target {
            Some(target) => {
                let tag = text[target.tag.clone()]
                    .trim_end_matches(['/', '>'])
                    .trim_end();
                (target.outer.clone(), "", format!("{tag}>"))
            }
            None => {
                let (before, at) = (&text[..previous.outer.start], previous.outer.end);
                (
                    at..at,
                    &before[before.trim_end().len()..],
                    format!("<{name}>"),
                )
            }
        };
        let mut marks = Vec::new();
        if self.is_second {
            let unit_tag = with_attribute(&text[unit.tag.clone()], "state", "translated");
            marks.push((unit.tag.clone(), unit_tag));
        } else {
            tag = with_attribute(&tag, "state", "needs-review-translation");
        }
        let around = [format!("{space}{tag}"), format!("</{name}>")];
        Slot {
            range,
            around,
            spelling,
            marks,
            group: 0,
        }
    }
}
