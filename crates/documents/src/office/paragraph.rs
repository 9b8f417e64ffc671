//! Paragraphs of XML as HTML, and back.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

use super::kind::{BREAKS, KEPT, OfficeKind, VOID, has};
use crate::words::{Span, regex};
use crate::xml::{Element, elements};

/// A paragraph with words.
#[derive(Clone, Debug)]
pub(super) struct Paragraph {
    /// The first byte of its start tag.
    start: usize,
    /// The bytes between its tags.
    inner: Span,
    /// Its text, with `<i id=N>` for element N, and `<img id=N>` or `<br id=N>` for point N.
    pub(super) html: String,
    marks: Vec<Mark>,
    /// The run of the text outside of elements.
    base: Option<usize>,
}

/// An element or point of a paragraph.
#[derive(Clone, Debug)]
struct Mark {
    open: String,
    /// The bytes of a point, which may have paragraphs in them.
    range: Span,
    close: String,
    /// If true, text is written within `open` and `close`, and nothing else is.
    is_run: bool,
}

/// A tag of a translated paragraph, or the text up to the next.
static PIECE: LazyLock<Regex> = LazyLock::new(|| regex("<[^>]*>?|[^<]+"));

/// A piece of a paragraph: text as its XML writes it, or the number of a mark.
enum Item {
    Text(String),
    Open(usize),
    Close(usize),
    Point(usize, &'static str),
}

/// The paragraphs of `xml` that have words, in the order of their start tags.
pub(super) fn paragraphs(xml: &str, kind: OfficeKind) -> Result<Vec<Paragraph>, String> {
    let all = elements(xml).map_err(|broken| broken.to_string())?;
    let mut children = vec![Vec::new(); all.len()];
    let mut kept = vec![false; all.len()];
    for (index, Element { name, parent, .. }) in all.iter().enumerate() {
        kept[index] = has(KEPT, name) || parent.is_some_and(|parent| kept[parent]);
        if let Some(parent) = *parent {
            children[parent].push(index);
        }
    }
    let holds = vec![[false; 2]; all.len()];
    let mut part = Part {
        xml,
        kind,
        all,
        children,
        holds,
    };
    part.find_holders();
    let count = part.all.len();
    let is_paragraph = |&index: &usize| !kept[index] && kind.is_paragraph(part.name(index));
    Ok((0..count)
        .filter(is_paragraph)
        .filter_map(|index| part.paragraph(index))
        .collect())
}

/// A file of an archive as a tree.
struct Part<'a> {
    xml: &'a str,
    kind: OfficeKind,
    all: Vec<Element>,
    children: Vec<Vec<usize>>,
    /// For each element, if it holds text of its paragraph, and if it holds paragraphs.
    holds: Vec<[bool; 2]>,
}

impl Part<'_> {
    /// The name of an element; Excel's own may have a prefix or none.
    fn name(&self, index: usize) -> &str {
        self.all[index].name.trim_start_matches("x:")
    }

    /// Finds the elements that hold text and paragraphs; children come behind their parents.
    fn find_holders(&mut self) {
        for index in (0..self.all.len()).rev() {
            let (name, is_leaf) = (self.name(index), self.children[index].is_empty());
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

    /// The bytes between the children of an element.
    fn gaps(&self, index: usize) -> impl Iterator<Item = Span> {
        let inner = &self.all[index].inner;
        let outers = self.children[index]
            .iter()
            .map(|&child| &self.all[child].outer);
        let starts = [inner.start]
            .into_iter()
            .chain(outers.clone().map(|outer| outer.end));
        let ends = outers.map(|outer| outer.start).chain([inner.end]);
        starts.zip(ends).map(|(start, end)| start..end)
    }

    fn paragraph(&self, index: usize) -> Option<Paragraph> {
        let mut draft = Draft::default();
        self.inline(index, &mut draft);
        let is_word =
            |item: &Item| matches!(item, Item::Text(text) if text.contains(char::is_alphabetic));
        if !draft.items.iter().any(is_word) {
            return None;
        }
        let base = draft.join_runs();
        let html = draft.items.iter().map(|item| match item {
            Item::Text(text) => text.clone(),
            Item::Open(mark) => format!("<i id={mark}>"),
            Item::Close(_) => "</i>".into(),
            Item::Point(mark, tag) => format!("<{tag} id={mark}>"),
        });
        let (html, Element { tag, inner, .. }) = (html.collect(), &self.all[index]);
        let (start, inner) = (tag.start, inner.clone());
        Some(Paragraph {
            start,
            inner,
            html,
            marks: draft.marks,
            base,
        })
    }

    /// Adds all between the tags of an element of a paragraph.
    fn inline(&self, index: usize, draft: &mut Draft) {
        let has_runs = self.kind.run(self.name(index)).is_some();
        let children = self.children[index].iter().map(Some).chain([None]);
        for (gap, child) in self.gaps(index).zip(children) {
            match &self.xml[gap.clone()] {
                text if text.is_empty() || has_runs && text.trim().is_empty() => {}
                // A comment, an instruction, or text outside of runs, which no program shows.
                text if has_runs || text.contains('<') => draft.point(["", ""], gap, "img"),
                text => draft.items.push(Item::Text(text.replace("\r\n", "\n"))),
            }
            if let Some(&child) = child {
                self.child(child, draft);
            }
        }
    }

    /// Adds an element of a paragraph.
    fn child(&self, index: usize, draft: &mut Draft) {
        let (name, element) = (self.name(index), &self.all[index]);
        let [has_text, has_paragraphs] = self.holds[index];
        let is_point = !has_text || has_paragraphs || self.kind.is_paragraph(name);
        match self.kind.run(name) {
            _ if has(VOID, name) => {}
            Some([run, ..]) if name == run => self.run(index, draft),
            Some([.., text]) if name == text => self.text(index, ["", ""], draft),
            _ if is_point => draft.point(["", ""], element.outer.clone(), tag_of(name)),
            _ => {
                let close = self.xml[element.inner.end..element.outer.end].into();
                let mark = draft.open(self.xml[element.tag.clone()].into(), close, false);
                self.inline(index, draft);
                draft.items.push(Item::Close(mark));
            }
        }
    }

    /// Adds each child of a run as a separate run with the same properties.
    fn run(&self, index: usize, draft: &mut Draft) {
        let Some([name, properties, text]) = self.kind.run(self.name(index)) else {
            return;
        };
        let mut open = without_revisions(&self.xml[self.all[index].tag.clone()]);
        let close = format!("</{name}>");
        for &child in &self.children[index] {
            let (name, outer) = (self.name(child), self.all[child].outer.clone());
            match name {
                _ if has(VOID, name) => {}
                _ if name == properties => open += &self.xml[outer],
                _ if name == text => self.text(child, [&open, &close], draft),
                _ => draft.point([&open, &close], outer, tag_of(name)),
            }
        }
    }

    /// Adds a text element with its run `around` it.
    fn text(&self, index: usize, [before, after]: [&str; 2], draft: &mut Draft) {
        let name = self.name(index);
        let space = if name.starts_with("a:") {
            ""
        } else {
            " xml:space=\"preserve\""
        };
        let open = format!("{before}<{name}{space}>");
        let mark = draft.open(open, format!("</{name}>{after}"), true);
        let text = self.xml[self.all[index].inner.clone()].replace("\r\n", "\n");
        draft
            .items
            .extend([Item::Text(text.replace('\n', "<br>")), Item::Close(mark)]);
    }
}

/// The tag of HTML for a point of this name.
fn tag_of(name: &str) -> &'static str {
    if has(BREAKS, name) { "br" } else { "img" }
}

/// The start tag of a run without the numbers of the revisions that made it.
fn without_revisions(tag: &str) -> String {
    let parts = tag.trim_end_matches('>').split_whitespace();
    let kept: Vec<&str> = parts.filter(|part| !part.starts_with("w:rsid")).collect();
    kept.join(" ") + ">"
}

/// A paragraph that is being read.
#[derive(Default)]
struct Draft {
    items: Vec<Item>,
    marks: Vec<Mark>,
}

impl Draft {
    fn open(&mut self, open: String, close: String, is_run: bool) -> usize {
        self.marks.push(Mark {
            open,
            range: 0..0,
            close,
            is_run,
        });
        self.items.push(Item::Open(self.marks.len() - 1));
        self.marks.len() - 1
    }

    fn point(&mut self, around: [&str; 2], range: Span, tag: &'static str) {
        let [open, close] = around.map(String::from);
        self.items.push(Item::Point(self.marks.len(), tag));
        self.marks.push(Mark {
            open,
            range,
            close,
            is_run: false,
        });
    }

    /// Makes one run of runs beside each other that are written alike, and takes away the tags of
    /// those that have the most text. Returns the run that is written around this text.
    fn join_runs(&mut self) -> Option<usize> {
        let Self { items, marks } = self;
        let mut lengths: HashMap<&str, (usize, usize)> = HashMap::new();
        for pair in items.windows(2) {
            if let [Item::Open(mark), Item::Text(text)] = pair
                && marks[*mark].is_run
            {
                lengths.entry(&marks[*mark].open).or_insert((0, *mark)).0 += text.len();
            }
        }
        let longest = lengths
            .values()
            .max_by_key(|(length, mark)| (*length, usize::MAX - mark));
        let base = longest.map(|&(_, mark)| mark);
        let are_alike = |a: usize, b: usize| marks[a].is_run && marks[a].open == marks[b].open;
        let mut joined: Vec<Item> = Vec::new();
        for item in items.drain(..) {
            match (&item, joined.last()) {
                (Item::Open(mark) | Item::Close(mark), _)
                    if base.is_some_and(|base| are_alike(*mark, base)) => {}
                (Item::Open(mark), Some(Item::Close(last))) if are_alike(*mark, *last) => {
                    joined.pop();
                }
                _ => joined.push(item),
            }
        }
        *items = joined;
        base
    }
}

/// Writes XML with the translations of its paragraphs.
pub(super) struct Writer<'a> {
    pub(super) xml: &'a str,
    pub(super) paragraphs: &'a [Paragraph],
    pub(super) translated: &'a [&'a str],
}

impl Writer<'_> {
    /// The bytes of `range` with the paragraphs in them.
    pub(super) fn range(&self, range: Span) -> String {
        let (mut out, mut at) = (String::new(), range.start);
        let first = self
            .paragraphs
            .partition_point(|known| known.start < range.start);
        let within = self.paragraphs[first..]
            .iter()
            .zip(&self.translated[first..]);
        for (paragraph, translated) in within.take_while(|(known, _)| known.start < range.end) {
            // Paragraphs within a changed one are written with it.
            if paragraph.start >= at && *translated != paragraph.html {
                out += &self.xml[at..paragraph.inner.start];
                self.paragraph(paragraph, translated, &mut out);
                at = paragraph.inner.end;
            }
        }
        out + &self.xml[at..range.end]
    }

    fn paragraph(&self, Paragraph { marks, base, .. }: &Paragraph, html: &str, out: &mut String) {
        let mut open = Vec::<usize>::new();
        let text = |text: &str, open: &[usize], out: &mut String| {
            let run = open
                .iter()
                .rev()
                .copied()
                .find(|&mark| marks[mark].is_run)
                .or(*base);
            let [before, after] = run.map_or(["", ""], |run| [&marks[run].open, &marks[run].close]);
            out.extend([before, text, after]);
        };
        for piece in PIECE.find_iter(html).map(|piece| piece.as_str()) {
            let number = piece
                .split_once(" id=")
                .map(|(_, number)| number.trim_end_matches('>'));
            let mark = number
                .and_then(|number| number.parse().ok())
                .unwrap_or_default();
            match piece {
                "</i>" => {
                    let mark = open
                        .pop()
                        .map(|mark| &marks[mark])
                        .filter(|mark| !mark.is_run);
                    out.extend(mark.map(|mark| mark.close.as_str()));
                }
                "<br>" => text("\n", &open, out),
                _ if piece.starts_with("<i ") => {
                    open.push(mark);
                    out.extend((!marks[mark].is_run).then_some(marks[mark].open.as_str()));
                }
                _ if piece.starts_with('<') => {
                    let point = &marks[mark];
                    let inside = self.range(point.range.clone());
                    out.extend([point.open.as_str(), &inside, &point.close]);
                }
                words => text(words, &open, out),
            }
        }
    }
}
