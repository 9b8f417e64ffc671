//! DeepL's `preserve_formatting`: a translation begins and ends like its sentence.

use burnformer_documents::{Link, Translated};

/// The marks at the end of a sentence that languages share. Others, such as `。`, stay as they are.
const MARKS: [char; 7] = ['.', '!', '?', '…', ':', ';', ','];

/// Gives `found`, a translation of `source` into the language `target`, the capital and the final
/// marks of `source`.
pub(crate) fn formatted(source: &str, found: Translated, target: &str) -> Translated {
    let Translated { text, links } = found;
    let begun = with_capital(source, &text, target);
    // Some capitals have another length in bytes, and links count bytes.
    let text = if begun.len() == text.len() {
        begun
    } else {
        text
    };
    let text = with_end(source, text);
    let end = text.len();
    let links = links
        .into_iter()
        .map(|link: Link| Link {
            target: link.target.start.min(end)..link.target.end.min(end),
            ..link
        })
        .collect();
    Translated { text, links }
}

/// Returns `text` with a capital at its beginning if and only if `source` has one.
fn with_capital(source: &str, text: &str, target: &str) -> String {
    let (Some(first), Some(word)) = (first_word(source), first_word(text)) else {
        return text.to_owned();
    };
    let own = word.chars().next().unwrap_or_default();
    let rest = &word[own.len_utf8()..];
    let is_name = rest.chars().any(char::is_uppercase);
    let is_english_i =
        target.starts_with("en") && own == 'I' && !rest.starts_with(char::is_alphabetic);
    let begun: String = match first.chars().next() {
        Some(first) if first.is_lowercase() && !is_name && !is_english_i => {
            own.to_lowercase().collect()
        }
        Some(first) if first.is_uppercase() => own.to_uppercase().collect(),
        _ => return text.to_owned(),
    };
    let at = text.len() - text.trim_start_matches(is_opening).len();
    [&text[..at], &begun, &text[at + own.len_utf8()..]].concat()
}

/// The first word of `text`, if it begins with a word of letters alone. Addresses, placeholders and
/// numbers have no capital of their own.
fn first_word(text: &str) -> Option<&str> {
    let word = text
        .trim_start_matches(is_opening)
        .split_whitespace()
        .next()?;
    let word = word.trim_end_matches(|c: char| !c.is_alphanumeric());
    let is_of_letters = word.chars().all(|c| c.is_alphabetic() || "-'’".contains(c));
    (word.starts_with(char::is_alphabetic) && is_of_letters).then_some(word)
}

/// Whether a sentence may begin with `mark`, before its first word.
fn is_opening(mark: char) -> bool {
    "\"'„“”‚‘«»‹›(¿¡".contains(mark)
}

/// Returns `text` with the final marks of `source`.
fn with_end(source: &str, text: String) -> String {
    let [own, marks] = [&*text, source].map(|text| text.trim_end_matches(MARKS));
    let end_in_words = [own, marks]
        .iter()
        .all(|text| text.ends_with(char::is_alphanumeric));
    if !end_in_words {
        return text;
    }
    let marks = &source[marks.len()..];
    [own, marks].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DeepL's documentation of `preserve_formatting` (2025) names the punctuation at the beginning
    /// and end of a sentence, and the case of its first letter.
    #[test]
    fn a_translation_begins_and_ends_like_its_sentence() {
        for (source, text, target, expected) in [
            ("haus", "House.", "en", "house"),
            ("Haus", "house", "en", "House"),
            ("haus und hof!", "House and yard", "en", "house and yard!"),
            ("Wirklich?!", "Really.", "en", "Really?!"),
            ("Und dann…", "And then...", "en", "And then…"),
            ("„hallo“", "\"Hello\"", "en", "\"hello\""),
            // These have no capital that could be another.
            ("ich bin da", "I am here", "en", "I am here"),
            ("ich bin's", "I'm here", "en", "I'm here"),
            ("ein hund", "A dog", "en", "a dog"),
            ("die hunde", "I cani", "it", "i cani"),
            ("die nato", "NATO", "en", "NATO"),
            ("{name} ist da", "{name} is here", "en", "{name} is here"),
            (
                "Die Seite",
                "https://a.example/b",
                "en",
                "https://a.example/b",
            ),
            ("Der iPod", "3 iPods", "en", "3 iPods"),
            // Marks of other scripts and of quotations are the translation's.
            ("Hallo.", "你好。", "zh", "你好。"),
            (
                "Er sagte: „Nein.“",
                "He said: \"No.\"",
                "en",
                "He said: \"No.\"",
            ),
            ("ßa", "SSa", "en", "SSa"),
            ("", "", "en", ""),
        ] {
            let found = Translated {
                text: text.into(),
                links: Vec::new(),
            };
            assert_eq!(formatted(source, found, target).text, expected, "{source}");
        }
    }

    #[test]
    fn links_stay_within_the_translation() {
        let link = Link {
            source: 0..4,
            target: 5..6,
        };
        let found = Translated {
            text: "House.".into(),
            links: vec![link],
        };
        assert_eq!(formatted("haus", found, "en").links[0].target, 5..5);
    }
}
