//! Placeables, the parts of a text that must not be translated: addresses, placeholders, code,
//! numbers. They are found as the atoms of a block, taken out of sentences, and put back into their
//! translations.

use std::collections::{BTreeSet, VecDeque};

use burnformer_glossary::{
    Cloze, FilledCloze, Link, Part, PartKind, Writing, added_placeholders, apply_edits, arms, parts,
};

use crate::Translated;
use crate::alignment::{Alignment, Pair};
use crate::block::{Atom, AtomText, Block, State};
use crate::words::{Span, has_letters, moved};

/// Adds the other parts of `text` that must stay unchanged to `atoms`, which are sorted. Of a part
/// that a border of markup cuts, those of its pieces are added: a sign before a tag does not belong
/// to a placeholder behind it. Returns the messages of ICU that are cut.
pub(crate) fn find_atoms(
    text: &str,
    borders: &BTreeSet<usize>,
    atoms: &mut Vec<Atom>,
) -> Vec<Span> {
    let known = atoms.len();
    let mut messages = Vec::new();
    let mut todo = VecDeque::from(parts(text));
    while let Some(Part { mut range, kind }) = todo.pop_front() {
        let known = |range: &Span| {
            let next = atoms[..known].partition_point(|atom| atom.range.end <= range.start);
            atoms[..known]
                .get(next)
                .filter(|atom| atom.range.start < range.end)
        };
        // After the number of a plural, `#{x}` is not a placeholder of Ruby.
        if let Some(end) = known(&range)
            .map(|atom| atom.range.end)
            .filter(|&end| end < range.end)
            && text[end..].starts_with('{')
        {
            range.start = end;
        }
        let mut inside = borders
            .range(range.start + 1..range.end)
            .copied()
            .peekable();
        match inside.peek() {
            Some(_) if !arms(&text[range.clone()]).is_empty() => messages.push(range),
            Some(_) if kind != PartKind::Number => {
                for end in inside.chain([range.end]) {
                    let pieces = parts(&text[range.start..end]).into_iter();
                    todo.extend(pieces.map(|it: Part| Part {
                        range: moved(&it.range, 0, range.start),
                        ..it
                    }));
                    range.start = end;
                }
            }
            None if known(&range).is_none() => atoms.push(Atom::new(range, None, kind)),
            _ => {}
        }
    }
    atoms.sort_by_key(|atom| atom.range.start);
    messages
}

/// The spans of the atoms of `block.text[range]` in `translation`, if it has each of them as often
/// as the source, and no other placeholder; sorted by these.
pub(crate) fn locate(block: &Block, range: &Span, translation: &str) -> Option<Vec<(usize, Span)>> {
    let atoms = block.atoms_in(range);
    let source = &block.text[range.clone()];
    if !added_placeholders(source, translation, block.escape.signs()).is_empty() {
        return None;
    }
    if atoms.is_empty() {
        return Some(Vec::new());
    }
    let is_verbatim = |&atom: &usize| block.atoms[atom].kind != PartKind::Number;
    let atoms: Vec<usize> = atoms.filter(is_verbatim).collect();
    let parts = atoms
        .iter()
        .map(|&atom| moved(&block.atoms[atom].range, range.start, 0));
    let parts: Vec<Span> = parts.collect();
    let spans = burnformer_glossary::positions(source, &parts, translation)?;
    let mut spans: Vec<_> = atoms.into_iter().zip(spans).collect();
    spans.sort_by_key(|(_, span)| span.start);
    Some(spans)
}

/// `translated` without the placeholders that `source`, a text of `block`, lacks; `source` if
/// nothing else is left.
pub(crate) fn tidied(source: &str, block: &Block, translated: Translated) -> Translated {
    let changes = added_placeholders(source, &translated.text, block.escape.signs());
    // Signs of the source that are no parts are prose.
    if changes.is_empty() || !added_placeholders("", source, &[]).is_empty() {
        return translated;
    }
    let text = apply_edits(&translated.text, &changes);
    let text = if text.trim().is_empty() {
        source.into()
    } else {
        text
    };
    Translated {
        text,
        links: Vec::new(),
    }
}

/// `block.text[range]` without its atoms.
pub(crate) fn reduced<'a>(block: &'a Block, range: &Span) -> Cloze<'a> {
    Cloze::without(&block.text[range.clone()], block.parts(range).into_iter())
}

/// The state of a sentence that is to be translated without its atoms.
pub(crate) fn without_atoms(block: &Block, range: &Span) -> State {
    if has_letters(&reduced(block, range).text) {
        State::Reduced
    } else {
        State::Kept
    }
}

/// The translation of the whole sentence `block.text[range]`, from that of the `reduced` one.
pub(crate) fn restore(
    block: &Block,
    range: &Span,
    reduced: &Cloze<'_>,
    translated: &Translated,
) -> AtomText {
    let Translated { text, links } = translated;
    let even = links.is_empty().then(|| even_links(&reduced.text, text));
    let filled = reduced.fill(text, even.as_ref().unwrap_or(links));
    let parts = block.parts(range);
    let spans = block.atoms_in(range).zip(&parts);
    let spans = spans.filter_map(|(atom, part)| Some((atom, filled.position(part)?)));
    let mut atoms: Vec<_> = spans.collect();
    atoms.sort_by_key(|(_, span)| span.start);
    let FilledCloze { text, links, .. } = filled;
    AtomText {
        translated: Translated { text, links },
        atoms,
    }
}

/// `done`, a translation of `source`, with its amounts as its language writes them.
pub(crate) fn with_amounts(mut done: AtomText, source: &str, writing: Option<Writing>) -> AtomText {
    let changes = writing.map(|writing| writing.changes(source, &done.translated.text));
    let atoms = done.atoms.iter_mut().map(|(_, range)| range);
    change(&mut done.translated, atoms, &changes.unwrap_or_default());
    done
}

/// Makes `changes` in `translated`, with whose words its links and `others` move.
pub(crate) fn change<'a>(
    translated: &'a mut Translated,
    others: impl Iterator<Item = &'a mut Span>,
    changes: &[(Span, String)],
) {
    let moved = |at: usize| {
        let before = changes.iter().take_while(|(range, _)| range.start < at);
        before.fold(at, |moved, (range, new)| {
            let old = range.len().min(at - range.start);
            let new = new.len();
            moved - old + if at < range.end { old.min(new) } else { new }
        })
    };
    for range in translated
        .links
        .iter_mut()
        .map(|link| &mut link.target)
        .chain(others)
    {
        *range = moved(range.start)..moved(range.end);
    }
    translated.text = apply_edits(&translated.text, changes);
}

/// Links between the words of the two texts in their order.
fn even_links(source: &str, target: &str) -> Vec<Link> {
    let mut alignment = Alignment::default();
    let range = 0..source.len();
    let whole = (&[][..], &[][..]);
    alignment.sentence(&Pair {
        source,
        range,
        target,
        links: &[],
        whole,
        borders: &BTreeSet::new(),
    });
    alignment.links()
}
