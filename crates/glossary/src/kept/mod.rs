//! The parts of a sentence that its translation has to keep: addresses, placeholders, code, and the
//! values of numbers.

mod compare;
mod gaps;
mod number;
mod parts;
mod placeholders;
mod scan;
mod words;

pub use compare::numbers_stay;
pub use gaps::{Gap, Gapped};
pub use parts::{Part, PartKind, occurrences, parts};

use std::collections::BTreeMap;
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::Wanted;
use number::numbers;
use words::Spelled;

/// Whether `translation` has lost a placeholder or an address of `source`, or changed the value of
/// a number: then the numbers of `source` as terms, or no terms if it is not numbers alone that are
/// lost. Symbols may be: words replace them.
pub fn lost(source: &str, translation: &str) -> Option<Vec<Wanted>> {
    let may_be_part = |c: char| c.is_numeric() || "{}%$@#<>[]()\\:/_`!".contains(c);
    if !source.contains(may_be_part) {
        return None;
    }
    let mut verbatim = parts(source);
    verbatim.retain(|part| part.kind == PartKind::Verbatim);
    let texts: Vec<&str> = verbatim.iter().map(|part| &source[part.range.clone()]).collect();
    let ranges = verbatim.iter().map(|part| part.range.clone());
    let (found, left) = taken_out(&texts, translation);
    let rest = blank(source, ranges);
    match (found == counts(&texts), numbers_stay(&rest, &left)) {
        (true, true) => return None,
        (true, false) => {}
        (false, _) => return Some(Vec::new()),
    }
    let term = |source: &str, targets| Wanted { source: source.into(), targets };
    let words = Spelled::new(&left);
    let numbers =
        numbers(&rest, true).into_iter().filter(|own| !own.is_spelled(Some(&words), false));
    Some(numbers.map(|own| term(&own.text, own.forms())).collect())
}

/// How often `text` has each of `parts`, and `text` without them.
fn taken_out<'a>(parts: &[&'a str], text: &str) -> (BTreeMap<&'a str, usize>, String) {
    let finder = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(parts);
    let Ok(finder) = finder else { return (BTreeMap::new(), text.into()) };
    let found: Vec<_> = finder.find_iter(text).collect();
    let texts: Vec<&str> = found.iter().map(|own| parts[own.pattern().as_usize()]).collect();
    (counts(&texts), blank(text, found.iter().map(|own| own.range())))
}

fn counts<'a>(texts: &[&'a str]) -> BTreeMap<&'a str, usize> {
    let mut counts = BTreeMap::new();
    texts.iter().for_each(|text| *counts.entry(*text).or_default() += 1);
    counts
}

/// `text` with a space in the place of each of `ranges`, which are sorted.
pub fn blank(text: &str, ranges: impl Iterator<Item = Range<usize>>) -> String {
    let (mut rest, mut at) = (String::new(), 0);
    for range in ranges {
        rest.extend([&text[at..range.start], " "]);
        at = range.end;
    }
    rest + &text[at..]
}

#[cfg(test)]
mod tests;
