//! The parts of a text that must not be translated: addresses, placeholders, code, numbers.

use std::ops::Range;

use burnformer_glossary::{Part, PartKind, arms, changed, invented, parts};

use crate::Translated;
use crate::block::{Atom, Block};
use crate::escape::Escape;
use crate::words::moved;

/// Adds the other parts of `text` that must stay as they are to `atoms`, which are sorted. Parts
/// that a border of markup cuts are left out; returns the messages of ICU among them.
pub(crate) fn find_atoms(
    text: &str,
    borders: &[usize],
    atoms: &mut Vec<Atom>,
) -> Vec<Range<usize>> {
    let (known, mut messages) = (atoms.len(), Vec::new());
    for Part { mut range, kind } in parts(text) {
        let known = |range: &Range<usize>| {
            let next = atoms[..known].partition_point(|atom| atom.range.end <= range.start);
            atoms[..known].get(next).filter(|atom| atom.range.start < range.end)
        };
        // Behind the number of a plural, `#{x}` is no placeholder of Ruby.
        if let Some(end) = known(&range).map(|atom| atom.range.end).filter(|&end| end < range.end)
            && text[end..].starts_with('{')
        {
            range.start = end;
        }
        let taken = known(&range).is_some();
        let border = borders.partition_point(|&border| border <= range.start);
        let cut = borders.get(border).is_some_and(|&border| border < range.end);
        if cut && !arms(&text[range.clone()]).is_empty() {
            messages.push(range);
        } else if !taken && !cut {
            atoms.push(Atom::new(range, None, kind));
        }
    }
    atoms.sort_by_key(|atom| atom.range.start);
    messages
}

/// The places of the atoms of `block.text[range]` in `translation`, if it has each of them as often
/// as the source, and no other placeholder; sorted by these.
pub(crate) fn places(
    block: &Block,
    range: &Range<usize>,
    translation: &str,
) -> Option<Vec<(usize, Range<usize>)>> {
    let (atoms, source) = (block.atoms_in(range), &block.text[range.clone()]);
    if !invented_in(source, block, translation).is_empty() {
        return None;
    }
    if atoms.is_empty() {
        return Some(Vec::new());
    }
    let is_verbatim = |&atom: &usize| block.atoms[atom].kind != PartKind::Number;
    let atoms: Vec<usize> = atoms.filter(is_verbatim).collect();
    let parts = atoms.iter().map(|&atom| moved(&block.atoms[atom].range, range.start, 0));
    let parts: Vec<Range<usize>> = parts.collect();
    let places = burnformer_glossary::places(source, &parts, translation)?;
    let mut places: Vec<_> = atoms.into_iter().zip(places).collect();
    places.sort_by_key(|(_, place)| place.start);
    Some(places)
}

/// The changes after which `translation` has no placeholder that `source`, a text of `block`,
/// lacks, but for those whose signs are escaped.
fn invented_in(source: &str, block: &Block, translation: &str) -> Vec<(Range<usize>, String)> {
    let mut changes = invented(source, translation);
    let escaped: &[char] = match block.escape {
        Escape::Plain | Escape::Message { .. } => &[],
        Escape::Srt => &['<', '{'],
        _ => &['<', '[', '*', '\\', '|', '_'],
    };
    changes.retain(|(range, _)| !translation[range.clone()].trim_start().starts_with(escaped));
    changes
}

/// `translated` without the placeholders that `source` lacks; `source` if nothing else is left.
pub(crate) fn tidied(source: &str, block: &Block, translated: Translated) -> Translated {
    let changes = invented_in(source, block, &translated.text);
    // Signs of the source that are no parts are prose.
    if changes.is_empty() || !invented("", source).is_empty() {
        return translated;
    }
    let text = changed(&translated.text, &changes);
    let text = if text.trim().is_empty() { source.into() } else { text };
    Translated { text, links: Vec::new() }
}
