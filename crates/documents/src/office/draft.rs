//! A paragraph being read: its texts and markup in their order.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

use super::fields::{Grouping, is_field_part};
use super::item::{Item, Mark, Paragraph, Place, Run};
use crate::words::{Span, has_letters, regex};

/// The end of a line, by characters or by Office's numbers of them.
static LINE_END: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?:\r|&#13;|&#[xX]0?[dD];|_x000[dD]_)?(?:\n|&#10;|&#[xX]0?[aA];|_x000[aA]_)|&#13;|&#[xX]0?[dD];|_x000[dD]_",
    )
});

/// A paragraph being read.
pub(super) struct Draft<'a> {
    pub(super) xml: &'a str,
    pub(super) items: Vec<Item>,
    pub(super) marks: Vec<Mark>,
    pub(super) runs: Vec<Run>,
    /// The look of each run, by its start tag and properties.
    looks: HashMap<(String, &'a str), usize>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(xml: &'a str) -> Self {
        Self {
            xml,
            items: Vec::new(),
            marks: Vec::new(),
            runs: Vec::new(),
            looks: HashMap::new(),
        }
    }

    /// Adds a run and returns its index.
    pub(super) fn run(&mut self, [open, close, properties]: [Span; 3], is_raised: bool) -> usize {
        let key = (
            without_revisions(&self.xml[open.clone()]),
            &self.xml[properties.clone()],
        );
        let next = self.looks.len() + 1;
        let look = *self.looks.entry(key).or_insert(next);
        self.runs.push(Run {
            open,
            close,
            properties,
            look,
            is_raised,
        });
        self.runs.len() - 1
    }

    /// Adds text that stands outside of elements.
    pub(super) fn text(&mut self, range: Span) {
        if !range.is_empty() {
            self.items.push(Item::Text(range));
        }
    }

    pub(super) fn open(&mut self, mark: Mark) -> usize {
        self.marks.push(mark);
        self.items.push(Item::Open(self.marks.len() - 1));
        self.marks.len() - 1
    }

    /// Adds a point, or extends a point of the same run that directly precedes it.
    pub(super) fn point(&mut self, range: Span, run: Option<usize>, tag: &'static str) {
        if tag == "img"
            && !is_field_part(&self.xml[range.clone()])
            && let Some(Item::Point(_, "img")) = self.items.last()
            && let Some(Mark::Point {
                range: last,
                run: of,
            }) = self.marks.last_mut()
            && (last.end, *of) == (range.start, run)
            && !is_field_part(&self.xml[last.clone()])
        {
            last.end = range.end;
            return;
        }
        self.items.push(Item::Point(self.marks.len(), tag));
        self.marks.push(Mark::Point { range, run });
    }

    /// Adds a unit that shows the XML text `shown`.
    pub(super) fn unit(&mut self, range: Span, run: Option<usize>, shown: String) {
        self.items.push(Item::Unit(self.marks.len(), shown));
        self.marks.push(Mark::Point { range, run });
    }

    /// Adds a space if text precedes it directly, and returns whether it did.
    pub(super) fn space(&mut self) -> bool {
        let is_free = match self.items.last() {
            Some(Item::Text(text)) => !self.xml[text.clone()].ends_with(char::is_whitespace),
            Some(Item::Unit(..) | Item::Close(_)) => true,
            _ => false,
        };
        self.items.extend(is_free.then_some(Item::Space));
        is_free
    }

    /// Makes units and elements of fields. Returns the items before, if there is a field.
    fn group_fields(&mut self) -> Vec<Item> {
        let xml = self.xml;
        let has_field = self.marks.iter().any(|mark: &Mark| {
            matches!(mark, Mark::Point { range, .. } if is_field_part(&xml[range.clone()]))
        });
        if !has_field {
            return Vec::new();
        }
        let items = std::mem::take(&mut self.items);
        self.items = Grouping::new(xml, &items, &mut self.marks).group();
        items
    }

    /// Returns whether a text has letters.
    fn has_words(&self) -> bool {
        self.items.iter().any(|item: &Item| match item {
            Item::Text(text) | Item::Lines(text) => has_letters(&self.xml[text.clone()]),
            _ => false,
        })
    }

    /// Returns the paragraph with the content `inner`; `None` if it has no words.
    pub(super) fn finish(mut self, inner: Span, place: Place) -> Option<Paragraph> {
        let items = self.group_fields();
        if !self.has_words() {
            return None;
        }
        let base = self.join_runs();
        Some(Paragraph {
            place,
            inner,
            html: self.html(place),
            marks: self.marks.into(),
            runs: self.runs.into(),
            base,
            items: items.into(),
        })
    }

    /// Returns the look of the text `mark`; `None` for other marks.
    fn look(&self, mark: usize) -> Option<usize> {
        match self.marks[mark] {
            Mark::Text { run, .. } => Some(run.map_or(0, |run| self.runs[run].look)),
            _ => None,
        }
    }

    /// Returns whether the run of the text `mark` names a link. Text outside of the link must not
    /// get its look.
    fn is_linked(&self, mark: usize) -> bool {
        match self.marks[mark] {
            Mark::Text { run: Some(run), .. } => {
                self.xml[self.runs[run].properties.clone()].contains(":hlinkClick")
            }
            _ => false,
        }
    }

    /// Joins adjacent runs of the same look, and omits the tags of the look with the most text.
    /// Returns the text with the run that is written around this text.
    fn join_runs(&mut self) -> Option<usize> {
        let mut lengths = vec![(0, None); self.looks.len() + 1];
        for pair in self.items.windows(2) {
            if let [Item::Open(mark), Item::Lines(text)] = pair
                && let Some(look) = self.look(*mark)
            {
                let (length, first) = &mut lengths[look];
                *length += text.len();
                first.get_or_insert(*mark);
            }
        }
        let candidates = lengths
            .into_iter()
            .filter_map(|(length, first)| Some((length, first?)));
        let base = candidates
            .max_by_key(|(length, mark)| (!self.is_linked(*mark), *length, usize::MAX - mark))
            .map(|(_, mark)| mark);
        let base_look = base.filter(|base| !self.is_linked(*base));
        let base_look = base_look.and_then(|base| self.look(base));
        let mut joined: Vec<Item> = Vec::new();
        for item in std::mem::take(&mut self.items) {
            let (Item::Open(mark) | Item::Close(mark)) = item else {
                joined.push(item);
                continue;
            };
            let look = self.look(mark);
            if look.is_some() && look == base_look {
                continue;
            }
            match (&item, joined.last()) {
                (Item::Open(_), Some(Item::Close(last)))
                    if look.is_some() && look == self.look(*last) =>
                {
                    joined.pop();
                }
                _ => joined.push(item),
            }
        }
        self.items = joined;
        base
    }

    /// Returns the tag that HTML has for an element or a text.
    fn tag(&self, mark: usize) -> &'static str {
        match &self.marks[mark] {
            Mark::Element { tag, .. } => tag,
            Mark::Text { run: Some(run), .. } if self.runs[*run].is_raised => "sup",
            _ => "i",
        }
    }

    /// Returns the items as HTML.
    fn html(&self, place: Place) -> String {
        let mut html = String::new();
        for item in &self.items {
            match item {
                Item::Text(text) if place == Place::Element => {
                    html += &self.xml[text.clone()].replace("\r\n", "\n");
                }
                Item::Text(text) | Item::Lines(text) => {
                    let mut text = Cow::Borrowed(&self.xml[text.clone()]);
                    if matches!(place, Place::Attribute(_)) {
                        // In an attribute, only a reference is the end of a line.
                        text = text.replace(['\n', '\r'], " ").into();
                    }
                    html += &LINE_END.replace_all(&text, "<br>");
                }
                Item::Open(mark) => html += &format!("<{} id={mark}>", self.tag(*mark)),
                Item::Close(mark) => html += &format!("</{}>", self.tag(*mark)),
                Item::Point(mark, tag) => html += &format!("<{tag} id={mark}>"),
                Item::Space => html.push(' '),
                Item::Unit(mark, text) => html += &format!("<code id={mark}>{text}</code>"),
            }
        }
        html
    }
}

/// Returns a run's start tag without revision numbers.
pub(super) fn without_revisions(tag: &str) -> String {
    let parts = tag.trim_end_matches('>').split_whitespace();
    let kept: Vec<&str> = parts.filter(|part| !part.starts_with("w:rsid")).collect();
    kept.join(" ") + ">"
}
