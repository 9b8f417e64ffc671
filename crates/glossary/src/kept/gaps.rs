//! Sentences without the parts that a translation has to keep, and their return into the
//! translation.

use std::ops::Range;

use super::number::numbers;
use super::parts::{PartKind, parts};

/// A sentence with gaps in the place of its placeholders, addresses and numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gapped {
    /// The rest of the sentence.
    pub text: String,
    /// What is missing, from left to right.
    pub gaps: Vec<Gap>,
}

/// A part that is missing in a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Its place in [`Gapped::text`].
    pub at: usize,
    /// The part, with the brackets, quotes, signs and currencies around it.
    pub text: String,
    /// Whether it belongs to the word after it, as a number does to what it counts.
    pub counts: bool,
}

impl Gapped {
    /// `source` without its parts; parts with nothing but punctuation between them are one.
    pub fn new(source: &str) -> Self {
        let mut ranges: Vec<(Range<usize>, bool)> = Vec::new();
        let mut found: Vec<Range<usize>> =
            numbers(source, true).into_iter().map(|own| own.word).collect();
        let verbatim = parts(source).into_iter().filter(|part| part.kind == PartKind::Verbatim);
        found.extend(verbatim.map(|part| part.range));
        found.sort_by_key(|range| (range.start, range.end));
        for range in found {
            let counts = counts(&source[range.clone()]);
            let around = with_signs(source, range);
            match ranges.last_mut() {
                Some((last, _)) if joins(source, last.end, around.start) => {
                    last.end = last.end.max(around.end)
                }
                _ => ranges.push((around, counts)),
            }
        }
        let (mut gapped, mut start) = (Self { text: String::new(), gaps: Vec::new() }, 0);
        for (range, counts) in ranges {
            gapped.push(&source[start..range.start]);
            start = range.end;
            gapped.gaps.push(Gap { at: gapped.text.len(), text: source[range].into(), counts });
        }
        gapped.push(&source[start..]);
        let end = gapped.text.trim_end().len();
        gapped.text.truncate(end);
        gapped.gaps.iter_mut().for_each(|gap| gap.at = gap.at.min(end));
        gapped
    }

    fn push(&mut self, text: &str) {
        if text.starts_with([',', '.', ';', ':', '!', '?', ')']) {
            self.text.truncate(self.text.trim_end().len());
            let end = self.text.len();
            self.gaps.iter_mut().rev().take(1).for_each(|gap| gap.at = gap.at.min(end));
        }
        let is_spaced = self.text.is_empty() || self.text.ends_with(' ');
        self.text.push_str(if is_spaced { text.trim_start() } else { text });
    }

    /// `translation` of the text with the parts in the places that `place` gives for the gaps.
    pub fn fill(&self, translation: &str, place: impl Fn(&Gap) -> usize) -> String {
        let mut places: Vec<(usize, &Gap)> =
            self.gaps.iter().map(|gap| (place(gap), gap)).collect();
        places.sort_by_key(|(place, _)| *place);
        let (mut text, mut at) = (String::new(), 0);
        for (place, gap) in places {
            let place = place.clamp(at, translation.len());
            text.push_str(&translation[at..place]);
            at = place;
            let touches = text.is_empty() || text.ends_with([' ', '(', '[', '„', '“', '-', '/']);
            text.push_str(if touches { "" } else { " " });
            text.push_str(&gap.text);
            let next = translation[at..].chars().next();
            let is_spaced = next.is_some_and(|c| c.is_alphanumeric() || c == '(');
            text.push_str(if is_spaced { " " } else { "" });
        }
        text + &translation[at..]
    }
}

/// Whether nothing but punctuation is between two parts, a list for example.
fn joins(source: &str, end: usize, start: usize) -> bool {
    start <= end || source[end..start].chars().all(|c| !c.is_alphanumeric())
}

/// Whether the part is a number that counts something, and no year, or a placeholder for one.
fn counts(part: &str) -> bool {
    let is_year =
        part.len() == 4 && part.parse().is_ok_and(|year: u32| (1000..2100).contains(&year));
    part.starts_with(|c: char| c.is_numeric()) && !is_year || part.starts_with("%d")
}

/// `part` with the signs that belong to it: a currency, a percentage, the full stop of an ordinal
/// number, brackets and quotes.
fn with_signs(source: &str, part: Range<usize>) -> Range<usize> {
    let (mut start, mut end) = (part.start, part.end);
    let is_number = source[part].ends_with(|c: char| c.is_numeric());
    let money = ['€', '$', '£', '¥', '₽', '₹', '₩'];
    let before = source[..start].trim_end_matches(' ');
    if is_number && before.ends_with(money) {
        start = before.len() - before.chars().next_back().map_or(0, char::len_utf8);
    }
    let after = source[end..].trim_start_matches([' ', '\u{a0}', '\u{202f}']);
    if is_number && after.starts_with(|c| money.contains(&c) || "%‰°٪％".contains(c)) {
        end = source.len() - after.len() + after.chars().next().map_or(0, char::len_utf8);
    }
    let is_ordinal = |rest: &str| rest.starts_with(|c: char| c.is_alphabetic());
    if is_number && source[end..].strip_prefix(". ").is_some_and(is_ordinal) {
        end += 1;
    }
    let (before, after) = (source[..start].chars().next_back(), source[end..].chars().next());
    match (before, after) {
        (Some(open), Some(close))
            if "([{\"'„“«‚‘".contains(open) && ")]}\"'”“»’‘".contains(close) =>
        {
            start - open.len_utf8()..end + close.len_utf8()
        }
        _ => start..end,
    }
}
