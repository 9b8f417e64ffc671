//! Signs that a translation is wrong, found without a reference.

use burnformer_text::{is_translatable, missing_dash, missing_pairs, missing_placeables};
use derive_more::Display;

/// The largest number of parts in a repeated sequence.
const MAX_UNIT: usize = 12;
/// The number of times in a row that a sequence must occur.
const MIN_LOOP_REPEATS: usize = 4;
/// A translation that equals its source counts as a copy from this number of words on: names and
/// numbers are shorter.
const MIN_COPY_WORDS: usize = 4;
/// The largest ratio of the lengths of both sides, besides [`LENGTH_SLACK_CHARS`] characters.
const MAX_LENGTH_RATIO: usize = 3;
/// The difference in characters that is allowed for sentences of any length.
const LENGTH_SLACK_CHARS: usize = 40;

/// A sign that a translation is wrong.
#[derive(Clone, Copy, Debug, Display, PartialEq, Eq, Hash)]
#[display(rename_all = "lowercase")]
pub enum QualityWarning {
    /// A sequence of words or characters is repeated several times in a row, and nothing in the
    /// source is.
    Loop,
    /// The translation is the source.
    Copy,
    /// The translation is far longer or shorter than its source.
    Length,
    /// The translation changes a number, loses a placeholder, an address, a pair of quotation marks
    /// or brackets, or the dash of a speech, or invents a placeholder.
    Parts,
}

/// Returns the signs that `text` is a wrong translation of `source`. Invisible characters do not
/// count.
pub fn quality_warnings(source: &str, text: &str) -> Vec<QualityWarning> {
    let [source, text] = [source, text].map(burnformer_text::visible);
    let source = &*source;
    let text = &*text;
    let is_loop = text_repeats(text) && !text_repeats(source);
    let is_copy = source.split_whitespace().count() >= MIN_COPY_WORDS
        && folded(source) == folded(text)
        && is_translatable(source);
    let loses_parts = loses_parts(source, text);
    let [source, target] = [source, text].map(|text| text.trim().chars().count());
    let is_length = is_far_longer(source, target) || is_far_longer(target, source);
    [
        (is_loop, QualityWarning::Loop),
        (is_copy, QualityWarning::Copy),
        (is_length, QualityWarning::Length),
        (loses_parts, QualityWarning::Parts),
    ]
    .into_iter()
    .filter_map(|(applies, warning)| applies.then_some(warning))
    .collect()
}

/// Returns whether `text` loses or changes something of `source` that every translation keeps.
fn loses_parts(source: &str, text: &str) -> bool {
    missing_placeables(source, &[], text).is_some()
        || !missing_pairs(source, text).is_empty()
        || missing_dash(source, text).is_some()
}

/// Returns whether a length of `a` characters is suspicious beside one of `b`.
fn is_far_longer(a: usize, b: usize) -> bool {
    a > MAX_LENGTH_RATIO * b + LENGTH_SLACK_CHARS
}

/// The text in lower case, without spaces.
fn folded(text: &str) -> String {
    text.split_whitespace().map(str::to_lowercase).collect()
}

/// Returns whether some words, or some letters of one long word or of a script without spaces, are
/// repeated in a row.
fn text_repeats(text: &str) -> bool {
    let words: Vec<String> = text
        .split_whitespace()
        .map(|word| {
            word.trim_matches(|c: char| !c.is_alphanumeric())
                .to_lowercase()
        })
        .filter(|word| !word.is_empty())
        .collect();
    repeats(&words) || words.iter().any(|word| letters_repeat(word))
}

/// Returns whether some letters of `word` are repeated in a row.
fn letters_repeat(word: &str) -> bool {
    let letters: Vec<char> = word.chars().filter(|c| c.is_alphabetic()).collect();
    repeats(&letters)
}

/// Returns whether a sequence of at most [`MAX_UNIT`] parts occurs [`MIN_LOOP_REPEATS`] times in a
/// row; one of a single part twice as often.
pub(crate) fn repeats<T: PartialEq>(parts: &[T]) -> bool {
    (1..=MAX_UNIT).any(|unit| {
        let needed = unit * (MIN_LOOP_REPEATS - 1) + if unit == 1 { MIN_LOOP_REPEATS } else { 0 };
        let mut equal = 0;
        parts.iter().zip(parts.iter().skip(unit)).any(|(a, b)| {
            equal = if a == b { equal + 1 } else { 0 };
            equal >= needed
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_four_times_in_a_row_is_a_loop_unless_the_source_has_one() {
        assert_eq!(
            quality_warnings(
                "Ich gehe nach Hause.",
                "I go home and home and home and home and."
            ),
            [QualityWarning::Loop]
        );
        assert_eq!(
            quality_warnings(
                "Er kommt.",
                "He comes comes comes comes comes comes comes comes."
            ),
            [QualityWarning::Loop]
        );
        assert_eq!(
            quality_warnings("Haus", "hohohohohoho"),
            [QualityWarning::Loop]
        );
        assert!(
            quality_warnings("ha ha ha ha ha ha ha ha", "ha ha ha ha ha ha ha ha")
                .iter()
                .all(|&d| d == QualityWarning::Copy)
        );
        assert_eq!(quality_warnings("Nein, nein, nein!", "No, no, no!"), []);
        assert_eq!(
            quality_warnings(
                "Die Zahl ist 1000000000000.",
                "The number is 1000000000000."
            ),
            []
        );
        assert_eq!(
            quality_warnings("Der Hund, der Hund!", "The dog, the dog!"),
            []
        );
    }

    #[test]
    fn a_lost_part_is_a_warning_and_a_row_of_numbers_is_no_copy() {
        for (source, text, expected) in [
            ("Hallo {name}!", "Hello!", true),
            ("Hallo {name}!", "Hello {name}!", false),
            ("Es sind 5 Hunde.", "There are 6 dogs.", true),
            ("Es sind fünf Hunde.", "There are five dogs.", false),
            ("Das ist „neu“.", "This is new.", true),
            ("Das ist „neu“.", "This is 'new'.", false),
            ("– Komm!", "Come!", true),
            ("2026 - 2025 = 1", "2026 - 2025 = 1", false),
        ] {
            let warnings = quality_warnings(source, text);
            let expected: &[_] = if expected {
                &[QualityWarning::Parts]
            } else {
                &[]
            };
            assert_eq!(warnings, expected, "{source}");
        }
    }

    #[test]
    fn invisible_characters_change_no_warning() {
        let pairs = [
            ("Das ist ein Haus.", "Das ist ein Haus."),
            ("Haus", "hohohohohoho"),
            (
                "Er kommt.",
                "He comes comes comes comes comes comes comes comes.",
            ),
            ("Nein.", "No, that is not what I meant."),
            ("Er kommt heute aus dem Haus.", "No."),
        ];
        for c in [
            "\u{AD}",
            "\u{200B}",
            "\u{200E}",
            "\u{2060}",
            "\u{FEFF}",
            "\u{E0041}",
        ] {
            let spread = |text: &str| {
                text.chars()
                    .flat_map(|letter| [letter.into(), c.repeat(9)])
                    .collect::<String>()
            };
            for (source, text) in pairs {
                let expected = quality_warnings(source, text);
                assert_eq!(
                    quality_warnings(&spread(source), text),
                    expected,
                    "{source} {c:?}"
                );
                assert_eq!(
                    quality_warnings(source, &spread(text)),
                    expected,
                    "{text} {c:?}"
                );
            }
        }
    }

    #[test]
    fn a_copied_source_is_a_warning_unless_it_is_short() {
        assert_eq!(
            quality_warnings("Das ist ein Haus.", "das ist  ein Haus."),
            [QualityWarning::Copy]
        );
        assert_eq!(
            quality_warnings("Tom Smith, Berlin", "Tom Smith, Berlin"),
            []
        );
    }

    #[test]
    fn a_length_far_from_the_sources_is_a_warning() {
        let long = "Er sagte, dass er am nächsten Tag nicht kommen könne, weil seine Mutter krank sei und niemand sonst da war.";
        assert_eq!(quality_warnings(long, "No."), [QualityWarning::Length]);
        assert_eq!(
            quality_warnings("Nein.", &format!("No, {long} and more")),
            [QualityWarning::Length]
        );
        assert_eq!(
            quality_warnings("Nein.", "No, that is not what I meant."),
            []
        );
    }
}
