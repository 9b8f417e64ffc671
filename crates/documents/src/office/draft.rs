//! A paragraph being read: its texts and markup in their order.

use std::collections::HashMap;

use super::fields::{Grouping, is_field_part};
use super::item::{Item, Mark};
use crate::words::Span;

/// A run of text. Its children become separate runs where a translation splits them.
#[derive(Clone, Debug)]
pub(super) struct Run {
    /// Its start tag and end tag.
    pub(super) open: Span,
    pub(super) close: Span,
    pub(super) properties: Span,
    /// Equal for runs with the same formatting; 0 for texts without a run.
    pub(super) look: usize,
    pub(super) is_raised: bool,
}

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
    pub(super) fn group_fields(&mut self) -> Vec<Item> {
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
                self.xml[self.runs[run].properties.clone()].contains("<a:hlinkClick")
            }
            _ => false,
        }
    }

    /// Joins adjacent runs of the same look, and omits the tags of the look with the most text.
    /// Returns the text with the run that is written around this text.
    pub(super) fn join_runs(&mut self) -> Option<usize> {
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
        let known = lengths
            .into_iter()
            .filter_map(|(length, first)| Some((length, first?)));
        let base = known
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
    pub(super) fn html(&self) -> String {
        let mut html = String::new();
        for item in &self.items {
            match item {
                Item::Text(text) => html += &self.xml[text.clone()].replace("\r\n", "\n"),
                Item::Lines(text) => {
                    let text = self.xml[text.clone()].replace("\r\n", "\n");
                    html += &text.replace('\n', "<br>");
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
