//! A file of an archive as a tree of elements.

use std::borrow::Cow;
use std::collections::HashSet;

use super::kind::{HIDDEN, OfficeKind, has};
use super::names::names;
use super::styles::Styles;
use super::verbatim::verbatim_elements;
use crate::words::{Span, has_letters};
use crate::xml::{Element, elements};

/// What a document says about all its files.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shared<'a> {
    pub(super) styles: &'a Styles,
    /// Texts of cells that formulas and tables name. They stay unchanged.
    pub(super) named: &'a HashSet<String>,
}

/// A file of the archive as a tree.
pub(super) struct Part<'a> {
    pub(super) xml: &'a str,
    pub(super) kind: OfficeKind,
    pub(super) all: Vec<Element<'a>>,
    pub(super) names: Vec<Cow<'a, str>>,
    /// For each element, the index of the first later element outside of it.
    pub(super) next: Vec<usize>,
    /// For each element, whether it contains text of its paragraph, and whether it contains
    /// paragraphs.
    pub(super) holds: Vec<[bool; 2]>,
    /// For each element, whether it stays unchanged.
    pub(super) is_verbatim: Vec<bool>,
    pub(super) styles: Styles,
    pub(super) shared: &'a Shared<'a>,
}

impl<'a> Part<'a> {
    /// Reads the elements of `xml`.
    pub(super) fn read(
        xml: &'a str,
        kind: OfficeKind,
        shared: &'a Shared<'a>,
    ) -> Result<Self, String> {
        let all = elements(xml).map_err(|broken| broken.to_string())?;
        let names = names(xml, &all);
        let is_verbatim = verbatim_elements(xml, kind, &all, &names);
        let mut next: Vec<usize> = (1..=all.len()).collect();
        for index in (0..all.len()).rev() {
            if let Some(parent) = all[index].parent {
                next[parent] = next[parent].max(next[index]);
            }
        }
        let holds = vec![[false; 2]; all.len()];
        let styles = Styles::of(xml, &all, &names);
        let mut part = Self {
            xml,
            kind,
            all,
            names,
            next,
            holds,
            is_verbatim,
            styles,
            shared,
        };
        part.find_holders();
        Ok(part)
    }

    pub(super) fn name(&self, index: usize) -> &str {
        &self.names[index]
    }

    /// Iterates over the direct children of an element.
    pub(super) fn children(&self, index: usize) -> impl Iterator<Item = usize> + Clone {
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
            let has_text = match self.kind.run(name) {
                // The parts of a field must be seen, wherever they stand.
                Some([.., text]) => name == text || name == "w:fldChar",
                None => {
                    name.starts_with("field:fieldmark-")
                        || self.gaps(index).any(|gap| {
                            let text = &self.xml[gap];
                            !text.trim().is_empty() || is_leaf && !text.is_empty()
                        })
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
    pub(super) fn gaps(&self, index: usize) -> impl Iterator<Item = Span> {
        let inner = &self.all[index].inner;
        let outers = self.children(index).map(|child| &self.all[child].outer);
        let starts = [inner.start]
            .into_iter()
            .chain(outers.clone().map(|outer| outer.end));
        let ends = outers.map(|outer| outer.start).chain([inner.end]);
        starts.zip(ends).map(|(start, end)| start..end)
    }

    /// Iterates over the ranges of the texts in the runs of the element `index`.
    pub(super) fn texts(&self, index: usize) -> impl Iterator<Item = Span> {
        let inside = (index + 1..self.next[index]).filter(|&it| {
            let name = self.name(it);
            self.kind.run(name).is_some_and(|[.., text]| name == text)
        });
        inside.map(|it| self.all[it].inner.clone())
    }

    pub(super) fn has_letters(&self, index: usize) -> bool {
        self.texts(index).any(|text| has_letters(&self.xml[text]))
    }
}
