//! Words: runs of letters, digits and combining marks.

use burnformer_text::{visible, visible_but};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Returns whether this character is a part of a word: a letter, a digit or a combining mark of a
/// script that puts spaces between words. In the other scripts (Chinese, Japanese, Thai, Lao,
/// Burmese, Khmer) every character counts as a word.
pub fn is_in_word(c: char) -> bool {
    is_letter(c) && !is_unspaced(c)
}

/// Returns whether this character is a part of a word of any script.
pub(crate) fn is_letter(c: char) -> bool {
    c.is_alphanumeric() || is_combining_mark(c)
}

/// Returns whether words of this character's script are written without spaces between them.
pub fn is_unspaced(c: char) -> bool {
    matches!(u32::from(c),
        0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x17FF // Thai, Lao, Burmese, Khmer
        | 0x2E80..=0x2FDF | 0x3005..=0x3007 | 0x3021..=0x30FF | 0x31F0..=0x31FF // radicals, kana
        | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0xFF66..=0xFF9F // ideographs, half-width kana
        | 0x20000..=0x3FFFF)
}

/// Kinds of punctuation. A mark at the edge of an element is kept in it if its translation has a
/// mark of the same kind there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// An opening bracket, or a mark that begins a question.
    Open,
    /// A closing bracket.
    Close,
    /// A quote, of which some languages open with what others close with.
    Quote,
    /// The end of a sentence.
    Terminal,
    /// A comma, a colon or a semicolon.
    Separator,
    /// Other characters, letters too.
    Other,
}

/// The kind of punctuation that `c` is.
pub fn mark(c: char) -> Mark {
    match c {
        '(' | '[' | '{' | '（' | '［' | '【' | '〔' | '¿' | '¡' => Mark::Open,
        ')' | ']' | '}' | '）' | '］' | '】' | '〕' => Mark::Close,
        '"' | '\'' | '“' | '”' | '„' | '‟' | '‘' | '’' | '‚' | '«' | '»' | '‹' | '›' | '「'
        | '」' | '『' | '』' => Mark::Quote,
        '.' | '!' | '?' | '…' | '。' | '！' | '？' | '؟' | '।' | '۔' | '॥' => {
            Mark::Terminal
        }
        ',' | ';' | ':' | '，' | '、' | '；' | '：' | '،' | '؛' => Mark::Separator,
        _ => Mark::Other,
    }
}

/// The most marks that are compared: many points of markup can be in one run of them.
const MOST_MARKS: usize = 32;

/// The bytes at the beginning of `rest` that are marks of the kinds of `marks`, in this order.
pub fn past(rest: impl Iterator<Item = char>, marks: impl Iterator<Item = char>) -> usize {
    let mut end = 0;
    let ends = rest.map(|c| {
        end += c.len_utf8();
        (c, end)
    });
    let marks = marks.take_while(|&c| !is_letter(c)).filter(|c| !c.is_whitespace()).map(mark);
    let both = marks.zip(ends.filter(|(c, _)| !c.is_whitespace()));
    let same = both.take(MOST_MARKS).take_while(|&(kind, (c, _))| !is_letter(c) && mark(c) == kind);
    same.last().map_or(0, |(_, (_, end))| end)
}

/// The largest character boundary of `text` that is not above `at`.
pub fn floor(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// A word, or one character that is neither in a word nor white space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    pub text: String,
    /// `text` in lower case.
    pub folded: String,
    /// If true, there is white space before the word.
    pub spaced: bool,
}

/// `text` without invisible characters but controls, which a model cannot write, in normal form C,
/// with single spaces between its words.
pub(crate) fn normalized(text: &str) -> String {
    let composed: String = visible_but(text, char::is_control).nfc().collect();
    composed.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The text of `words`, with single spaces between those that are spaced.
pub(crate) fn joined(words: &[Word]) -> String {
    let mut text = String::new();
    for word in words {
        text.push_str(if word.spaced && !text.is_empty() { " " } else { "" });
        text.push_str(&word.text);
    }
    text
}

/// The words of `text`, which is normalised.
pub(crate) fn words(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let (mut spaced, mut open) = (false, false);
    for c in visible(text).nfc() {
        if c.is_whitespace() {
            (spaced, open) = (true, false);
            continue;
        }
        match words.last_mut().filter(|_| open && is_in_word(c)) {
            Some(word) => word.text.push(c),
            None => words.push(Word { text: c.into(), folded: String::new(), spaced }),
        }
        (spaced, open) = (false, is_in_word(c));
    }
    words.iter_mut().for_each(|word| word.folded = word.text.to_lowercase());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        words(text).into_iter().map(|word| word.text).collect()
    }

    #[test]
    fn words_are_runs_of_letters_and_digits_and_signs_stand_alone() {
        assert_eq!(texts("E-Mail, 3x  pro Tag."), ["E", "-", "Mail", ",", "3x", "pro", "Tag", "."]);
        assert_eq!(texts("猫が好き"), ["猫", "が", "好", "き"]);
        assert!(texts(" \t\n").is_empty());
    }

    #[test]
    fn composed_and_decomposed_letters_are_the_same() {
        assert_eq!(words("Größe"), words("Gro\u{308}ße"));
        assert_eq!(normalized("  Gro\u{308}ße \t der\nZahl "), "Größe der Zahl");
    }
}
