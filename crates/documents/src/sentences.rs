//! The sentences of a block, and what their translations become.

use std::collections::BTreeSet;

use burnformer_text::{Writing, is_in_word};

use crate::alignment::{Alignment, Pair};
use crate::block::{AtomText, Block, Kind, Node, Segment, State};
use crate::escape::is_noncharacter;
use crate::placeables::{
    change, has_equal_arguments, locate, reduced, restore, tidied, with_amounts, without_atoms,
};
use crate::projection::project;
use crate::render::Layout;
use crate::words::{Mark, Span, has_letters, is_unspaced, mark, moved, overlaps, trim};
use crate::{PendingSentence, Place, Translated};

/// Returns the translations of pending sentences, one by one.
pub(crate) type Next<'a> = &'a mut dyn FnMut() -> Option<Translated>;

/// Returns the pending sentences of `block` and of its messages' arms.
pub(crate) fn sentences(block: &Block) -> Vec<PendingSentence> {
    let borders = block.borders();
    let sentence = |Segment { range, state }: &Segment| match state {
        State::Kept | State::Done(_) => None,
        State::Reduced => Some(PendingSentence {
            text: reduced(block, range).text,
            links: true,
            ..PendingSentence::default()
        }),
        State::Whole => {
            let text = block.text[range.clone()].to_string();
            Some(PendingSentence {
                text,
                links: divides_words(block, range, &borders) || has_equal_arguments(block, range),
                place: Place::Next,
                ..PendingSentence::default()
            })
        }
    };
    let arms = block.atoms.iter().flat_map(|atom| &atom.arms);
    let arms = arms.flat_map(|(_, arm)| alone(sentences(arm)));
    arms.chain(block.segments.iter().filter_map(sentence))
        .collect()
}

/// Returns `sentences` as sentences that stand alone.
pub(crate) fn alone(mut sentences: Vec<PendingSentence>) -> Vec<PendingSentence> {
    for sentence in &mut sentences {
        sentence.place = Place::Alone;
    }
    sentences
}

/// Returns whether markup begins or ends between the first and last word of `range`.
fn divides_words(block: &Block, range: &Span, borders: &BTreeSet<usize>) -> bool {
    let text = &block.text[range.clone()];
    let first = text.find(char::is_alphanumeric).map(|at| range.start + at);
    let last = text.rfind(char::is_alphanumeric).map(|at| range.start + at);
    let (Some(first), Some(last)) = (first, last) else {
        return false;
    };
    borders.range(first..=last).any(|&border| border > first)
}

/// Takes the translations of the block's pending sentences from `next`.
pub(crate) fn accept(block: &mut Block, next: Next<'_>, writing: Option<Writing>) {
    block.arms_mut().for_each(|arm| accept(arm, next, writing));
    let mut is_first_round = false;
    let mut cuts = Vec::new();
    for index in 0..block.segments.len() {
        let Segment { range, state } = &block.segments[index];
        let state = match state {
            State::Whole => next().map(|next| {
                is_first_round = true;
                accept_whole(
                    block,
                    range,
                    with_marks_of(&block.text[range.clone()], next),
                )
            }),
            State::Reduced => next().map(|next| {
                let reduced = reduced(block, range);
                let next = tidied(&reduced.text, block, with_marks_of(&reduced.text, next));
                if next.text == reduced.text {
                    return State::Kept;
                }
                let done = restore(block, range, &reduced, &next);
                let done = with_amounts(done, &block.text[range.clone()], writing);
                State::Done(Box::new(done))
            }),
            State::Kept | State::Done(_) => None,
        };
        if let Some(state) = state {
            if is_first_round {
                cuts.extend(cuts_of_arguments(block, range, &state));
            }
            block.segments[index].state = state;
        }
    }
    if is_first_round {
        cut(block, &cuts);
        divide(block);
    }
}

/// Returns where to cut the sentence at `range` if its translation, `state`, takes the arguments of
/// printf in another order, and they cannot get numbers: before each argument but the first.
fn cuts_of_arguments(block: &Block, range: &Span, state: &State) -> Vec<usize> {
    let State::Done(done) = state else {
        return Vec::new();
    };
    let source = &block.text[range.clone()];
    let grammar = block.grammar;
    let arguments = grammar.arguments(source);
    let own = |atom: usize| moved(&block.atoms[atom].range, range.start, 0);
    let order = done.atoms.iter().map(|&(atom, _)| atom);
    let order = order.filter(|&atom| overlaps(&arguments, &own(atom)));
    let keeps_order = order.is_sorted() && grammar.keeps_order(source, &done.translated.text);
    if keeps_order || grammar.can_number(source) {
        return Vec::new();
    }
    let between = arguments.windows(2).map(|two| two[0].end..two[1].start);
    let spaces = between.filter_map(|range| Some(range.start + source[range].rfind(' ')?));
    spaces.map(|at| range.start + at).collect()
}

/// Cuts the sentences at `cuts`, which are sorted, so that each piece is translated alone.
fn cut(block: &mut Block, cuts: &[usize]) {
    if cuts.is_empty() {
        return;
    }
    for Segment { range, state } in std::mem::take(&mut block.segments) {
        let first = cuts.partition_point(|&cut| cut <= range.start);
        let last = cuts.partition_point(|&cut| cut < range.end);
        if first >= last {
            block.segments.push(Segment { range, state });
            continue;
        }
        let mut at = range.start;
        for end in cuts[first..last].iter().copied().chain([range.end]) {
            let range = trim(&block.text, at..end);
            at = end;
            if !range.is_empty() {
                let state = without_atoms(block, &range);
                block.segments.push(Segment { range, state });
            }
        }
    }
}

fn accept_whole(block: &Block, range: &Span, translated: Translated) -> State {
    let atoms = locate(block, range, &translated);
    if atoms.is_none() && !block.atoms_in(range).is_empty() {
        return without_atoms(block, range);
    }
    let translated = tidied(&block.text[range.clone()], block, translated);
    State::Done(Box::new(AtomText {
        translated,
        atoms: atoms.unwrap_or_default(),
    }))
}

/// Splits sentences where an element would lose its words, so that each piece is translated alone.
fn divide(block: &mut Block) {
    let is_element = |node: &&Node| matches!(node.kind, Kind::Element { .. });
    if block.nodes.iter().find(is_element).is_none() {
        return;
    }
    let Layout {
        alignment, spans, ..
    } = layout(block);
    let empty = block
        .nodes
        .iter()
        .zip(&spans)
        .filter(|(_, span)| alignment.target[(*span).clone()].trim().is_empty());
    let mut cuts = BTreeSet::new();
    for node in empty.map(|(node, _)| node).filter(is_element) {
        let range = trim(&block.text, node.range.clone());
        let index = block
            .segments
            .partition_point(|segment| segment.range.end < range.end);
        let segment = block.segments.get(index);
        let is_lost = segment.is_some_and(
            |Segment {
                 range: sentence,
                 state,
             }| {
                sentence.start <= range.start
                    && matches!(state, State::Done(done) if !done.translated.text.is_empty())
            },
        );
        let is_whole = is_edge(&block.text, range.start) && is_edge(&block.text, range.end);
        if is_lost && is_whole && has_letters(&block.text[range.clone()]) {
            cuts.extend([range.start, range.end]);
        }
    }
    cut(block, &cuts.into_iter().collect::<Vec<_>>());
}

/// Returns whether `at` is between words.
fn is_edge(text: &str, at: usize) -> bool {
    let (before, after) = text.split_at(at);
    !(before.ends_with(is_in_word) && after.starts_with(is_in_word))
}

/// Returns the character to write for `c`, which has the same number of bytes.
fn replaced(c: char) -> char {
    match c {
        '\u{85}' => '\u{a0}',
        '\u{2028}' | '\u{2029}' => '\u{2003}',
        '\t' => '\t',
        '\u{fffe}' | '\u{ffff}' => '\u{fffd}',
        c if is_noncharacter(c) => '\u{fffd}',
        c if c.is_control() && c.len_utf8() == 1 => ' ',
        c if c.is_control() => '\u{a0}',
        c => c,
    }
}

/// Removes line-breaking characters, and white space at the ends.
pub(crate) fn clean(mut translated: Translated) -> Translated {
    // The replacement has the same number of bytes, so that links stay valid.
    translated.text = translated.text.chars().map(replaced).collect();
    let start = translated.text.len() - translated.text.trim_start().len();
    change(
        &mut translated,
        std::iter::empty(),
        &[(0..start, String::new())],
    );
    translated.text.truncate(translated.text.trim_end().len());
    translated
}

/// Gives the translation the marks at the ends of `source`: without a full stop that models add to
/// a cell, title or clause, and with the ellipsis, comma or colon that they leave out. Thai and Lao
/// have no full stop.
fn with_marks_of(source: &str, translated: Translated) -> Translated {
    with_ellipsis_before(
        source,
        with_last_mark(source, with_stop_of(source, translated)),
    )
}

/// Signs that an ellipsis is written with.
const ELLIPSES: [&str; 3] = ["...", "…", "⋯"];

/// Adds the ellipsis with which `source` begins.
fn with_ellipsis_before(source: &str, mut translated: Translated) -> Translated {
    let ellipsis = ELLIPSES.iter().find(|sign| source.starts_with(**sign));
    let has_one = translated.text.starts_with(|c| ".…⋯".contains(c));
    if let Some(ellipsis) = ellipsis.filter(|_| !has_one && !translated.text.is_empty()) {
        let edit = (0..0, (*ellipsis).to_owned());
        change(&mut translated, std::iter::empty(), &[edit]);
    }
    translated
}

/// Adds the ellipsis or colon with which `source` ends, in place of a full stop or comma.
fn with_last_mark(source: &str, mut translated: Translated) -> Translated {
    let body = translated.text.trim_end();
    let last = body.chars().next_back();
    let (Some(last), Some((wanted, same))) = (last, last_mark(source, body)) else {
        return translated;
    };
    if same.contains(last) || body.ends_with("..") {
        return translated;
    }
    let is_stop = ".。।,，、".contains(last);
    let start = body.len() - if is_stop { last.len_utf8() } else { 0 };
    let edit = (start..body.len(), wanted.to_owned());
    change(&mut translated, std::iter::empty(), &[edit]);
    translated
}

/// Returns the ellipsis or colon with which `source` ends, as the script of `translation` writes
/// it, and the marks that may stand for it.
fn last_mark(source: &str, translation: &str) -> Option<(&'static str, &'static str)> {
    let is_wide = translation
        .chars()
        .rev()
        .find(|c| c.is_alphanumeric())
        .is_some_and(is_unspaced);
    if source.ends_with([':', '：']) {
        return Some((if is_wide { "：" } else { ":" }, ":：;；"));
    }
    let ellipsis = ELLIPSES.into_iter().find(|sign| source.ends_with(sign))?;
    Some((if is_wide { "……" } else { ellipsis }, "…⋯!?！？"))
}

/// Returns whether `c` may follow the sign that ends a sentence.
fn closes(c: char) -> bool {
    matches!(mark(c), Mark::Close | Mark::Quote)
}

/// Removes the full stop that models add to a text without one. If the source ends with a comma or
/// a colon, so does the translation.
fn with_stop_of(source: &str, mut translated: Translated) -> Translated {
    let body = translated.text.trim_end_matches(closes);
    let stop = body
        .chars()
        .next_back()
        .filter(|c| matches!(c, '.' | '。' | '।'));
    let last = source.trim_end_matches(closes).chars().next_back();
    let (Some(stop), Some(last)) = (
        stop,
        last.filter(|&c: &char| {
            mark(c) == Mark::Separator
                || c.is_alphanumeric() && !('\u{e00}'..'\u{f00}').contains(&c)
        }),
    ) else {
        return translated;
    };
    let at = body.len() - stop.len_utf8();
    let word = body[..at]
        .rsplit(char::is_whitespace)
        .next()
        .unwrap_or_default();
    // An ellipsis, an abbreviation such as "e.g.", or one that the source has.
    if word.is_empty() || word.contains(stop) || source.contains(&body[at - word.len()..]) {
        return translated;
    }
    let instead = Some(last).filter(|&c| mark(c) == Mark::Separator);
    let instead = instead.map(String::from).unwrap_or_default();
    let end = body.len();
    change(&mut translated, std::iter::empty(), &[(at..end, instead)]);
    translated
}

/// Returns the positions of all markup and atoms.
pub(crate) fn layout(block: &Block) -> Layout {
    let mut alignment = Alignment::default();
    let mut atoms = Vec::new();
    let borders = block.borders();
    let mut end = 0;
    for Segment { range, state } in &block.segments {
        let kept = kept(block, range);
        let done = if let State::Done(done) = state {
            done
        } else {
            &kept
        };
        let target = &done.translated.text;
        alignment.target += &gap(block, end..range.start, &alignment.target, target);
        let offset = alignment.target.len();
        atoms.extend(
            done.atoms
                .iter()
                .map(|(atom, at)| (*atom, moved(at, 0, offset))),
        );
        let mut source_atoms: Vec<Span> = done
            .atoms
            .iter()
            .map(|(atom, _)| block.atoms[*atom].range.clone())
            .collect();
        source_atoms.sort_by_key(|range| range.start);
        let target_atoms: Vec<Span> = done.atoms.iter().map(|(_, at)| at.clone()).collect();
        alignment.sentence(&Pair {
            source: &block.text,
            range: range.clone(),
            target,
            links: &done.translated.links,
            whole: (&source_atoms, &target_atoms),
            borders: &borders,
        });
        end = range.end;
    }
    alignment.target += &block.text[end..];
    let spans = project(block, &alignment, &atoms);
    Layout {
        alignment,
        spans,
        atoms,
    }
}

/// Returns a sentence as its own translation.
fn kept(block: &Block, range: &Span) -> AtomText {
    let text = block.text[range.clone()].to_string();
    let atoms = block
        .atoms_in(range)
        .map(|atom| (atom, moved(&block.atoms[atom].range, range.start, 0)))
        .collect();
    AtomText {
        translated: Translated {
            text,
            links: Vec::new(),
        },
        atoms,
    }
}

/// Returns the text between two sentences. It is copied from the source, except between scripts
/// with and without spaces.
fn gap(block: &Block, range: Span, before: &str, after: &str) -> String {
    let gap = &block.text[range.clone()];
    let edges = (before.chars().next_back(), after.chars().next());
    let source = (
        block.text[..range.start].chars().next_back(),
        block.text[range.end..].chars().next(),
    );
    let unspaced =
        |(last, next): (Option<char>, Option<char>)| Some((is_unspaced(last?), is_unspaced(next?)));
    match (unspaced(source), unspaced(edges)) {
        (Some((true, _)), Some((false, false))) if gap.is_empty() => " ".into(),
        (Some((false, false)), Some((true, true))) if gap == " " => String::new(),
        _ => gap.into(),
    }
}
