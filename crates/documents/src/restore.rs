//! Sentences without their atoms, and the return of these into the translation.

use std::ops::Range;

use burnformer_glossary::{Filled, Gapped, Writing, changed};

use crate::Translated;
use crate::align::{Alignment, Pair};
use crate::block::{Block, Done, State};
use crate::words::has_letters;

/// `block.text[range]` without its atoms.
pub(crate) fn reduced<'a>(block: &'a Block, range: &Range<usize>) -> Gapped<'a> {
    Gapped::without(&block.text[range.clone()], block.parts(range).into_iter())
}

/// The state of a sentence that is to be translated without its atoms.
pub(crate) fn without_atoms(block: &Block, range: &Range<usize>) -> State {
    match has_letters(&reduced(block, range).text) {
        true => State::Reduced,
        false => State::Kept,
    }
}

/// The translation of the whole sentence `block.text[range]`, from that of the `reduced` one.
pub(crate) fn restore(
    block: &Block,
    range: &Range<usize>,
    reduced: &Gapped<'_>,
    translated: &Translated,
) -> Done {
    let Translated { text, links } = translated;
    let even = links.is_empty().then(|| even_links(&reduced.text, text));
    let filled = reduced.fill(text, even.as_ref().unwrap_or(links));
    let parts = block.parts(range);
    let places = block.atoms_in(range).zip(&parts);
    let places = places.filter_map(|(atom, part)| Some((atom, filled.place(part)?)));
    let mut atoms: Vec<_> = places.collect();
    atoms.sort_by_key(|(_, place)| place.start);
    let Filled { text, links, .. } = filled;
    Done { translated: Translated { text, links }, atoms }
}

/// `done`, a translation of `source`, with its amounts as its language writes them.
pub(crate) fn with_amounts(mut done: Done, source: &str, writing: Option<Writing>) -> Done {
    let changes = writing.map(|writing| writing.changes(source, &done.translated.text));
    let changes = changes.unwrap_or_default();
    let moved = |at: usize| {
        let before = changes.iter().take_while(|(range, _)| range.start < at);
        before.fold(at, |moved, (range, new)| {
            let (old, new) = (range.len().min(at - range.start), new.len());
            moved - old + if at < range.end { old.min(new) } else { new }
        })
    };
    let targets = done.translated.links.iter_mut().map(|link| &mut link.target);
    for range in targets.chain(done.atoms.iter_mut().map(|(_, range)| range)) {
        *range = moved(range.start)..moved(range.end);
    }
    done.translated.text = changed(&done.translated.text, &changes);
    done
}

/// Links between the words of the two texts in their order.
fn even_links(source: &str, target: &str) -> Vec<burnformer_glossary::Link> {
    let mut alignment = Alignment::default();
    let (range, whole) = (0..source.len(), (&[][..], &[][..]));
    alignment.sentence(&Pair { source, range, target, links: &[], whole, borders: &[] });
    alignment.links()
}
