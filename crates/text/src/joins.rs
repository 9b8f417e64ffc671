//! Signs that join two words, such as `&`, which models drop together with a word beside them.

use crate::find_language;
use crate::words::{Mark, Span, is_letter, is_unspaced, mark};

/// The words for "and".
const AND_WORDS: &str = include_str!("joins.tsv");

/// The signs that join words, also as HTML writes them.
const SIGNS: [&str; 5] = ["&amp;", "&", "＆", "﹠", "+"];

/// Returns the ranges of signs that join two words of `text`: with white space on both sides, and
/// no number beside a plus.
pub fn joining_signs(text: &str) -> Vec<Span> {
    let mut all = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find(['&', '＆', '﹠', '+']).map(|it| at + it) {
        let rest = &text[start..];
        let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
        let end = start + sign.map_or(1, |sign| sign.len());
        if joins_words(text, &(start..end)) {
            all.push(start..end);
        }
        at = end;
    }
    all
}

/// Returns whether `sign`, a range of `text`, stands between two words.
pub(crate) fn joins_words(text: &str, sign: &Span) -> bool {
    let [before, after] = [&text[..sign.start], &text[sign.end..]];
    if !before.ends_with(char::is_whitespace) || !after.starts_with(char::is_whitespace) {
        return false;
    }
    let last = before.trim_end().chars().next_back();
    let next = after.trim_start().chars().next();
    let is_plus = &text[sign.clone()] == "+";
    is_of_word(last, Mark::Close)
        && is_of_word(next, Mark::Open)
        && (!is_plus || is_alike(before, after))
}

/// Returns whether `c` is a letter, a quotation mark or a mark of the kind `other`.
fn is_of_word(c: Option<char>, other: Mark) -> bool {
    c.is_some_and(|c| is_letter(c) || mark(c) == Mark::Quote || mark(c) == other)
}

/// Returns whether the words around a plus are of one kind: both capitalised or both not. A word in
/// capitals is a name that may contain the plus (`LIFE +`).
fn is_alike(before: &str, after: &str) -> bool {
    let word = before.split_whitespace().next_back().unwrap_or_default();
    let first = word.chars().next();
    let next = after.trim_start().chars().next();
    let is_name = word.chars().nth(1).is_some() && !word.contains(char::is_lowercase);
    let [first, next] =
        [first, next].map(|c| c.filter(|c| c.is_alphabetic()).map(char::is_uppercase));
    !is_name && first.is_some() && first == next
}

/// The word for "and" in a language.
struct Conjunction {
    word: &'static str,
    /// If true, the next word touches it.
    is_prefix: bool,
    others: &'static str,
}

/// Returns the words for "and", each with the codes of its languages and with other words.
fn rows() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let lines = AND_WORDS.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| {
        let (word, rest) = line.split_once('\t')?;
        let (codes, others) = rest.split_once('\t')?;
        Some((word, codes, others))
    })
}

impl Conjunction {
    fn of(language: &str) -> Option<Self> {
        let codes = rows().flat_map(|(_, codes, _)| codes.split(' '));
        let code = find_language(language, codes).ok()?;
        let (word, _, others) =
            rows().find(|(_, codes, _)| codes.split(' ').any(|it| it == code))?;
        Some(Self {
            word: word.trim_end_matches('-'),
            is_prefix: word.ends_with('-'),
            others,
        })
    }

    /// Returns how often the word, or another for it, stands in `text`.
    fn count(&self, text: &str) -> usize {
        let lower = text.to_lowercase();
        let all = self.others.split(' ').filter(|other| *other != self.word);
        let all: Vec<&str> = all.chain([self.word]).collect();
        if self.word.starts_with(is_unspaced) {
            return all.iter().map(|word| lower.matches(word).count()).sum();
        }
        let words = lower.split(|c: char| !is_letter(c));
        words
            .filter(|word| {
                let has_prefix = self.is_prefix && word.starts_with(self.word);
                has_prefix || all.contains(word)
            })
            .count()
    }
}

/// Returns `text` with the word for "and" in place of the signs that join its words; `None` if it
/// has none, or the language is not known.
pub fn with_joining_words(text: &str, language: &str) -> Option<String> {
    let joins = joining_signs(text);
    let conjunction = Conjunction::of(language).filter(|_| !joins.is_empty())?;
    let mut out = String::new();
    let mut at = 0;
    for join in joins {
        out += &text[at..join.start];
        at = join.end;
        let rest = text[at..].trim_start();
        let is_tight = conjunction.word.starts_with(is_unspaced) && rest.starts_with(is_unspaced);
        if is_tight {
            out.truncate(out.trim_end().len());
        }
        out += conjunction.word;
        if is_tight || conjunction.is_prefix {
            at = text.len() - rest.len();
        }
    }
    Some(out + &text[at..])
}

/// Returns whether `translation` has fewer joining signs and words for "and" than `source`. `into`
/// is the language of the translation, if known.
pub fn loses_joins(source: &str, translation: &str, [from, into]: [Option<&str>; 2]) -> bool {
    let signs = joining_signs(source).len();
    if signs == 0 {
        return false;
    }
    let sign_count = translation.matches(['&', '＆', '+']).count();
    // If the words of the target language are unknown, the source's words are not expected.
    let is_known = into.and_then(Conjunction::of).is_some();
    let words = if is_known {
        conjunctions(from, source)
    } else {
        0
    };
    sign_count + conjunctions(into, translation) < signs + words
}

/// Returns the number of words for "and" in `text`, in the `language`.
fn conjunctions(language: Option<&str>, text: &str) -> usize {
    language
        .and_then(Conjunction::of)
        .map_or(0, |conjunction| conjunction.count(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_between_words_join_them_and_names_do_not() {
        for (text, expected) in [
            ("Der Hund & die Katze", "Der Hund und die Katze"),
            ("Der Hund &amp; die Katze", "Der Hund und die Katze"),
            ("Hund + Katze & „Maus“", "Hund und Katze und „Maus“"),
            ("Hund ＆ Katze", "Hund und Katze"),
        ] {
            assert_eq!(with_joining_words(text, "de").as_deref(), Some(expected));
        }
        for text in [
            "LIFE + is new",
            "LIFE + Natur",
            "R&D",
            "AT&T",
            "a&b",
            "2 + 3",
            "C++ ist",
            "& Söhne",
            "Hund &",
            "a &= b",
            "&amp;",
        ] {
            assert_eq!(with_joining_words(text, "de"), None, "{text}");
        }
        assert_eq!(
            with_joining_words("猫 & 犬", "ja").as_deref(),
            Some("猫と犬")
        );
        assert_eq!(
            with_joining_words("قط & كلب", "ar").as_deref(),
            Some("قط وكلب")
        );
        assert_eq!(with_joining_words("a & b", "tlh"), None);
    }

    /// In every language of the table, the word itself is found again.
    #[test]
    fn a_translation_with_the_word_loses_nothing() {
        let lines = AND_WORDS.lines().filter(|line| !line.starts_with('#'));
        for code in lines.flat_map(|line| line.split('\t').nth(1).unwrap().split(' ')) {
            let text = with_joining_words("Tom & Max", code).unwrap_or_else(|| panic!("{code}"));
            assert!(
                !loses_joins("tom & max", &text, [Some("en"), Some(code)]),
                "{code}: {text}"
            );
            assert!(
                loses_joins("tom & max", "Tom Max", [Some("en"), Some(code)]),
                "{code}"
            );
            assert!(
                !loses_joins("tom & max", "Tom & Max", [Some("en"), Some(code)]),
                "{code}"
            );
        }
        let de_en = [Some("de"), Some("en")];
        assert!(loses_joins("Hund & Katze und Maus", "Dog and mouse", de_en));
        assert!(!loses_joins(
            "Hund & Katze und Maus",
            "Dog and cat and mouse",
            de_en
        ));
    }
}
