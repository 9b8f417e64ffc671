//! Writes the XML of translated paragraphs.

use std::sync::LazyLock;

use regex::Regex;

use super::draft::without_revisions;
use super::item::{Branch, Item, Mark, Paragraph, Place};
use crate::words::{Span, regex};

/// Maximum number of bytes in the run tags and properties of a translated paragraph, as a multiple
/// of the bytes of the paragraph and its translation. A run that a translation splits repeats its
/// properties. A paragraph above the limit keeps its source.
const MAX_REPEATED: usize = 16;

/// A tag of a translated paragraph, or the text up to the next tag.
static PIECE: LazyLock<Regex> = LazyLock::new(|| regex("<[^>]*>?|[^<]+"));

/// The digits of sizes.
const DIGITS: [char; 10] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9'];

/// Writes XML with translated paragraphs.
pub(super) struct Writer<'a> {
    pub(super) xml: &'a str,
    pub(super) paragraphs: &'a [Paragraph],
    pub(super) translated: &'a [&'a str],
}

impl Writer<'_> {
    /// Appends the bytes of `range`, including its paragraphs, to `out`.
    pub(super) fn range(&self, range: Span, out: &mut String) {
        let mut at = range.start;
        let first = self
            .paragraphs
            .partition_point(|known| known.inner.start <= range.start);
        let within = self.paragraphs[first..]
            .iter()
            .zip(&self.translated[first..]);
        for (paragraph, translated) in within.take_while(|(known, _)| known.inner.start < range.end)
        {
            // Paragraphs inside a changed one are written with it.
            if paragraph.inner.start >= at && *translated != paragraph.html {
                *out += &self.xml[at..paragraph.inner.start];
                self.paragraph(paragraph, translated, out);
                at = paragraph.inner.end;
            }
        }
        *out += &self.xml[at..range.end];
    }

    /// Appends `html`, the translation of `paragraph`, to `out`.
    fn paragraph(&self, paragraph: &Paragraph, html: &str, out: &mut String) {
        let start = out.len();
        let limit = MAX_REPEATED * (paragraph.inner.len() + html.len());
        let mut body = Body {
            writer: self,
            paragraph,
            out,
            run: None,
            repeated: 0,
            limit,
            is_in_unit: false,
            text: None,
            alternatives: Vec::new(),
        };
        let mut open = Vec::<usize>::new();
        for piece in PIECE.find_iter(html).map(|piece| piece.as_str()) {
            body.piece(piece, &mut open);
            if body.repeated > body.limit {
                body.out.truncate(start);
                *body.out += &self.xml[paragraph.inner.clone()];
                return;
            }
        }
        body.end_text();
        body.enter(None);
    }
}

/// A translated paragraph being written.
struct Body<'a> {
    writer: &'a Writer<'a>,
    paragraph: &'a Paragraph,
    out: &'a mut String,
    /// The open run.
    run: Option<usize>,
    /// The number of bytes in run tags, properties and copies of alternatives so far.
    repeated: usize,
    /// The number of these bytes above which the paragraph keeps its source.
    limit: usize,
    /// If true, the text belongs to a unit that is already written.
    is_in_unit: bool,
    /// The name of the open text element.
    text: Option<Span>,
    /// Where the contents of open alternatives begin in the output.
    alternatives: Vec<usize>,
}

impl<'a> Body<'a> {
    /// Writes a tag or a text. `open` contains the marks of enclosing elements.
    fn piece(&mut self, piece: &str, open: &mut Vec<usize>) {
        let number = piece
            .split_once(" id=")
            .map(|(_, number)| number.trim_end_matches('>'));
        let mark = number
            .and_then(|number| number.parse().ok())
            .unwrap_or_default();
        match piece {
            _ if self.is_in_unit => self.is_in_unit = piece != "</code>",
            "</i>" | "</sup>" | "</a>" => {
                if let Some(mark) = open.pop() {
                    self.tag(mark, false);
                }
            }
            "<br>" => self.text("\n", open),
            _ if ["<i ", "<sup ", "<a "]
                .iter()
                .any(|tag| piece.starts_with(tag)) =>
            {
                open.push(mark);
                self.tag(mark, true);
            }
            _ if piece.starts_with("<code ") => {
                self.is_in_unit = true;
                self.point(mark);
            }
            _ if piece.starts_with('<') => self.point(mark),
            words => self.text(words, open),
        }
    }

    /// Closes the open run and opens `run`, unless they are the same.
    fn enter(&mut self, run: Option<usize>) {
        if self.run == run {
            return;
        }
        self.end_text();
        let xml = self.writer.xml;
        if let Some(last) = self.run {
            *self.out += &xml[self.paragraph.runs[last].close.clone()];
        }
        if let Some(next) = run {
            let run = &self.paragraph.runs[next];
            *self.out += &without_revisions(&xml[run.open.clone()]);
            self.writer.range(run.properties.clone(), self.out);
            self.repeated += run.open.len() + run.properties.len() + run.close.len();
        }
        self.run = run;
    }

    /// Closes the open text element.
    fn end_text(&mut self) {
        if let Some(name) = self.text.take() {
            self.out.extend(["</", &self.writer.xml[name], ">"]);
        }
    }

    /// Writes the start or end of an element other than a run.
    fn tag(&mut self, mark: usize, is_start: bool) {
        match &self.paragraph.marks[mark] {
            Mark::Element { open, close, .. } => {
                self.end_text();
                self.enter(None);
                let tag = if is_start { open } else { close };
                self.writer.range(tag.clone(), self.out);
            }
            Mark::Alternatives { run, open, .. } if is_start => {
                self.end_text();
                self.enter(*run);
                self.writer.range(open.clone(), self.out);
                self.alternatives.push(self.out.len());
            }
            Mark::Alternatives {
                run,
                inner,
                close,
                others,
                ..
            } => {
                self.end_text();
                self.enter(*run);
                self.others(inner, close, others);
            }
            Mark::Field { open, close } => self.items(if is_start { open } else { close }),
            _ => {}
        }
    }

    /// Writes `close`, the end of alternatives. The others get the translation of the first, which
    /// is written: all of it if they were equal, or else its text.
    fn others(&mut self, inner: &Span, close: &Span, others: &[Branch]) {
        let xml = self.writer.xml;
        let start = self.alternatives.pop().unwrap_or(self.out.len());
        let translation = self.out[start..].to_owned();
        let text: String = PIECE
            .find_iter(&translation)
            .map(|piece| piece.as_str())
            .filter(|piece| !piece.starts_with('<'))
            .collect();
        let mut at = close.start;
        for other in others {
            let contents = if xml[other.inner.clone()] == xml[inner.clone()] {
                vec![(other.inner.clone(), translation.as_str())]
            } else {
                let texts = [text.as_str()].into_iter().chain(std::iter::repeat(""));
                other.texts.iter().cloned().zip(texts).collect()
            };
            for (range, content) in contents {
                if self.repeated > self.limit {
                    return;
                }
                self.out.extend([&xml[at..range.start], content]);
                self.repeated += content.len();
                at = range.end;
            }
        }
        *self.out += &xml[at..close.end];
    }

    fn point(&mut self, mark: usize) {
        match &self.paragraph.marks[mark] {
            Mark::Point { range, run } => {
                self.end_text();
                self.enter(*run);
                self.writer.range(range.clone(), self.out);
            }
            Mark::Field { open, .. } => self.items(open),
            _ => {}
        }
    }

    /// Writes items of a field as they are in the source.
    fn items(&mut self, range: &Span) {
        let paragraph = self.paragraph;
        let mut open = Vec::new();
        for item in &paragraph.items[range.clone()] {
            match item {
                Item::Text(text) | Item::Lines(text) => {
                    self.text(&self.writer.xml[text.clone()], &open);
                }
                Item::Open(mark) => {
                    open.push(*mark);
                    self.tag(*mark, true);
                }
                Item::Close(mark) => {
                    open.pop();
                    self.tag(*mark, false);
                }
                Item::Space => self.text(" ", &open),
                Item::Point(mark, _) | Item::Unit(mark, _) => self.point(*mark),
            }
        }
    }

    fn text(&mut self, text: &str, open: &[usize]) {
        let mut marks = open.iter().rev().copied().chain(self.paragraph.base);
        let found = marks.find_map(|mark| self.own_text(mark));
        self.enter(found.and_then(|(_, run)| run));
        // A cell of Excel has one text element, even with several lines.
        if let Some((name, _)) = found.filter(|(name, _)| self.text.as_ref() != Some(name)) {
            self.end_text();
            let raw = &self.writer.xml[name.clone()];
            let space = if raw.starts_with("a:") {
                ""
            } else {
                " xml:space=\"preserve\""
            };
            self.out.extend(["<", raw, space, ">"]);
            self.text = Some(name.clone());
        }
        self.spell(text);
    }

    /// Writes the characters of a text as its place requires.
    fn spell(&mut self, text: &str) {
        *self.out += &match self.paragraph.place {
            Place::Element => text.into(),
            Place::Attribute(quote) => {
                let name = if quote == '"' { "&quot;" } else { "&apos;" };
                text.replace(quote, name).replace('\n', "&#10;")
            }
            Place::Header => {
                // Digits behind the code of a size would belong to it.
                let before = self.out.trim_end_matches(DIGITS);
                let is_size = before.ends_with("&amp;")
                    && before.len() < self.out.len()
                    && text.starts_with(DIGITS);
                let space = if is_size { " " } else { "" };
                space.to_owned() + &text.replace("&amp;", "&amp;&amp;")
            }
        };
    }

    /// Returns the element and run of the text `mark`, or of the first text in a link that has no
    /// tags of its own.
    fn own_text(&self, mark: usize) -> Option<(&'a Span, Option<usize>)> {
        let mut marks = self.paragraph.marks[mark..].iter();
        let text = |mark: &'a Mark| match mark {
            Mark::Text { name, run } => Some((name, *run)),
            _ => None,
        };
        match &self.paragraph.marks[mark] {
            Mark::Element { open, .. } if open.is_empty() => marks.find_map(text),
            Mark::Alternatives { .. } => marks.find_map(text),
            mark => text(mark),
        }
    }
}
