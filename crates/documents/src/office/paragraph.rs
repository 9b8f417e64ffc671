//! Converts XML paragraphs to HTML and back.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

use super::kind::{BREAKS, KEPT, OfficeKind, VOID, has};
use crate::words::{Span, regex};
use crate::xml::{Element, elements};

/// Maximum number of bytes in the run tags and properties of a translated paragraph, as a multiple
/// of the bytes of the paragraph and its translation. A run that a translation splits repeats its
/// properties. A paragraph above the limit keeps its source.
const MAX_REPEATED: usize = 16;

/// A paragraph that contains words.
#[derive(Clone, Debug)]
pub(super) struct Paragraph {
    /// The offset of its start tag.
    start: usize,
    /// The byte range between its tags.
    inner: Span,
    /// Its text, with `<i id=N>` for element N, and `<img id=N>` or `<br id=N>` for point N.
    pub(super) html: String,
    marks: Box<[Mark]>,
    runs: Box<[Run]>,
    /// The mark of the text outside of elements.
    base: Option<usize>,
}

/// An element or point of a paragraph. It stores ranges of the XML, so that run properties are not
/// copied for each text.
#[derive(Clone, Debug)]
enum Mark {
    /// An element around text: its start tag and end tag.
    Element { open: Span, close: Span },
    /// A text: the name of its element and the index of its run.
    Text { name: Span, run: Option<usize> },
    /// A point, which may contain paragraphs, and the index of its run.
    Point { range: Span, run: Option<usize> },
}

/// A run of text. Its children become separate runs where a translation splits them.
#[derive(Clone, Debug)]
struct Run {
    /// Its start tag and end tag.
    open: Span,
    close: Span,
    properties: Span,
    /// Equal for runs with the same formatting; 0 for texts without a run.
    look: usize,
}

/// A tag of a translated paragraph, or the text up to the next tag.
static PIECE: LazyLock<Regex> = LazyLock::new(|| regex("<[^>]*>?|[^<]+"));

/// A piece of a paragraph: the byte range of a text, or the index of a mark.
enum Item {
    Text(Span),
    /// A text that shows its line breaks.
    Lines(Span),
    Open(usize),
    Close(usize),
    Point(usize, &'static str),
}

/// Returns the paragraphs of `xml` that contain words, in the order of their start tags.
pub(super) fn paragraphs(xml: &str, kind: OfficeKind) -> Result<Vec<Paragraph>, String> {
    let all = elements(xml).map_err(|broken| broken.to_string())?;
    let mut kept = vec![false; all.len()];
    let mut next: Vec<usize> = (1..=all.len()).collect();
    for (index, Element { name, parent, .. }) in all.iter().enumerate() {
        kept[index] = has(KEPT, name) || parent.is_some_and(|parent| kept[parent]);
    }
    for index in (0..all.len()).rev() {
        if let Some(parent) = all[index].parent {
            next[parent] = next[parent].max(next[index]);
        }
    }
    let holds = vec![[false; 2]; all.len()];
    let mut part = Part {
        xml,
        kind,
        all,
        next,
        holds,
    };
    part.find_holders();
    let count = part.all.len();
    Ok((0..count)
        .filter(|&index: &usize| !kept[index] && kind.is_paragraph(part.name(index)))
        .filter_map(|index| part.paragraph(index))
        .collect())
}

/// A file of the archive as a tree.
struct Part<'a> {
    xml: &'a str,
    kind: OfficeKind,
    all: Vec<Element<'a>>,
    /// For each element, the index of the first later element outside of it.
    next: Vec<usize>,
    /// For each element, whether it contains text of its paragraph, and whether it contains
    /// paragraphs.
    holds: Vec<[bool; 2]>,
}

impl<'a> Part<'a> {
    /// Returns the name of an element. Excel's own elements may have a prefix or none.
    fn name(&self, index: usize) -> &'a str {
        self.all[index].name.trim_start_matches("x:")
    }

    /// Iterates over the direct children of an element.
    fn children(&self, index: usize) -> impl Iterator<Item = usize> + Clone {
        let end = self.next[index];
        let first = Some(index + 1).filter(|&child| child < end);
        std::iter::successors(first, move |&child| {
            Some(self.next[child]).filter(|&next| next < end)
        })
    }

    /// Finds the elements that contain text or paragraphs. Children come after their parents.
    fn find_holders(&mut self) {
        for index in (0..self.all.len()).rev() {
            let name = self.name(index);
            let is_leaf = self.next[index] == index + 1;
            let is_paragraph = self.kind.is_paragraph(name);
            let is_text = |text: &str| !text.trim().is_empty() || is_leaf && !text.is_empty();
            let has_text = match self.kind.run(name) {
                Some([.., text]) => name == text,
                None => self.gaps(index).any(|gap| is_text(&self.xml[gap])),
            };
            let text = (self.holds[index][0] || has_text) && !has(KEPT, name);
            self.holds[index][0] = text;
            let [_, paragraphs] = self.holds[index];
            if let Some(parent) = self.all[index].parent {
                self.holds[parent][0] |= text && !is_paragraph;
                self.holds[parent][1] |= paragraphs || is_paragraph;
            }
        }
    }

    /// Iterates over the byte ranges between an element's children.
    fn gaps(&self, index: usize) -> impl Iterator<Item = Span> {
        let inner = &self.all[index].inner;
        let outers = self.children(index).map(|child| &self.all[child].outer);
        let starts = [inner.start]
            .into_iter()
            .chain(outers.clone().map(|outer| outer.end));
        let ends = outers.map(|outer| outer.start).chain([inner.end]);
        starts.zip(ends).map(|(start, end)| start..end)
    }

    fn paragraph(&self, index: usize) -> Option<Paragraph> {
        let mut draft = Draft::new(self.xml);
        self.inline(index, &mut draft);
        if !draft.items.iter().any(|item: &Item| matches!(item, Item::Text(text) | Item::Lines(text) if self.xml[text.clone()].contains(char::is_alphabetic))) {
            return None;
        }
        let base = draft.join_runs();
        let Element { tag, inner, .. } = &self.all[index];
        Some(Paragraph {
            start: tag.start,
            inner: inner.clone(),
            html: draft.html(),
            marks: draft.marks.into(),
            runs: draft.runs.into(),
            base,
        })
    }

    /// Adds the content of an element in a paragraph.
    fn inline(&self, index: usize, draft: &mut Draft) {
        let has_runs = self.kind.run(self.name(index)).is_some();
        let children = self.children(index).map(Some).chain([None]);
        for (gap, child) in self.gaps(index).zip(children) {
            match &self.xml[gap.clone()] {
                text if text.is_empty() || has_runs && text.trim().is_empty() => {}
                // A comment, an instruction, or text outside of runs, which no program shows.
                text if has_runs || text.contains('<') => draft.point(gap, None, "img"),
                _ => draft.items.push(Item::Text(gap)),
            }
            if let Some(child) = child {
                self.child(child, draft);
            }
        }
    }

    /// Adds an element of a paragraph.
    fn child(&self, index: usize, draft: &mut Draft) {
        let name = self.name(index);
        let element = &self.all[index];
        let [has_text, has_paragraphs] = self.holds[index];
        let is_point = !has_text || has_paragraphs || self.kind.is_paragraph(name);
        match self.kind.run(name) {
            _ if has(VOID, name) => {}
            Some([run, ..]) if name == run => self.run(index, draft),
            Some([.., text]) if name == text => self.text(index, None, draft),
            _ if is_point => draft.point(element.outer.clone(), None, tag_of(name)),
            _ => {
                let mark = draft.open(Mark::Element {
                    open: element.tag.clone(),
                    close: element.end_tag(),
                });
                self.inline(index, draft);
                draft.items.push(Item::Close(mark));
            }
        }
    }

    /// Adds the children of a run.
    fn run(&self, index: usize, draft: &mut Draft) {
        let Some([_, properties, text]) = self.kind.run(self.name(index)) else {
            return;
        };
        let first = self
            .children(index)
            .find(|&child| self.name(child) == properties);
        let element = &self.all[index];
        let properties = first.map_or(0..0, |child| self.all[child].outer.clone());
        let run = draft.run(element.tag.clone(), element.end_tag(), properties);
        for child in self.children(index).filter(|&child| Some(child) != first) {
            let name = self.name(child);
            let outer = self.all[child].outer.clone();
            match name {
                _ if has(VOID, name) => {}
                _ if name == text => self.text(child, Some(run), draft),
                _ => draft.point(outer, Some(run), tag_of(name)),
            }
        }
    }

    /// Adds a text element, which may belong to a run.
    fn text(&self, index: usize, run: Option<usize>, draft: &mut Draft) {
        let Element {
            name, tag, inner, ..
        } = &self.all[index];
        let name = tag.start + 1..tag.start + 1 + name.len();
        let mark = draft.open(Mark::Text { name, run });
        draft
            .items
            .extend([Item::Lines(inner.clone()), Item::Close(mark)]);
    }
}

/// Returns the HTML tag for a point of this name.
fn tag_of(name: &str) -> &'static str {
    if has(BREAKS, name) { "br" } else { "img" }
}

/// Returns a run's start tag without revision numbers.
fn without_revisions(tag: &str) -> String {
    let parts = tag.trim_end_matches('>').split_whitespace();
    let kept: Vec<&str> = parts.filter(|part| !part.starts_with("w:rsid")).collect();
    kept.join(" ") + ">"
}

/// A paragraph being read.
struct Draft<'a> {
    xml: &'a str,
    items: Vec<Item>,
    marks: Vec<Mark>,
    runs: Vec<Run>,
    /// The look of each run, by its start tag and properties.
    looks: HashMap<(String, &'a str), usize>,
}

impl<'a> Draft<'a> {
    fn new(xml: &'a str) -> Self {
        Self {
            xml,
            items: Vec::new(),
            marks: Vec::new(),
            runs: Vec::new(),
            looks: HashMap::new(),
        }
    }

    /// Adds a run and returns its index.
    fn run(&mut self, open: Span, close: Span, properties: Span) -> usize {
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
        });
        self.runs.len() - 1
    }

    fn open(&mut self, mark: Mark) -> usize {
        self.marks.push(mark);
        self.items.push(Item::Open(self.marks.len() - 1));
        self.marks.len() - 1
    }

    /// Adds a point, or extends a point of the same run that directly precedes it.
    fn point(&mut self, range: Span, run: Option<usize>, tag: &'static str) {
        if tag == "img"
            && let Some(Item::Point(_, "img")) = self.items.last()
            && let Some(Mark::Point {
                range: last,
                run: of,
            }) = self.marks.last_mut()
            && (last.end, *of) == (range.start, run)
        {
            last.end = range.end;
            return;
        }
        self.items.push(Item::Point(self.marks.len(), tag));
        self.marks.push(Mark::Point { range, run });
    }

    /// Returns the look of the text `mark`; `None` for other marks.
    fn look(&self, mark: usize) -> Option<usize> {
        match self.marks[mark] {
            Mark::Text { run, .. } => Some(run.map_or(0, |run| self.runs[run].look)),
            _ => None,
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
        let known = lengths
            .into_iter()
            .filter_map(|(length, first)| Some((length, first?)));
        let base = known
            .max_by_key(|(length, mark)| (*length, usize::MAX - mark))
            .map(|(_, mark)| mark);
        let base_look = base.and_then(|base| self.look(base));
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

    /// Returns the items as HTML.
    fn html(&self) -> String {
        let mut html = String::new();
        for item in &self.items {
            match item {
                Item::Text(text) => html += &self.xml[text.clone()].replace("\r\n", "\n"),
                Item::Lines(text) => {
                    let text = self.xml[text.clone()].replace("\r\n", "\n");
                    html += &text.replace('\n', "<br>");
                }
                Item::Open(mark) => html += &format!("<i id={mark}>"),
                Item::Close(_) => html += "</i>",
                Item::Point(mark, tag) => html += &format!("<{tag} id={mark}>"),
            }
        }
        html
    }
}

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
            .partition_point(|known| known.start < range.start);
        let within = self.paragraphs[first..]
            .iter()
            .zip(&self.translated[first..]);
        for (paragraph, translated) in within.take_while(|(known, _)| known.start < range.end) {
            // Paragraphs inside a changed one are written with it.
            if paragraph.start >= at && *translated != paragraph.html {
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
        };
        let mut open = Vec::<usize>::new();
        for piece in PIECE.find_iter(html).map(|piece| piece.as_str()) {
            body.piece(piece, &mut open);
            if body.repeated > limit {
                body.out.truncate(start);
                *body.out += &self.xml[paragraph.inner.clone()];
                return;
            }
        }
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
    /// The number of bytes in run tags and properties so far.
    repeated: usize,
}

impl Body<'_> {
    /// Writes a tag or a text. `open` contains the marks of enclosing elements.
    fn piece(&mut self, piece: &str, open: &mut Vec<usize>) {
        let number = piece
            .split_once(" id=")
            .map(|(_, number)| number.trim_end_matches('>'));
        let mark = number
            .and_then(|number| number.parse().ok())
            .unwrap_or_default();
        match piece {
            "</i>" => {
                if let Some(mark) = open.pop() {
                    self.tag(mark, false);
                }
            }
            "<br>" => self.text("\n", open),
            _ if piece.starts_with("<i ") => {
                open.push(mark);
                self.tag(mark, true);
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
        let xml = self.writer.xml;
        if let Some(last) = self.run {
            *self.out += &xml[self.paragraph.runs[last].close.clone()];
        }
        if let Some(next) = run {
            let run = &self.paragraph.runs[next];
            *self.out += &without_revisions(&xml[run.open.clone()]);
            *self.out += &xml[run.properties.clone()];
            self.repeated += run.open.len() + run.properties.len() + run.close.len();
        }
        self.run = run;
    }

    /// Writes the start or end tag of an element other than a run.
    fn tag(&mut self, mark: usize, is_start: bool) {
        if let Mark::Element { open, close } = &self.paragraph.marks[mark] {
            self.enter(None);
            let tag = if is_start { open } else { close };
            *self.out += &self.writer.xml[tag.clone()];
        }
    }

    fn point(&mut self, mark: usize) {
        if let Mark::Point { range, run } = &self.paragraph.marks[mark] {
            self.enter(*run);
            self.writer.range(range.clone(), self.out);
        }
    }

    fn text(&mut self, text: &str, open: &[usize]) {
        let mut marks = open.iter().rev().copied().chain(self.paragraph.base);
        let found = marks.find_map(|mark| match &self.paragraph.marks[mark] {
            Mark::Text { name, run } => Some((name, *run)),
            _ => None,
        });
        self.enter(found.and_then(|(_, run)| run));
        let Some((name, _)) = found else {
            *self.out += text;
            return;
        };
        let name = &self.writer.xml[name.clone()];
        let space = if name.starts_with("a:") {
            ""
        } else {
            " xml:space=\"preserve\""
        };
        self.out
            .extend(["<", name, space, ">", text, "</", name, ">"]);
    }
}
