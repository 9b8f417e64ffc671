//! Texts for intervals of numbers, as Symfony and Laravel write them:
//! `{0} No dogs|[1,19] Some dogs|[20,*] Many dogs`. Each is translated alone, and the syntax stays.

use std::sync::LazyLock;

use regex::Regex;

use crate::words::{Span, has_letters, regex};

/// The interval before a text: a set of numbers, or the ends with brackets in either direction.
static INTERVAL: LazyLock<Regex> = LazyLock::new(|| {
    let number = r"\s*(?:[-+]?(?:\d+(?:\.\d+)?|Inf)|\*)\s*";
    regex(&format!(
        r"^\s*(?:\{{{number}(?:,{number})*\}}|[\[\]]{number},{number}[\[\]])\s*"
    ))
});

/// Returns the ranges of the texts in `text`; none if it is no list of texts for intervals. Texts
/// behind those with an interval may have none.
pub(super) fn choices(text: &str) -> Vec<Span> {
    if !text.contains('|') {
        return Vec::new();
    }
    let mut all = Vec::new();
    let mut intervals = 0;
    let mut has_ends = false;
    for arm in arms(text) {
        let interval = INTERVAL.find(&text[arm.clone()]);
        let start = arm.start + interval.map_or(0, |found| found.len());
        intervals += usize::from(interval.is_some());
        has_ends |= interval.is_some_and(|found| found.as_str().contains(','));
        all.push(start..arm.end);
    }
    let has_texts = all.iter().all(|range| has_letters(&text[range.clone()]));
    let begins = INTERVAL.is_match(text);
    // `{0} of {1} | page` is no such list.
    let is_list = has_ends || intervals > 1 || !text.contains(" | ");
    if begins && is_list && has_texts && all.len() > 1 {
        all
    } else {
        Vec::new()
    }
}

/// Returns the parts of `text` between single bars. Symfony writes a bar in a text twice.
fn arms(text: &str) -> Vec<Span> {
    let mut all = Vec::new();
    let mut start = 0;
    let mut bars = text.match_indices('|').map(|(at, _)| at).peekable();
    while let Some(at) = bars.next() {
        if bars.next_if_eq(&(at + 1)).is_none() {
            all.push(start..at);
            start = at + 1;
        }
    }
    all.push(start..text.len());
    all
}

/// Returns whether `translation` has as many texts as `source`, so that each is shown for the same
/// numbers.
pub(crate) fn has_choices_of(source: &str, translation: &str) -> bool {
    choices(source).is_empty() || arms(source).len() == arms(translation).len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_intervals_are_found_and_others_are_not() {
        for (text, expected) in [
            (
                "{0} None|[1,19] Some|[20,*] Many",
                &["None", "Some", "Many"][..],
            ),
            (
                "{0} No dogs|{1} One dog|]1,Inf[ %count% dogs",
                &["No dogs", "One dog", "%count% dogs"],
            ),
            ("{1} :n day|[2,*] :n days", &[":n day", ":n days"]),
            ("]-Inf,0] a||b | [1, 2.5[ c", &["a||b ", "c"]),
            ("{0, 1} few|one|many", &["few", "one", "many"]),
        ] {
            let found = choices(text).into_iter().map(|range| &text[range]);
            assert_eq!(found.collect::<Vec<_>>(), expected);
        }
        for text in [
            "{0} | Settings",
            "{0} of {1} | page",
            "one dog|many dogs",
            "[1,2] dogs",
            "{0} dogs",
            "{0}|{1}",
            "a|[1,2] b",
            "{name} a|b",
            "|",
            "",
        ] {
            assert!(choices(text).is_empty(), "{text}");
        }
    }
}
