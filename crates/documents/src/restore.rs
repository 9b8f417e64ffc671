//! Sentences without their atoms, and the return of these into the translation.

use std::ops::Range;

use crate::align::{Alignment, Pair};
use crate::block::{Block, Done};
use crate::words::{Mark, mark, moved};
use crate::{Link, Translated};

/// Marks that follow a word without a space.
const CLOSING: [Mark; 3] = [Mark::Terminal, Mark::Separator, Mark::Close];

/// A sentence without its atoms.
#[derive(Debug)]
pub(crate) struct Reduced {
    pub(crate) text: String,
    /// The bytes that are left, of `text` and of the block's text.
    kept: Vec<(usize, Range<usize>)>,
    removed: Vec<Removed>,
}

/// An atom, with brackets or quotes directly around it.
#[derive(Debug)]
struct Removed {
    atom: usize,
    /// Bytes of the block's text.
    range: Range<usize>,
    /// Its place in the reduced text.
    at: usize,
    spaces: (bool, bool),
}

impl Reduced {
    /// `block.text[range]` without its atoms.
    pub(crate) fn new(block: &Block, range: &Range<usize>) -> Self {
        let source = &block.text;
        let mut reduced = Self { text: String::new(), kept: Vec::new(), removed: Vec::new() };
        let mut start = range.start;
        for atom in block.atoms_in(range) {
            let around = with_brackets(source, range, block.atoms[atom].range.clone());
            let around = around.start.max(start)..around.end;
            reduced.keep(source, start..around.start);
            let spaces = (
                source[range.start..around.start].ends_with(char::is_whitespace),
                source[around.end..range.end].starts_with(char::is_whitespace),
            );
            start = around.end;
            reduced.removed.push(Removed { atom, range: around, at: reduced.text.len(), spaces });
        }
        reduced.keep(source, start..range.end);
        let end = reduced.text.trim_end().len();
        reduced.text.truncate(end);
        reduced.removed.iter_mut().for_each(|removed| removed.at = removed.at.min(end));
        reduced
    }

    fn keep(&mut self, source: &str, range: Range<usize>) {
        let slice = &source[range.clone()];
        if slice.chars().next().is_some_and(|c| CLOSING.contains(&mark(c))) {
            let end = self.text.trim_end().len();
            self.text.truncate(end);
            self.removed.iter_mut().rev().for_each(|removed| removed.at = removed.at.min(end));
        }
        let trimmed = match self.text.is_empty() || self.text.ends_with(char::is_whitespace) {
            true => slice.trim_start(),
            false => slice,
        };
        let start = range.end - trimmed.len();
        self.kept.push((self.text.len(), start..range.end));
        self.text.push_str(trimmed);
    }

    /// The translation of the whole sentence `block.text[range]`, from the translation of this one.
    pub(crate) fn restore(
        &self,
        block: &Block,
        range: &Range<usize>,
        translated: &Translated,
    ) -> Done {
        let alignment = self.align(translated);
        let (mut text, mut at) = (String::new(), 0);
        let (mut atoms, mut shifts) = (Vec::new(), Vec::new());
        for (removed, place) in self.in_order(&alignment) {
            text.push_str(&translated.text[at..place]);
            at = place;
            let inserted = &block.text[removed.range.clone()];
            let (first, last) = (inserted.chars().next(), inserted.chars().next_back());
            if needs_space(text.chars().next_back(), removed.spaces.0, first, &[Mark::Open]) {
                text.push(' ');
            }
            let atom = &block.atoms[removed.atom].range;
            atoms.push((removed.atom, moved(atom, removed.range.start, text.len())));
            text.push_str(inserted);
            let next = translated.text[at..].chars().next();
            if needs_space(next, removed.spaces.1, last, &CLOSING) {
                text.push(' ');
            }
            shifts.push((place, text.len() - place));
        }
        text.push_str(&translated.text[at..]);
        // Beside the links of the atoms, words without links would count as aligned to nothing.
        let mut links = match translated.links.is_empty() {
            true => self.shifted(&alignment.links(), range, &shifts),
            false => self.shifted(&translated.links, range, &shifts),
        };
        links.extend(atoms.iter().map(|(atom, target)| {
            let source = moved(&block.atoms[*atom].range, range.start, 0);
            Link { source, target: target.clone() }
        }));
        Done { translated: Translated { text, links }, atoms }
    }

    /// This sentence with its translation.
    fn align(&self, translated: &Translated) -> Alignment {
        let mut alignment = Alignment::default();
        let borders: Vec<usize> = self.removed.iter().map(|removed| removed.at).collect();
        alignment.sentence(&Pair {
            source: &self.text,
            range: 0..self.text.len(),
            target: &translated.text,
            links: &translated.links,
            whole: (&[], &[]),
            borders: &borders,
        });
        alignment
    }

    /// The atoms with their places in the translation, in the order of these.
    fn in_order(&self, alignment: &Alignment) -> Vec<(&Removed, usize)> {
        let place = |removed: &Removed| alignment.position(&self.text, removed.at, removed.spaces);
        let mut all: Vec<(&Removed, usize)> =
            self.removed.iter().map(|removed| (removed, place(removed))).collect();
        all.sort_by_key(|&(_, place)| place);
        all
    }

    /// `links` of the reduced texts as links of the whole ones.
    fn shifted(
        &self,
        links: &[Link],
        range: &Range<usize>,
        shifts: &[(usize, usize)],
    ) -> Vec<Link> {
        let source = |at: usize| {
            let part = self.kept.partition_point(|(start, _)| *start <= at).saturating_sub(1);
            self.kept.get(part).map(|(start, kept)| {
                (kept.start + (at - start.min(&at))).min(kept.end).saturating_sub(range.start)
            })
        };
        let target = |at: usize| {
            let before = shifts.partition_point(|&(place, _)| place <= at);
            at + before.checked_sub(1).map_or(0, |last| shifts[last].1)
        };
        let link = |link: &Link| {
            let (from, to) = (link.source.start, link.source.end.checked_sub(1)?);
            let source = source(from)?..source(to)? + 1;
            let target = target(link.target.start)..target(link.target.end.checked_sub(1)?) + 1;
            Some(Link { source, target })
        };
        links.iter().filter_map(link).collect()
    }
}

/// `atom` with brackets or quotes directly around it, which would be left empty.
fn with_brackets(source: &str, range: &Range<usize>, atom: Range<usize>) -> Range<usize> {
    let before = source[range.start..atom.start].chars().next_back();
    let after = source[atom.end..range.end].chars().next();
    let (Some(before), Some(after)) = (before, after) else {
        return atom;
    };
    match (mark(before), mark(after)) {
        (Mark::Open, Mark::Close) | (Mark::Quote, Mark::Quote) => {
            atom.start - before.len_utf8()..atom.end + after.len_utf8()
        }
        _ => atom,
    }
}

/// Whether white space is needed between `neighbour`, of the translation, and `edge`, of the text
/// that is put in. Marks of the kinds `touching` touch it.
fn needs_space(
    neighbour: Option<char>,
    wanted: bool,
    edge: Option<char>,
    touching: &[Mark],
) -> bool {
    let Some(neighbour) = neighbour.filter(|c| !c.is_whitespace()) else {
        return false;
    };
    let words = neighbour.is_alphanumeric() && edge.is_some_and(char::is_alphanumeric);
    words || wanted && !touching.contains(&mark(neighbour))
}
