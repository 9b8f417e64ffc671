//! XLIFF 1.2 and 2: units of a source and, often, a translation.

use std::collections::BTreeMap;

use quick_xml::escape::unescape;

use super::message::{BrokenCatalogue, Context, Lines, Message, MessageState, Slot};
use super::spelling::{Spelling, format_of, outside_tags};
use crate::format::Format;
use crate::xml::{Element, elements};
use crate::xml_text::{plain, with_attribute, without_sections};

/// Returns the text of `raw`, the content of an element, and how to write its translation. A text
/// with elements stays XML, unless all elements are inside the arms of an ICU message.
pub(super) fn content(raw: &str) -> (String, Spelling) {
    let markup = without_sections(raw);
    match plain(raw) {
        Some(text) => (text, Spelling::Xml),
        None if markup.contains("&lt;") || !is_message(&markup) => (markup, Spelling::Markup),
        None => (
            outside_tags(&markup, |text| plain(text).unwrap_or_default()),
            Spelling::Arms,
        ),
    }
}

/// Returns whether `text` is an ICU message without broken references.
fn is_message(text: &str) -> bool {
    format_of(text) == Format::Text && unescape(text).is_ok()
}

/// Reads the messages of `text`, and its source and target language.
pub(super) fn read(text: &str) -> Result<(Vec<Message>, [Option<String>; 2]), BrokenCatalogue> {
    let all = elements(text)?;
    let root = all.first().filter(|root| root.local_name() == "xliff");
    let fault = "its first element is not `xliff`; name its format with --format";
    let root = root.ok_or_else(|| BrokenCatalogue::at(text, 0, fault))?;
    let is_second = root
        .attribute(text, "version")
        .is_some_and(|version| version.starts_with('2'));
    let first = ["source-language", "target-language"];
    let languages = if is_second {
        ["srcLang", "trgLang"]
    } else {
        first
    }
    .map(|name: &str| {
        all.iter()
            .take(2)
            .find_map(|element| element.attribute(text, name))
    });
    let name = if is_second { "segment" } else { "trans-unit" };
    let file = File {
        text,
        all: &all,
        lines: Lines::of(text),
        is_second,
        kept: kept(text, &all),
    };
    let messages = units(&all, name)
        .into_iter()
        .flat_map(|(index, unit)| match file.segments(index, &unit) {
            segments if segments.is_empty() => Vec::from_iter(file.message(index, &unit)),
            segments => segments,
        })
        .collect();
    Ok((messages, languages))
}

/// For a unit, the index of its first element of each kind.
#[derive(Default)]
pub(super) struct Unit {
    source: Option<usize>,
    /// The segmented source.
    pub(super) seg_source: Option<usize>,
    pub(super) target: Option<usize>,
}

/// Returns the units of a file, elements with this `name`, by index. Nested units are skipped:
/// XLIFF has none, and each would copy the text inside it.
fn units(all: &[Element], name: &str) -> BTreeMap<usize, Unit> {
    let mut units = BTreeMap::<usize, Unit>::new();
    let mut end = 0;
    for (index, element) in all.iter().enumerate() {
        if element.local_name() == name && element.outer.start >= end {
            units.insert(index, Unit::default());
            end = element.outer.end;
        }
        let Some(unit) = element.parent.and_then(|parent| units.get_mut(&parent)) else {
            continue;
        };
        let child = match element.local_name() {
            "source" => &mut unit.source,
            "seg-source" => &mut unit.seg_source,
            "target" => &mut unit.target,
            _ => continue,
        };
        child.get_or_insert(index);
    }
    units
}

/// For each element, whether it or an enclosing one is marked as not translatable.
fn kept(text: &str, all: &[Element]) -> Vec<bool> {
    let mut kept: Vec<bool> = Vec::with_capacity(all.len());
    for element in all {
        let around = element.parent.is_some_and(|parent| kept[parent]);
        let own = element.attribute(text, "translate");
        kept.push(own.map_or(around, |value| value == "no"));
    }
    kept
}

pub(super) struct File<'a> {
    pub(super) text: &'a str,
    pub(super) all: &'a [Element<'a>],
    lines: Lines,
    is_second: bool,
    /// For each element, whether it is not translated.
    kept: Vec<bool>,
}

impl File<'_> {
    /// Returns the message of the unit `index`; `None` if it has no source.
    fn message(&self, index: usize, children: &Unit) -> Option<Message> {
        let text = self.text;
        let unit = &self.all[index];
        let source = &self.all[children.source?];
        let target = children.target.map(|target| &self.all[target]);
        let (source_text, spelling) = content(&text[source.inner.clone()]);
        let target_text = target.map_or(String::new(), |it| content(&text[it.inner.clone()]).0);
        let previous = children.seg_source.map_or(source, |it| &self.all[it]);
        let slot = Slot {
            group: index,
            ..self.slot(unit, [source, previous], target, spelling)
        };
        let owner = target.filter(|_| !self.is_second).unwrap_or(unit);
        let state = self.state(index, owner, [&source_text, &target_text]);
        let context = self.name(index).into();
        Some(Message {
            line: self.lines.number(unit.outer.start),
            context,
            source: source_text,
            target: target_text,
            state,
            time: String::new(),
            slot,
        })
    }

    /// Returns the message of a segment of the unit `index`. The state is an attribute of `owner`.
    pub(super) fn segment(
        &self,
        index: usize,
        owner: &Element<'_>,
        context: Context,
        [source, target]: [String; 2],
        slot: Slot,
    ) -> Message {
        Message {
            line: self.lines.number(self.all[index].outer.start),
            context,
            state: self.state(index, owner, [&source, &target]),
            source,
            target,
            time: String::new(),
            slot,
        }
    }

    /// Returns the name of the unit `index`, or its identifier if it has no name.
    pub(super) fn name(&self, index: usize) -> String {
        let unit = &self.all[index];
        let name = unit.attribute(self.text, "resname");
        name.filter(|name| !name.is_empty())
            .or_else(|| unit.attribute(self.text, "id"))
            .unwrap_or_default()
    }

    /// Returns the state of a translation in the unit `index`.
    fn state(
        &self,
        index: usize,
        owner: &Element<'_>,
        [source, target]: [&String; 2],
    ) -> MessageState {
        let state = owner.attribute(self.text, "state");
        match state.unwrap_or_default().as_str() {
            _ if self.kept[index] => MessageState::Kept,
            _ if target.trim().is_empty() => MessageState::Untranslated,
            "new" | "needs-translation" | "initial" if target == source => {
                MessageState::Untranslated
            }
            "" | "translated" | "signed-off" | "final" | "reviewed" => MessageState::Translated,
            _ => MessageState::Fuzzy,
        }
    }

    /// Returns the slot for a translation: the content of `target`, or a new element after
    /// `previous`.
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
                let before = &text[..previous.outer.start];
                let at = previous.outer.end;
                let space = &before[before.trim_end().len()..];
                (at..at, space, format!("<{name}>"))
            }
        };
        if let Some(value) = source.attribute(text, "space") {
            tag = with_attribute(&tag, "xml:space", &value);
        }
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
            is_plural: false,
        }
    }
}
