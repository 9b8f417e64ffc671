//! Ordinal numbers in digits, as each language writes them: 2nd, 2., 2e, 2.º.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use regex::Regex;

use super::words::{LANGUAGES, month_beside};
use crate::words::Span;

/// For each of [`LANGUAGES`], the ordinals in a text. The first group is the number. In German, an
/// article tells them from numbers at the end of a sentence.
static ORDINALS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let german = "der|die|das|dem|den|des|im|am|zum|zur|vom|beim|jede[nrms]?|[mds]?eine?[nrms]?|ihre?[nrms]?|unsere?[nrms]?";
    [
        r"\b([0-9]{1,6})(?i:st|nd|rd|th)\b".to_owned(),
        format!(r"\b(?i:{german})\s+([0-9]{{1,3}})\.\s+\p{{L}}"),
        r"\b([0-9]{1,6})(?:er|ère|re|e|ème|eme|nde?|ᵉ|ᵉʳ)\b".to_owned(),
        r"\b([0-9]{1,6})\.?[ºª]".to_owned(),
        r"\b([0-9]{1,6})\.?[ºª°]".to_owned(),
        r"\b([0-9]{1,6})\.?[ºª]".to_owned(),
        r"\b([0-9]{1,6})(?:e|de|ste)\b".to_owned(),
        r"\b([0-9]{1,6})-(?:й|я|е|го|му|м|ю|х|ый|ой|ая|ое|ого)\b".to_owned(),
    ]
    .iter()
    .map(|pattern| Regex::new(pattern).expect("a valid pattern"))
    .collect()
});

/// Digits, and what touches them.
static NUMBER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:^|[^\p{L}\p{N}.,:/-])([0-9]{1,6})(\.?[ºª°]|-?\p{L}+)?")
        .expect("a valid pattern")
});

/// The longest ending that a model writes at an ordinal.
const MAX_ENDING: usize = 12;

/// Returns `number` as an ordinal of the language `index` of [`LANGUAGES`].
fn ordinal(number: &str, index: usize) -> String {
    let ending = match LANGUAGES.split(' ').nth(index).unwrap_or_default() {
        "en" => english_ending(number),
        "fr" if number == "1" => "er",
        "fr" | "nl" => "e",
        "es" | "pt" => ".º",
        "it" => "º",
        "ru" => "-й",
        _ => ".",
    };
    format!("{number}{ending}")
}

fn english_ending(number: &str) -> &'static str {
    let is_teen = number.len() > 1 && number.as_bytes()[number.len() - 2] == b'1';
    match number.as_bytes()[number.len() - 1] {
        _ if is_teen => "th",
        b'1' => "st",
        b'2' => "nd",
        b'3' => "rd",
        _ => "th",
    }
}

/// Returns the numbers of the ordinals in `text`, in the language `index`.
fn numbers(index: usize, text: &str) -> Vec<Span> {
    let all = ORDINALS[index].captures_iter(text);
    all.filter_map(|found| Some(found.get(1)?.range()))
        .collect()
}

/// Returns the edits that write the numbers in `translation` as ordinals which are ordinals in
/// `source`: byte ranges in order, with their replacements. `languages` are indices of
/// [`LANGUAGES`]. English days beside a month stay.
pub(super) fn changes(
    source: &str,
    translation: &str,
    [from, into]: [usize; 2],
) -> Vec<(Span, String)> {
    if !source.contains(|c: char| c.is_ascii_digit()) {
        return Vec::new();
    }
    let mut missing_counts: HashMap<&str, usize> = HashMap::new();
    for range in numbers(from, source) {
        if into != 0 || month_beside(source, &range).is_none() {
            *missing_counts.entry(&source[range]).or_default() += 1;
        }
    }
    if missing_counts.is_empty() {
        return Vec::new();
    }
    let done = numbers(into, translation).into_iter();
    let done: HashSet<usize> = done.map(|range| range.start).collect();
    let mut edits = Vec::new();
    for found in NUMBER.captures_iter(translation) {
        let Some(number) = found.get(1) else { continue };
        let left = missing_counts.get_mut(number.as_str());
        let Some(left) = left.filter(|left| **left > 0) else {
            continue;
        };
        *left -= 1;
        let ending = found
            .get(2)
            .map_or(number.range().end, |ending| ending.end());
        let rest = &translation[ending..];
        let is_done = done.contains(&number.start()) || into == 1 && rest.starts_with('.');
        let goes_on = rest.starts_with(|c: char| ":/-%€$".contains(c))
            || rest.starts_with(['.', ',']) && rest[1..].starts_with(|c: char| c.is_ascii_digit());
        if !is_done && !goes_on && ending - number.end() <= MAX_ENDING {
            let new = ordinal(number.as_str(), into);
            edits.push((number.start()..ending, new));
        }
    }
    edits
}

#[cfg(test)]
mod tests {
    use super::super::apply_edits;
    use crate::placeables::Writing;

    fn written(languages: [&str; 2], source: &str, translation: &str) -> String {
        let writing = Writing::between(languages[0], languages[1]).unwrap();
        apply_edits(translation, &writing.changes(source, translation))
    }

    #[test]
    fn an_ordinal_is_written_as_the_language_of_the_translation_does() {
        for (from, into, source, translation, expected) in [
            (
                "en",
                "de",
                "The 2nd man is old.",
                "Der 2netter Mann ist alt.",
                "Der 2. Mann ist alt.",
            ),
            ("en", "de", "On the 3rd day", "Am 3 Tag", "Am 3. Tag"),
            ("en", "de", "42nd Street", "42 Straße", "42. Straße"),
            (
                "en",
                "de",
                "May 21st is here",
                "Der 21 Mai ist da",
                "Der 21. Mai ist da",
            ),
            ("en", "de", "The 1st", "Das 1.", "Das 1."),
            (
                "de",
                "en",
                "Der 3. Mann ist alt.",
                "The 3 man is old.",
                "The 3rd man is old.",
            ),
            (
                "de",
                "en",
                "Im 11. Stock",
                "On the 11 floor",
                "On the 11th floor",
            ),
            (
                "de",
                "en",
                "Im 22. Stock",
                "On the 22nd floor",
                "On the 22nd floor",
            ),
            (
                "de",
                "en",
                "Am 3. Mai kam er",
                "On May 3 he came",
                "On May 3 he came",
            ),
            (
                "de",
                "en",
                "Er hat 3 Hunde.",
                "He has 3 dogs.",
                "He has 3 dogs.",
            ),
            (
                "en",
                "fr",
                "the 1st and 2nd",
                "le 1 et le 2",
                "le 1er et le 2e",
            ),
            ("en", "es", "the 3rd floor", "el 3 piso", "el 3.º piso"),
            ("fr", "en", "le 4e étage", "the 4 floor", "the 4th floor"),
            ("es", "en", "el 5.º piso", "the 5 floor", "the 5th floor"),
            ("nl", "en", "de 6e man", "the 6e man", "the 6th man"),
            ("ru", "en", "7-й день", "the 7 day", "the 7th day"),
        ] {
            assert_eq!(written([from, into], source, translation), expected);
        }
    }
}
