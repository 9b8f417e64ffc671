//! Finds the paragraphs of an XML file, and converts them to HTML.

use super::draft::{Draft, Run};
use super::fields::is_translated;
use super::item::{Item, Mark, shown};
use super::kind::{BREAKS, HIDDEN, OfficeKind, UNITS, VOID, has};
use super::styles::{Styles, is_raised};
use crate::format::{is_code, keeps};
use crate::words::Span;
use crate::xml::{Element, elements};

/// A paragraph that contains words.
#[derive(Clone, Debug)]
pub(super) struct Paragraph {
    /// The offset of its start tag.
    pub(super) start: usize,
    /// The byte range between its tags.
    pub(super) inner: Span,
    /// Its text, with `<i id=N>` for element N (`<sup>` if it is raised, `<a>` for a link),
    /// `<img id=N>` or `<br id=N>` for point N, and `<code id=N>` for unit N.
    pub(super) html: String,
    pub(super) marks: Box<[Mark]>,
    pub(super) runs: Box<[Run]>,
    /// The mark of the text outside of elements.
    pub(super) base: Option<usize>,
    /// The items that fields repeat.
    pub(super) items: Box<[Item]>,
}

/// Returns the paragraphs of `xml` that contain words, in the order of their start tags. `shared`
/// are styles of another file.
pub(super) fn paragraphs(
    xml: &str,
    kind: OfficeKind,
    shared: &Styles,
) -> Result<Vec<Paragraph>, String> {
    let all = elements(xml).map_err(|broken| broken.to_string())?;
    let kept = kept(xml, kind, &all);
    let mut next: Vec<usize> = (1..=all.len()).collect();
    for index in (0..all.len()).rev() {
        if let Some(parent) = all[index].parent {
            next[parent] = next[parent].max(next[index]);
        }
    }
    let holds = vec![[false; 2]; all.len()];
    let styles = Styles::of(xml, &all);
    let mut part = Part {
        xml,
        kind,
        all,
        next,
        holds,
        kept,
        styles,
        shared,
    };
    part.find_holders();
    let count = part.all.len();
    Ok((0..count)
        .filter(|&index: &usize| !part.kept[index] && kind.is_paragraph(part.name(index)))
        .filter_map(|index| part.paragraph(index))
        .collect())
}

/// For each element, whether it or an enclosing one stays unchanged. Books follow the rules of
/// HTML.
fn kept(xml: &str, kind: OfficeKind, all: &[Element<'_>]) -> Vec<bool> {
    let mut kept: Vec<bool> = Vec::with_capacity(all.len());
    for element in all {
        let around = element.parent.is_some_and(|parent| kept[parent]);
        let own = if kind == OfficeKind::Epub {
            keeps(&xml[element.tag.clone()])
        } else {
            has(HIDDEN, element.name).then_some(true)
        };
        kept.push(own.unwrap_or(around));
    }
    kept
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
    /// For each element, whether it stays unchanged.
    kept: Vec<bool>,
    styles: Styles,
    /// Styles of another file.
    shared: &'a Styles,
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
                // The parts of a field must be seen, wherever they stand.
                Some([.., text]) => name == text || name == "w:fldChar",
                None => {
                    name.starts_with("field:fieldmark-")
                        || self.gaps(index).any(|gap| is_text(&self.xml[gap]))
                }
            };
            let text = (self.holds[index][0] || has_text) && !has(HIDDEN, name);
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
        let items = draft.group_fields();
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
            items: items.into(),
        })
    }

    /// Adds the content of an element in a paragraph.
    fn inline(&self, index: usize, draft: &mut Draft) {
        let has_runs = self.kind.run(self.name(index)).is_some();
        let children = self.children(index).map(Some).chain([None]);
        let mut link = None;
        for (gap, child) in self.gaps(index).zip(children) {
            match &self.xml[gap.clone()] {
                text if text.is_empty() || has_runs && text.trim().is_empty() => {}
                // A comment, an instruction, or text outside of runs, which no program shows.
                text if has_runs || text.contains('<') => draft.point(gap, None, "img"),
                _ => draft.items.push(Item::Text(gap)),
            }
            self.change_link(&mut link, child, draft);
            if let Some(child) = child {
                self.child(child, draft);
            }
        }
    }

    /// Ends the open link unless the run `child` has it, and begins the link of this run. Runs of
    /// PowerPoint name their links, and each link is one element.
    fn change_link(
        &self,
        open: &mut Option<(usize, &'a str)>,
        child: Option<usize>,
        draft: &mut Draft,
    ) {
        let next = child.and_then(|child| self.link(child));
        if open.map(|(_, link)| link) == next {
            return;
        }
        if let Some((mark, _)) = open.take() {
            draft.items.push(Item::Close(mark));
        }
        let none = Mark::Element {
            open: 0..0,
            close: 0..0,
            tag: "a",
        };
        *open = next.map(|link| (draft.open(none), link));
    }

    /// Returns the link of the run `index` of PowerPoint.
    fn link(&self, index: usize) -> Option<&'a str> {
        let mut children = self.children(index).filter(|_| self.name(index) == "a:r");
        let properties = children.find(|&child| self.name(child) == "a:rPr")?;
        let mut all = self.children(properties);
        let link = all.find(|&child| self.name(child) == "a:hlinkClick")?;
        Some(&self.xml[self.all[link].tag.clone()])
    }

    /// Adds an element of a paragraph.
    fn child(&self, index: usize, draft: &mut Draft) {
        let name = self.name(index);
        let outer = self.all[index].outer.clone();
        let [has_text, has_paragraphs] = self.holds[index];
        let is_point = !has_text
            || has_paragraphs
            || self.kind.is_paragraph(name)
            || name.starts_with("field:fieldmark-");
        match self.kind.run(name) {
            _ if has(VOID, name) => {}
            _ if self.is_space(index) && draft.space() => {}
            Some([run, ..]) if name == run => self.run(index, draft),
            Some([.., text]) if name == text => self.text(index, None, draft),
            _ if is_point => draft.point(outer, None, tag_of(name)),
            _ if self.is_unit(index) => draft.unit(outer, None, self.shown(index)),
            _ if self.kept[index] => draft.point(outer, None, tag_of(name)),
            _ => {
                let element = &self.all[index];
                self.element(index, [element.tag.clone(), element.end_tag()], draft);
            }
        }
    }

    /// Returns whether the element `index` is one space, as OpenDocument writes it behind a field.
    fn is_space(&self, index: usize) -> bool {
        let element = &self.all[index];
        element.name == "text:s" && element.attribute(self.xml, "c").is_none_or(|it| it == "1")
    }

    /// Adds the element `index` with its text. `open` and `close` are written around it.
    fn element(&self, index: usize, [open, close]: [Span; 2], draft: &mut Draft) {
        let tag = self.tag(index);
        let mark = draft.open(Mark::Element { open, close, tag });
        self.inline(index, draft);
        draft.items.push(Item::Close(mark));
    }

    /// Returns the tag that HTML has for an element around text.
    fn tag(&self, index: usize) -> &'static str {
        let is_raised = || {
            let style = self.all[index].attribute(self.xml, "style-name");
            style.is_some_and(|style| self.styles.raises(&style, self.shared))
        };
        match self.name(index) {
            "sup" => "sup",
            // Styles raise these links.
            "a" if self.is_note_reference(index) => "sup",
            "a" | "text:a" | "w:hyperlink" => "a",
            "text:span" if is_raised() => "sup",
            _ => "i",
        }
    }

    /// Returns whether the link `index` of a book refers to a note, as EPUB 3 or ARIA says.
    fn is_note_reference(&self, index: usize) -> bool {
        let is = |name: &str, kind: &str| {
            let value = self.all[index].attribute(self.xml, name);
            value.is_some_and(|value| has(&value, kind))
        };
        is("type", "noteref") || is("role", "doc-noteref")
    }

    /// Returns whether the element `index` is a unit: a field with a computed text, or code.
    fn is_unit(&self, index: usize) -> bool {
        let element = &self.all[index];
        match self.name(index) {
            _ if self.kind == OfficeKind::Epub => self.kept[index] && is_code(element.name),
            "w:fldSimple" => {
                let code = element.attribute(self.xml, "instr");
                !is_translated(&code.unwrap_or_default())
            }
            name => has(UNITS, name),
        }
    }

    /// Returns the XML of the text that the element `index` shows.
    fn shown(&self, index: usize) -> String {
        let mut draft = Draft::new(self.xml);
        self.inline(index, &mut draft);
        shown(self.xml, &draft.items)
    }

    /// Returns whether the run properties `raw` raise the text.
    fn is_raised(&self, raw: &str) -> bool {
        let value = |name: &str| {
            let (_, value) = raw.split_once(name)?;
            value.split(['"', '\'']).nth(1)
        };
        let own = value("vertAlign ").or_else(|| value(" baseline="));
        let style = || value("<w:rStyle ");
        own.map_or_else(
            || style().is_some_and(|style| self.styles.raises(style, self.shared)),
            is_raised,
        )
    }

    /// Adds the children of a run.
    fn run(&self, index: usize, draft: &mut Draft) {
        let Some([_, properties, text]) = self.kind.run(self.name(index)) else {
            return;
        };
        let element = &self.all[index];
        let mut children: Vec<usize> = self.children(index).collect();
        let first = children
            .iter()
            .position(|&child| self.name(child) == properties);
        let first = first.map(|at| children.remove(at));
        if let [child] = children[..]
            && let Some(base) = self.ruby_base(child)
        {
            let open = element.tag.start..self.all[base].inner.start;
            let close = self.all[base].inner.end..element.outer.end;
            return self.element(base, [open, close], draft);
        }
        let properties = first.map_or(0..0, |child| self.all[child].outer.clone());
        let is_raised = self.is_raised(&self.xml[properties.clone()]);
        let parts = [element.tag.clone(), element.end_tag(), properties];
        let run = draft.run(parts, is_raised);
        for child in children {
            let name = self.name(child);
            let outer = self.all[child].outer.clone();
            match name {
                _ if has(VOID, name) => {}
                _ if name == text => self.text(child, Some(run), draft),
                _ => draft.point(outer, Some(run), tag_of(name)),
            }
        }
    }

    /// Returns the element with the text below the reading of the ruby `index`.
    fn ruby_base(&self, index: usize) -> Option<usize> {
        let mut children = self.children(index);
        let base = children.find(|&child| self.name(child) == "w:rubyBase")?;
        (self.name(index) == "w:ruby" && self.holds[base][0]).then_some(base)
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
