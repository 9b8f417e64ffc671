//! Qt's catalogues: contexts with messages, as lupdate writes them.

use std::collections::HashMap;
use std::sync::Arc;

use super::message::{BrokenCatalogue, Context, Lines, Message, MessageState, Result, Slot};
use super::spelling::Spelling;
use super::xliff::content;
use crate::words::Span;
use crate::xml::{Element, elements};
use crate::xml_text::{with_attribute, with_plain_line_ends};

/// The numbers of plural forms, and languages that have as many. Other languages have two. Seen in
/// what lrelease and lconvert of Qt 5.15.8 make of a message with one form.
const FORMS: [(usize, &str); 5] = [
    (
        1,
        "ast bi bo dz fa fj gn haw hu id ig ja jv ko ms my na om sg su th tr tt tw vi yo za zh",
    ),
    (
        3,
        "be bs cs ga gv hr ik iu lt lv mi mk pl ro ru sa se sh sk sm sr uk",
    ),
    (4, "gd mt sl"),
    (5, "cy"),
    (6, "ar"),
];

/// Reads the messages of `text`, and its source and target language.
pub(super) fn read(text: &str) -> Result<(Vec<Message>, [Option<String>; 2])> {
    let all = elements(text)?;
    let root = all.first().filter(|root| root.name == "TS");
    let fault = "the file is no catalogue of Qt: its first element is not `TS`; name its format with --format";
    let root = root.ok_or_else(|| BrokenCatalogue::at(text, 0, fault))?;
    let languages = ["sourcelanguage", "language"].map(|name| root.attribute(text, name));
    let forms = forms(languages[1].as_deref());
    let lines = Lines::of(text);
    let mut messages = Vec::new();
    let mut contexts = HashMap::<usize, Arc<str>>::new();
    for (index, element) in all.iter().enumerate() {
        match (element.name, element.parent) {
            ("name", Some(parent)) => {
                contexts.insert(parent, text[element.inner.clone()].into());
            }
            ("message", Some(parent)) => {
                let context = contexts.get(&parent).cloned();
                let unit = Unit::new(text, &all, index);
                let line = lines.number(element.outer.start);
                messages.extend(unit.messages(&context.unwrap_or_default(), line, forms));
            }
            _ => {}
        }
    }
    Ok((messages, languages))
}

/// Returns the number of plural forms of a language. Without a language, there is one.
fn forms(language: Option<&str>) -> usize {
    let Some(language) = language.filter(|language| !language.is_empty()) else {
        return 1;
    };
    let base = language.split(['_', '-']).next().unwrap_or_default();
    let form_count = FORMS
        .iter()
        .find(|(_, codes)| codes.split(' ').any(|code| code == base));
    form_count.map_or(2, |(count, _)| *count)
}

/// A message and its parts.
struct Unit<'a> {
    text: &'a str,
    index: usize,
    message: &'a Element<'a>,
    source: Option<&'a Element<'a>>,
    translation: Option<&'a Element<'a>>,
    /// Tells messages with the same source apart.
    comment: &'a str,
    /// The plural forms of the translation.
    forms: Vec<&'a Element<'a>>,
    /// If true, the translation has variants of several lengths, or the program lacks the message.
    is_kept: bool,
}

impl<'a> Unit<'a> {
    /// Returns the message `index`.
    fn new(text: &'a str, all: &'a [Element<'a>], index: usize) -> Self {
        let message = &all[index];
        let mut unit = Self {
            text,
            index,
            message,
            source: None,
            translation: None,
            comment: "",
            forms: Vec::new(),
            is_kept: false,
        };
        let inside = all[index + 1..].iter();
        for element in inside.take_while(|it| it.outer.start < message.outer.end) {
            match element.name {
                "source" => unit.source = Some(element),
                "comment" => unit.comment = &text[element.inner.clone()],
                "translation" => {
                    let kind = element.attribute(text, "type");
                    unit.is_kept = kind.is_some_and(|it| it == "vanished" || it == "obsolete");
                    unit.translation = Some(element);
                }
                "numerusform" => unit.forms.push(element),
                "lengthvariant" => unit.is_kept = true,
                _ => {}
            }
        }
        unit
    }

    /// Returns a message for the translation, or for each of its plural forms. `count` is the
    /// number that the language has.
    fn messages(&self, context: &Arc<str>, line: usize, count: usize) -> Vec<Message> {
        let Some(source) = self.source else {
            return Vec::new();
        };
        let numerus = self.message.attribute(self.text, "numerus");
        let is_plural = numerus.is_some_and(|it| it == "yes");
        let raw = &self.text[source.inner.clone()];
        let (source, spelling) = match content(&with_plain_line_ends(raw)) {
            (source, Spelling::Xml) => (source, Spelling::of_xml(raw)),
            marked => marked,
        };
        let context = match self.comment {
            "" => Context::from(Arc::clone(context)),
            comment => Context::new(context, comment),
        };
        let places = match (is_plural, self.translation) {
            (true, Some(_)) if !self.forms.is_empty() => self.plural(count),
            (true, _) => self.whole(count, ["<numerusform>", "</numerusform>"]),
            _ => self.whole(1, [""; 2]),
        };
        let message = |place: Place| Message {
            line,
            context: context.clone(),
            source: source.clone(),
            state: self.state(&place.target),
            target: place.target,
            time: String::new(),
            slot: Slot {
                range: place.range,
                around: place.around,
                spelling: spelling.clone(),
                marks: place.marks,
                group: self.index,
                is_plural,
            },
        };
        places.into_iter().map(message).collect()
    }

    fn state(&self, target: &str) -> MessageState {
        let kind = self
            .translation
            .and_then(|it| it.attribute(self.text, "type"));
        match kind.as_deref() {
            _ if self.is_kept => MessageState::Kept,
            _ if target.trim().is_empty() => MessageState::Untranslated,
            Some("unfinished") => MessageState::Fuzzy,
            _ => MessageState::Translated,
        }
    }

    /// Returns the start tag of the translation, which asks for a review.
    fn tag(&self) -> String {
        let tag = self.translation.map(|it| &self.text[it.tag.clone()]);
        let tag = tag.unwrap_or("<translation>").trim_end_matches(['/', '>']);
        with_attribute(&format!("{}>", tag.trim_end()), "type", "unfinished")
    }

    /// Returns places for `count` texts that together write the translation. Each text is written
    /// between `tags`.
    fn whole(&self, count: usize, tags: [&str; 2]) -> Vec<Place> {
        let (range, space) = match self.translation {
            Some(translation) => (translation.outer.clone(), ""),
            None => {
                let before = &self.text[..self.message.inner.end];
                let at = before.trim_end().len();
                let source = self.source.map_or(at, |it| it.outer.start);
                let before = &self.text[..source];
                (at..at, &before[before.trim_end().len()..])
            }
        };
        let target = self.translation.filter(|_| tags[0].is_empty());
        let target = target.map_or(String::new(), |it| content(&self.text[it.inner.clone()]).0);
        let place = |number: usize| {
            let mut around = tags.map(String::from);
            if number == 0 {
                around[0] = format!("{space}{}{}", self.tag(), tags[0]);
            }
            if number + 1 == count {
                around[1] += "</translation>";
            }
            Place {
                range: if number == 0 {
                    range.clone()
                } else {
                    range.end..range.end
                },
                around,
                target: target.clone(),
                marks: Vec::new(),
            }
        };
        (0..count).map(place).collect()
    }

    /// Returns places for the plural forms of the translation, and for those that it lacks.
    fn plural(&self, count: usize) -> Vec<Place> {
        let marks: Vec<_> = self
            .translation
            .map(|it| (it.tag.clone(), self.tag()))
            .into_iter()
            .collect();
        let place = |range: Span, space: &str, target: String| Place {
            range,
            around: [format!("{space}<numerusform>"), "</numerusform>".into()],
            target,
            marks: marks.clone(),
        };
        let mut places: Vec<Place> = self
            .forms
            .iter()
            .map(|form| {
                let (target, _) = content(&self.text[form.inner.clone()]);
                place(form.outer.clone(), "", target)
            })
            .collect();
        if let Some(last) = self.forms.last() {
            let before = &self.text[..last.outer.start];
            let space = &before[before.trim_end().len()..];
            let end = last.outer.end..last.outer.end;
            let missing = self.forms.len()..count;
            places.extend(missing.map(|_| place(end.clone(), space, String::new())));
        }
        places
    }
}

/// Where a translation is written, and the text that is there.
struct Place {
    range: Span,
    around: [String; 2],
    target: String,
    marks: Vec<(Span, String)>,
}
