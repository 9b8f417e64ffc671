//! Finds the paragraphs of an XML file, and converts them to HTML.

use super::draft::Draft;
use super::fields::is_translated;
use super::header;
use super::item::{Branch, Item, Mark, Paragraph, Place, shown};
use super::kind::{BREAKS, OfficeKind, UNITS, VOID, has};
use super::named::as_named;
use super::styles::is_raised;
use super::tree::{Part, Shared};
use super::values::values;
use crate::format::is_code;
use crate::words::Span;
use crate::xml::{Element, local};

/// The element of contents for programs of different abilities.
const ALTERNATIVES: &str = "mc:AlternateContent";

/// Texts of cells, and their copies in charts.
const CELLS: &str = "si is c:v cx:v cx:pt";

/// Returns the paragraphs of `xml` that contain words, in the order of their contents.
pub(super) fn paragraphs(
    xml: &str,
    kind: OfficeKind,
    shared: &Shared<'_>,
) -> Result<Vec<Paragraph>, String> {
    let part = Part::read(xml, kind, shared)?;
    let mut found = Vec::new();
    for index in (0..part.all.len()).filter(|&index| !part.is_verbatim[index]) {
        part.add_paragraphs(index, &mut found);
    }
    Ok(found)
}

impl<'a> Part<'a> {
    /// Adds the paragraphs of the element `index`: its attributes with text, and its content.
    fn add_paragraphs(&self, index: usize, found: &mut Vec<Paragraph>) {
        let element = &self.all[index];
        let name = self.name(index);
        for value in values(self.xml, self.kind, element, local(name)) {
            let quote = self.xml[..value.start].chars().next_back().unwrap_or('"');
            let mut draft = Draft::new(self.xml);
            draft.text(value.clone());
            found.extend(draft.finish(value, Place::Attribute(quote)));
        }
        if !self.kind.is_paragraph(name) {
            return;
        }
        if header::is_header(name) {
            return found.extend(header::sections(self.xml, element.inner.clone()));
        }
        if has(CELLS, name) && self.is_named(index) {
            return;
        }
        let mut draft = Draft::new(self.xml);
        self.inline(index, &mut draft);
        found.extend(draft.finish(element.inner.clone(), Place::Element));
    }

    /// Returns whether a formula or a table names the text of the cell `index`.
    fn is_named(&self, index: usize) -> bool {
        let named = self.shared.named;
        if named.is_empty() {
            return false;
        }
        let texts = self.texts(index).map(|text| &self.xml[text]);
        let text: String = if self.next[index] == index + 1 {
            self.xml[self.all[index].inner.clone()].into()
        } else {
            texts.collect()
        };
        named.contains(&as_named(&text))
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
            _ if !is_point && name == ALTERNATIVES => self.alternatives(index, None, draft),
            _ if is_point => draft.point(outer, None, tag_of(name)),
            _ if self.is_unit(index) => draft.unit(outer, None, self.shown(index)),
            _ if self.is_verbatim[index] => draft.point(outer, None, tag_of(name)),
            _ => {
                let element = &self.all[index];
                self.element(index, [element.tag.clone(), element.end_tag()], draft);
            }
        }
    }

    /// Returns whether the element `index` is one space, as OpenDocument writes it behind a field.
    fn is_space(&self, index: usize) -> bool {
        let element = &self.all[index];
        self.name(index) == "text:s" && element.attribute(self.xml, "c").is_none_or(|it| it == "1")
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
        match self.name(index) {
            "sup" => "sup",
            // Styles raise these links.
            "a" if self.is_note_reference(index) => "sup",
            "a" | "text:a" | "w:hyperlink" => "a",
            "text:span" if self.has_raised_style(index) => "sup",
            _ => "i",
        }
    }

    /// Returns whether the style of the element `index` raises its text.
    fn has_raised_style(&self, index: usize) -> bool {
        let style = self.all[index].attribute(self.xml, "style-name");
        style.is_some_and(|style| self.styles.raises(&style, self.shared.styles))
    }

    /// Returns whether the link `index` of a book refers to a note, as EPUB 3 or ARIA says.
    fn is_note_reference(&self, index: usize) -> bool {
        [("type", "noteref"), ("role", "doc-noteref")]
            .into_iter()
            .any(|(name, kind)| {
                let value = self.all[index].attribute(self.xml, name);
                value.is_some_and(|value| has(&value, kind))
            })
    }

    /// Returns whether the element `index` is a unit: a field with a computed text, or code.
    fn is_unit(&self, index: usize) -> bool {
        let element = &self.all[index];
        match self.name(index) {
            name if self.kind == OfficeKind::Epub => self.is_verbatim[index] && is_code(name),
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
        if let Some(own) = value(raw, "vertAlign ").or_else(|| value(raw, " baseline=")) {
            return is_raised(own);
        }
        let style = value(raw, "rStyle ");
        style.is_some_and(|style| self.styles.raises(style, self.shared.styles))
    }

    /// Adds the children of a run.
    fn run(&self, index: usize, draft: &mut Draft) {
        let Some([_, properties, _]) = self.kind.run(self.name(index)) else {
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
        children
            .into_iter()
            .for_each(|child| self.in_run(child, Some(run), draft));
    }

    /// Adds a child of a run.
    fn in_run(&self, index: usize, run: Option<usize>, draft: &mut Draft) {
        let name = self.name(index);
        match self.kind.run(name) {
            _ if has(VOID, name) => {}
            Some([.., text]) if name == text => self.text(index, run, draft),
            _ if name == ALTERNATIVES && self.holds[index] == [true, false] => {
                self.alternatives(index, run, draft);
            }
            _ => draft.point(self.all[index].outer.clone(), run, tag_of(name)),
        }
    }

    /// Adds alternatives, of which a program shows one. They say the same. The first with text is
    /// translated, and the others get its translation.
    fn alternatives(&self, index: usize, run: Option<usize>, draft: &mut Draft) {
        let Element { tag, outer, .. } = &self.all[index];
        let mut branches = self.children(index).filter(|&branch| self.holds[branch][0]);
        let Some(first) = branches.next().filter(|_| self.has_letters(index)) else {
            return draft.point(outer.clone(), run, "img");
        };
        let inner = self.all[first].inner.clone();
        let others = branches.map(|branch| Branch {
            inner: self.all[branch].inner.clone(),
            texts: self.texts(branch).collect(),
        });
        let others = others.collect();
        let mark = draft.open(Mark::Alternatives {
            run,
            open: tag.start..inner.start,
            inner: inner.clone(),
            close: inner.end..outer.end,
            others,
        });
        match run {
            None => self.inline(first, draft),
            Some(_) => self
                .children(first)
                .for_each(|child| self.in_run(child, run, draft)),
        }
        draft.items.push(Item::Close(mark));
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

/// Returns the value in quotation marks after `name` in `tag`.
fn value<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let (_, value) = tag.split_once(name)?;
    value.split(['"', '\'']).nth(1)
}
