//! Signs that a translation is wrong, for a reader who does not know the right one.

use derive_more::Display;

/// The largest number of parts in a sequence that is looked for as a repeated one.
const LONGEST_UNIT: usize = 12;
/// The number of times in a row that a sequence has to occur.
const TIMES: usize = 4;
/// A translation that equals its source counts as a copy from this number of words on: names and
/// numbers are shorter.
const WORDS: usize = 4;
/// The largest ratio of the lengths of both sides, besides [`SLACK`] characters.
const LONGER: usize = 3;
/// The difference in characters that is allowed for sentences of any length.
const SLACK: usize = 40;

/// A sign that a translation is wrong.
#[derive(Clone, Copy, Debug, Display, PartialEq, Eq, Hash)]
#[display(rename_all = "lowercase")]
pub enum Doubt {
    /// A sequence of words or characters is repeated several times in a row, and nothing in the
    /// source is.
    Loop,
    /// The translation is the source.
    Copy,
    /// The translation is far longer or shorter than its source.
    Length,
}

/// Returns the signs that `text` is a wrong translation of `source`. Invisible characters do not
/// count.
pub fn doubts(source: &str, text: &str) -> Vec<Doubt> {
    let [source, text] = [source, text].map(burnformer_text::visible);
    let [source, text] = [&*source, &*text];
    let is_loop = text_repeats(text) && !text_repeats(source);
    let is_copy = source.split_whitespace().count() >= WORDS && folded(source) == folded(text);
    let [source, target] = [source, text].map(|text| text.trim().chars().count());
    let is_far = |a: usize, b: usize| a > LONGER * b + SLACK;
    let is_length = is_far(source, target) || is_far(target, source);
    [
        (is_loop, Doubt::Loop),
        (is_copy, Doubt::Copy),
        (is_length, Doubt::Length),
    ]
    .into_iter()
    .filter_map(|(is, doubt)| is.then_some(doubt))
    .collect()
}

fn folded(text: &str) -> String {
    text.split_whitespace().map(str::to_lowercase).collect()
}

/// Returns whether some words, or some letters of one long word or of a script without spaces, are
/// repeated in a row.
fn text_repeats(text: &str) -> bool {
    let word = |word: &str| {
        let word = word
            .trim_matches(|c: char| !c.is_alphanumeric())
            .to_lowercase();
        Some(word).filter(|word| !word.is_empty())
    };
    let words: Vec<String> = text.split_whitespace().filter_map(word).collect();
    let letters = |word: &String| {
        repeats(
            &word
                .chars()
                .filter(|letter| letter.is_alphabetic())
                .collect::<Vec<_>>(),
        )
    };
    repeats(&words) || words.iter().any(letters)
}

/// Returns whether a sequence of at most [`LONGEST_UNIT`] parts occurs [`TIMES`] times in a row;
/// one of a single part twice as often.
pub(crate) fn repeats<T: PartialEq>(parts: &[T]) -> bool {
    (1..=LONGEST_UNIT).any(|unit| {
        let needed = unit * (TIMES - 1) + if unit == 1 { TIMES } else { 0 };
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
            doubts(
                "Ich gehe nach Hause.",
                "I go home and home and home and home and."
            ),
            [Doubt::Loop]
        );
        assert_eq!(
            doubts(
                "Er kommt.",
                "He comes comes comes comes comes comes comes comes."
            ),
            [Doubt::Loop]
        );
        assert_eq!(doubts("Haus", "hohohohohoho"), [Doubt::Loop]);
        assert!(
            doubts("ha ha ha ha ha ha ha ha", "ha ha ha ha ha ha ha ha")
                .iter()
                .all(|&d| d == Doubt::Copy)
        );
        assert_eq!(doubts("Nein, nein, nein!", "No, no, no!"), []);
        assert_eq!(
            doubts(
                "Die Zahl ist 1000000000000.",
                "The number is 1000000000000."
            ),
            []
        );
        assert_eq!(doubts("Der Hund, der Hund!", "The dog, the dog!"), []);
    }

    #[test]
    fn invisible_characters_are_no_signs_and_hide_none() {
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
                let expected = doubts(source, text);
                assert_eq!(doubts(&spread(source), text), expected, "{source} {c:?}");
                assert_eq!(doubts(source, &spread(text)), expected, "{text} {c:?}");
            }
        }
    }

    #[test]
    fn a_translation_that_is_its_source_is_a_copy_unless_it_is_short() {
        assert_eq!(
            doubts("Das ist ein Haus.", "das ist  ein Haus."),
            [Doubt::Copy]
        );
        assert_eq!(doubts("Tom Smith, Berlin", "Tom Smith, Berlin"), []);
    }

    #[test]
    fn a_translation_is_doubted_for_its_length_when_it_is_far_from_that_of_its_source() {
        let long = "Er sagte, dass er am nächsten Tag nicht kommen könne, weil seine Mutter krank sei und niemand sonst da war.";
        assert_eq!(doubts(long, "No."), [Doubt::Length]);
        assert_eq!(
            doubts("Nein.", &format!("No, {long} and more")),
            [Doubt::Length]
        );
        assert_eq!(doubts("Nein.", "No, that is not what I meant."), []);
    }
}
