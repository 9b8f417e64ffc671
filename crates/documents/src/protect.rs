//! The parts of a text that must not be translated: addresses, placeholders, code, numbers.

use std::collections::BTreeMap;
use std::ops::Range;

use burnformer_glossary::{Part, PartKind, blank, numbers_stay, occurrences, parts};

use crate::block::{Atom, AtomKind, Block};
use crate::words::moved;

/// Adds the other parts of `text` that must stay as they are to `atoms`, which are sorted. Parts
/// that a border of markup cuts are left out.
pub(crate) fn find_atoms(text: &str, borders: &[usize], atoms: &mut Vec<Atom>) {
    let known = atoms.len();
    for Part { range, kind } in parts(text) {
        let overlap = atoms[..known].partition_point(|atom| atom.range.end <= range.start);
        let taken = atoms[..known].get(overlap).is_some_and(|atom| atom.range.start < range.end);
        let border = borders.partition_point(|&border| border <= range.start);
        let cut = borders.get(border).is_some_and(|&border| border < range.end);
        if !taken && !cut {
            let is_number = kind == PartKind::Number;
            let kind = if is_number { AtomKind::Number } else { AtomKind::Verbatim };
            atoms.push(Atom { range, node: None, kind });
        }
    }
    atoms.sort_by_key(|atom| atom.range.start);
}

/// The places of the atoms of `block.text[range]` in `translation`, if it has each of them as often
/// as the source.
pub(crate) fn places(
    block: &Block,
    range: &Range<usize>,
    translation: &str,
) -> Option<Vec<(usize, Range<usize>)>> {
    let atoms = block.atoms_in(range);
    if atoms.is_empty() {
        return Some(Vec::new());
    }
    let source = &block.text[range.clone()];
    let mut places = Vec::new();
    for (text, indices) in by_text(block, atoms) {
        let found = occurrences(translation, text);
        let expected = occurrences(source, text);
        if found.len() != expected.len() {
            return None;
        }
        for index in indices {
            let start = block.atoms[index].range.start - range.start;
            let which = expected.iter().position(|place| place.start == start)?;
            places.push((index, found[which].clone()));
        }
    }
    places.sort_by_key(|(_, place)| place.start);
    if places.windows(2).any(|pair| pair[0].1.end > pair[1].1.start) {
        return None;
    }
    let verbatim =
        places.iter().map(|(index, _)| moved(&block.atoms[*index].range, range.start, 0));
    let mut verbatim: Vec<Range<usize>> = verbatim.collect();
    verbatim.sort_by_key(|range| range.start);
    let rest = blank(source, verbatim.into_iter());
    let left = blank(translation, places.iter().map(|(_, place)| place.clone()));
    numbers_stay(&rest, &left).then_some(places)
}

fn by_text(block: &Block, atoms: Range<usize>) -> BTreeMap<&str, Vec<usize>> {
    let mut all: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for index in atoms.filter(|&index| block.atoms[index].kind == AtomKind::Verbatim) {
        all.entry(&block.text[block.atoms[index].range.clone()]).or_default().push(index);
    }
    all
}
