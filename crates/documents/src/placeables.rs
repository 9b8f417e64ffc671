//! Placeables: text that must not be translated, such as addresses, placeholders, code and numbers.
//! They become the atoms of a block, are removed from sentences if necessary, and are put back into
//! translations.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use burnformer_text::{
    Cloze, FilledCloze, Grammar, Link, Part, PartKind, Writing, added_placeholders, apply_edits,
    arms,
};

use crate::Translated;
use crate::alignment::{Alignment, Pair};
use crate::block::{Atom, AtomText, Block, Segment, State};
use crate::words::{Span, has_letters, moved, overlap, within};

/// Adds the remaining placeables in `text` to the sorted `atoms`. A placeable cut by markup is
/// replaced by the placeables in its pieces: a sign before a tag does not belong to a placeholder
/// after it. Returns the ICU messages that are cut.
pub(crate) fn find_atoms(
    text: &str,
    borders: &BTreeSet<usize>,
    atoms: &mut Vec<Atom>,
    grammar: Grammar,
) -> Vec<Span> {
    let known = atoms.len();
    let mut messages = Vec::new();
    let mut todo = VecDeque::from(grammar.parts(text));
    while let Some(Part { mut range, kind }) = todo.pop_front() {
        let known = |range: &Span| {
            let next = atoms[..known].partition_point(|atom| atom.range.end <= range.start);
            atoms[..known]
                .get(next)
                .filter(|atom| atom.range.start < range.end)
        };
        // After the number of a plural, `#{x}` is not a Ruby placeholder.
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
                    let pieces = grammar.parts(&text[range.start..end]).into_iter();
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

/// Finds the atoms of `block.text[range]` in `translation`, sorted by position. Returns `None`
/// unless each occurs as often as in the source, and no other placeholder does.
pub(crate) fn locate(
    block: &Block,
    range: &Span,
    translated: &Translated,
) -> Option<Vec<(usize, Span)>> {
    let translation = &*translated.text;
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
    let spans = burnformer_text::positions(source, &parts, translation)?;
    let mut spans: Vec<_> = atoms.into_iter().zip(spans).collect();
    spans.sort_by_key(|(_, span)| span.start);
    if has_equal_arguments(block, range) {
        align_equal_atoms(block, range, &mut spans, &translated.links);
    }
    Some(spans)
}

/// Returns whether two arguments of the sentence at `range` are written alike (`%s … %s`). Only
/// their alignment can tell them apart in a translation.
pub(crate) fn has_equal_arguments(block: &Block, range: &Span) -> bool {
    let source = &block.text[range.clone()];
    let mut texts = BTreeSet::new();
    let mut all = block.grammar.arguments(source).into_iter();
    !all.all(|argument| texts.insert(&source[argument]))
}

/// Exchanges equal atoms among the `spans` of a translation where its `links` say that they changed
/// places: each span is linked to one of them, and each of them to one span.
fn align_equal_atoms(block: &Block, range: &Span, spans: &mut [(usize, Span)], links: &[Link]) {
    let mut equal: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, (atom, _)) in spans.iter().enumerate() {
        let text = &block.text[block.atoms[*atom].range.clone()];
        equal.entry(text).or_default().push(index);
    }
    for indices in equal.into_values().filter(|indices| indices.len() > 1) {
        let atoms: BTreeSet<usize> = indices.iter().map(|&index| spans[index].0).collect();
        let linked = indices.iter().map(|&index| {
            let target = &spans[index].1;
            let links = links.iter().filter(|link| overlap(&link.target, target));
            let sources = links.map(|link| moved(&link.source, 0, range.start));
            let sources: Vec<Span> = sources.collect();
            let is_linked = |&&atom: &&usize| {
                let atom = &block.atoms[atom].range;
                sources.iter().any(|source| overlap(source, atom))
            };
            let mut found = atoms.iter().filter(is_linked);
            found.next().filter(|_| found.next().is_none()).copied()
        });
        let linked: Option<Vec<usize>> = linked.collect();
        let Some(linked) = linked else {
            continue;
        };
        if linked.iter().copied().collect::<BTreeSet<_>>() == atoms {
            for (index, atom) in indices.into_iter().zip(linked) {
                spans[index].0 = atom;
            }
        }
    }
}

/// Returns the indices of the block's arguments in the order of its translation.
pub(crate) fn order_of_arguments(block: &Block) -> Vec<usize> {
    let arguments = block.grammar.arguments(&block.text);
    let mut order = Vec::with_capacity(arguments.len());
    let mut end = 0;
    let mut add = |range: &Span| order.extend(within(&arguments, |it| it, range));
    for Segment { range, state } in &block.segments {
        add(&(end..range.start));
        end = range.end;
        match state {
            State::Done(done) => {
                let atoms = done.atoms.iter();
                atoms.for_each(|&(atom, _)| add(&block.atoms[atom].range));
            }
            _ => add(range),
        }
    }
    add(&(end..block.text.len()));
    order
}

/// Returns `translated` without placeholders that `source`, a text of `block`, lacks. Returns
/// `source` if nothing else is left.
pub(crate) fn tidied(source: &str, block: &Block, translated: Translated) -> Translated {
    let changes = added_placeholders(source, &translated.text, block.escape.signs());
    // Signs in the source that are not placeables are prose.
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

/// Returns `block.text[range]` without its atoms.
pub(crate) fn reduced<'a>(block: &'a Block, range: &Span) -> Cloze<'a> {
    let text = &block.text[range.clone()];
    Cloze::without(text, block.parts(range).into_iter()).with_grammar(block.grammar)
}

/// Returns the state of a sentence to be translated without its atoms.
pub(crate) fn without_atoms(block: &Block, range: &Span) -> State {
    if has_letters(&reduced(block, range).text) {
        State::Reduced
    } else {
        State::Kept
    }
}

/// Restores the atoms of the sentence `block.text[range]` in the translation of its `reduced` text.
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

/// Writes the amounts in `done`, a translation of `source`, the way its language does.
pub(crate) fn with_amounts(mut done: AtomText, source: &str, writing: Option<Writing>) -> AtomText {
    let changes = writing.map(|writing| writing.changes(source, &done.translated.text));
    let atoms = done.atoms.iter_mut().map(|(_, range)| range);
    change(&mut done.translated, atoms, &changes.unwrap_or_default());
    done
}

/// Applies `changes` to `translated`, and moves its links and the spans in `others`.
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

/// Links the words of two texts in order.
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
