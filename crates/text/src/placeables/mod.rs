//! Placeables: parts of a sentence that its translation must keep, which are addresses,
//! placeholders, code and number values.

mod added;
mod cloze;
mod codes;
mod compare;
mod glue;
mod grammar;
mod java;
mod number;
mod ordinals;
mod parts;
mod placeholders;
mod scan;
mod words;
mod writing;

pub use added::added_placeholders;
pub use cloze::{Cloze, FilledCloze, Link};
pub use codes::is_code;
pub use compare::numbers_stay;
pub use grammar::Grammar;
pub use parts::{Part, PartKind, parts};
pub use placeholders::arms;
pub use writing::{Writing, apply_edits};

use std::collections::{BTreeMap, BTreeSet};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use crate::words::Span;
use number::numbers;
use parts::{may_have_verbatim, verbatim};
use words::NumberWords;

/// A number of a source text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number {
    /// The number as the source writes it.
    pub text: String,
    /// The spellings with the same value in a translation.
    pub forms: Vec<String>,
}

/// Returns `None` if `translation` keeps the placeholders, addresses and number values of `source`,
/// and adds no placeholder. If only numbers changed, returns the source's numbers; otherwise
/// returns an empty list. Symbols may be lost, because words can replace them, but the further
/// parts `others` may not.
pub fn missing_placeables(source: &str, others: &[Span], translation: &str) -> Option<Vec<Number>> {
    if !added_placeholders(source, translation, &[]).is_empty() {
        return Some(Vec::new());
    }
    if others.is_empty() && !may_have_parts(source) {
        return None;
    }
    let mut parts = verbatim(source);
    parts.extend_from_slice(others);
    let Some(positions) = positions_of_texts(source, &parts, translation) else {
        return Some(Vec::new());
    };
    let rest = blank(source, &parts);
    let translation_rest = blank(translation, &positions);
    if numbers_stay(&rest, &translation_rest) {
        return None;
    }
    let words = NumberWords::new(&translation_rest);
    let numbers = numbers(&rest, true)
        .into_iter()
        .filter(|it| !it.is_spelled(Some(&words), false));
    Some(
        numbers
            .map(|number| Number {
                forms: number.forms(),
                text: number.text,
            })
            .collect(),
    )
}

/// Returns whether `text` has a letter outside of placeholders and addresses, and is no code as a
/// whole. Otherwise there is nothing to translate.
pub fn is_translatable(text: &str) -> bool {
    text.contains(char::is_alphabetic)
        && !is_code(text)
        && blank(text, &verbatim(text)).contains(char::is_alphabetic)
}

/// Returns whether `text` may contain a number or another part that its translation must keep.
pub fn may_have_parts(text: &str) -> bool {
    text.contains(char::is_numeric) || may_have_verbatim(text)
}

/// Finds the sorted `parts` of `source` in `translation`. Returns `None` if a part does not occur
/// equally often in both, or the value of another number changes.
pub fn positions(source: &str, parts: &[Span], translation: &str) -> Option<Vec<Span>> {
    let positions = positions_of_texts(source, parts, translation)?;
    let stay = numbers_stay(&blank(source, parts), &blank(translation, &positions));
    stay.then_some(positions)
}

/// Like [`positions`], but ignores numbers.
fn positions_of_texts(source: &str, parts: &[Span], translation: &str) -> Option<Vec<Span>> {
    let texts = parts.iter().map(|part| &source[part.clone()]);
    let distinct: BTreeSet<&str> = texts.clone().collect();
    // A DFA of a part such as `a/a/a/a`, and a prefilter for it, take the square of its length.
    let finder = AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .kind(Some(AhoCorasickKind::ContiguousNFA))
        .prefilter(false)
        .build(distinct);
    let mut occurrences: BTreeMap<&str, Vec<Span>> = BTreeMap::new();
    for occurrence in finder.ok()?.find_iter(translation) {
        occurrences
            .entry(&translation[occurrence.range()])
            .or_default()
            .push(occurrence.range());
    }
    // In scripts without spaces, words touch a part, so no position may be whole.
    for positions in occurrences.values_mut() {
        if positions.iter().any(|range| is_whole(translation, range)) {
            positions.retain(|range| is_whole(translation, range));
        }
    }
    occurrences
        .values_mut()
        .for_each(|positions| positions.reverse());
    let positions = texts
        .map(|text| occurrences.get_mut(text)?.pop())
        .collect::<Option<Vec<_>>>()?;
    occurrences.values().all(Vec::is_empty).then_some(positions)
}

/// Returns whether `text[range]` is not part of a longer word.
fn is_whole(text: &str, range: &Span) -> bool {
    let before = &text[..range.start];
    let within = &text[range.clone()];
    let after = &text[range.end..];
    let continues =
        within.starts_with(char::is_alphanumeric) && before.ends_with(char::is_alphanumeric);
    let is_continued =
        within.ends_with(char::is_alphanumeric) && after.starts_with(char::is_alphanumeric);
    !(continues || is_continued)
}

/// Returns `text` with each of `ranges` replaced by a space.
pub fn blank(text: &str, ranges: &[Span]) -> String {
    let mut spaces: Vec<_> = ranges
        .iter()
        .map(|range| (range.clone(), " ".into()))
        .collect();
    spaces.sort_by_key(|(range, _)| range.start);
    apply_edits(text, &spaces)
}

#[cfg(test)]
mod tests;
