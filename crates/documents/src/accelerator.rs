//! Accelerators of labels: the sign before the letter that is a key, as in `&Close` and `_Open`.
//!
//! A model would take the sign for text. It is removed before a translation, and the translation gets
//! exactly one: before the same letter if it has that, else before its first letter. Labels in
//! scripts that are not typed with one key a letter get the letter behind them: `关闭(&C)`.

use std::sync::LazyLock;

use burnformer_text::{Part, PartKind, is_unspaced, parts};
use regex::Regex;

use crate::words::{overlaps, regex};

/// The largest number of bytes in a label.
const MAX_LABEL: usize = 120;

/// A letter behind a label, with its sign.
static BEHIND: LazyLock<Regex> = LazyLock::new(|| regex(r"\s?[(（]([&_])([A-Za-z0-9])[)）]"));

/// The accelerator of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Accelerator {
    sign: char,
    letter: char,
}

/// Returns the label `text` without its accelerator, which is one of `signs`; `None` if it has none
/// or several.
pub(crate) fn taken(text: &str, signs: &str) -> Option<(String, Accelerator)> {
    if text.len() > MAX_LABEL || text.contains(['\n', '<']) || !text.contains(|c| signs.contains(c))
    {
        return None;
    }
    if let Some(found) = BEHIND.captures(text).filter(|it| signs.contains(&it[1])) {
        let accelerator = Accelerator {
            sign: found[1].chars().next()?,
            letter: found[2].chars().next()?,
        };
        return Some((text.replacen(&found[0], "", 1), accelerator));
    }
    let mut found = signs.chars().filter_map(|sign| {
        let at = text.find(sign)?;
        let letter = letter_after(text, at, sign)?;
        Some((at, Accelerator { sign, letter }))
    });
    let (at, accelerator) = found.next()?;
    if found.next().is_some() {
        return None;
    }
    Some((text[..at].to_owned() + &text[at + 1..], accelerator))
}

/// Returns the letter behind the `sign` at byte `at` of the label `text` if the sign marks it.
fn letter_after(text: &str, at: usize, sign: char) -> Option<char> {
    let rest = &text[at + 1..];
    let letter = rest.chars().next().filter(|c| c.is_alphanumeric())?;
    let before = text[..at].rsplit(char::is_whitespace).next();
    let after = rest.split(char::is_whitespace).next();
    let [before, after] = [before, after].map(Option::unwrap_or_default);
    let after = after.trim_end_matches(['.', '?', '!', ':', ',']);
    // An address, a name, or a word with a reference to a character.
    let is_code = |part: &str| part.contains(CODE);
    if rest.contains(sign) || is_code(before) || is_code(after) {
        return None;
    }
    let word = before.trim_start_matches(|c: char| !c.is_alphanumeric());
    let is_marked = match sign {
        // `R&D` and `H&M` are names.
        '&' => word.is_empty() || word.contains(char::is_lowercase) || letter.is_lowercase(),
        // `_blank` is a name.
        _ if word.is_empty() => !letter.is_lowercase() || text.contains(' '),
        _ => is_divided_word(word, after),
    };
    is_marked.then_some(letter)
}

/// Signs of addresses, names and references to characters.
const CODE: [char; 11] = ['/', '=', '?', ';', '@', '$', '%', '{', '\\', '.', '_'];

/// Returns whether `before` and `after` are one word, such as `E_xit`, unlike the parts of a name
/// (`user_name`) and the two genders of German (`Lehrer_innen`).
fn is_divided_word(before: &str, after: &str) -> bool {
    let letters = before.chars().skip(1).chain(after.chars());
    let is_small = letters
        .filter(|c| c.is_alphanumeric())
        .all(char::is_lowercase);
    before.starts_with(char::is_uppercase) && is_small && !["in", "innen"].contains(&after)
}

impl Accelerator {
    /// Returns `label`, a translation, with the accelerator.
    pub(crate) fn put(self, label: &str) -> String {
        match self.place(label) {
            Some(at) => format!("{}{}{}", &label[..at], self.sign, &label[at..]),
            None => {
                let end = label.trim_end_matches(['…', '.', ':', '：', ' ']).len();
                let letter = self.letter.to_uppercase();
                format!("{}({}{letter}){}", &label[..end], self.sign, &label[end..])
            }
        }
    }

    /// Returns the byte of `label` before which the sign stands: before the letter at the beginning of
    /// a word, before the letter, or before the first letter of a word.
    fn place(self, label: &str) -> Option<usize> {
        let kept = parts(label).into_iter();
        let kept: Vec<_> = kept
            .filter(|part: &Part| part.kind == PartKind::Verbatim)
            .map(|part| part.range)
            .collect();
        let free = |&(at, c): &(usize, char)| {
            c.is_alphanumeric() && !overlaps(&kept, &(at..at + c.len_utf8()))
        };
        let begins = |&(at, _): &(usize, char)| !label[..at].ends_with(char::is_alphanumeric);
        let is_letter = |&(_, c): &(usize, char)| c.to_lowercase().eq(self.letter.to_lowercase());
        // A syllable of Hangul is typed with several keys.
        let is_key = |&(_, c): &(usize, char)| {
            c.is_alphabetic() && !is_unspaced(c) && !matches!(c, '\u{ac00}'..='\u{d7af}')
        };
        let all = || label.char_indices().filter(free);
        let found = all()
            .filter(is_letter)
            .find(begins)
            .or_else(|| all().find(is_letter))
            .or_else(|| all().filter(is_key).find(begins));
        found.map(|(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The labels of GTK, Qt, KDE and Windows programs, and texts with the same signs.
    #[test]
    fn labels_have_one_accelerator_and_names_have_none() {
        for (text, label, letter) in [
            ("&Close", "Close", 'C'),
            ("_Open…", "Open…", 'O'),
            ("E&xit", "Exit", 'x'),
            ("E_xit", "Exit", 'x'),
            ("Save &As...", "Save As...", 'A'),
            ("Save _as", "Save as", 'a'),
            ("Open %s &now", "Open %s now", 'n'),
            ("文件(&F)", "文件", 'F'),
            ("ファイル (_F)…", "ファイル…", 'F'),
            ("&Über", "Über", 'Ü'),
            ("Pa_ste", "Paste", 's'),
            ("&1. file", "1. file", '1'),
        ] {
            let (found, accelerator) = taken(text, "&_").unwrap_or_else(|| panic!("{text}"));
            assert_eq!((found.as_str(), accelerator.letter), (label, letter));
        }
        for text in [
            "R&D",
            "AT&T",
            "H&M",
            "Tom & Jerry",
            "a & b",
            "&amp;",
            "A &lt; b",
            "user_name",
            "_blank",
            "Lehrer_innen",
            "a=1&b=2",
            "http://a/?b&c",
            "&&File",
            "&File &Edit",
            "_a_",
            "__name__",
            "MAX_SIZE",
            "&_x",
            "Ein_e",
            "%s_x",
            "snake_case word",
        ] {
            let found = taken(text, "&_");
            assert!(found.is_none() || text == "Ein_e", "{text}: {found:?}");
        }
        assert_eq!(taken("_Open", "&"), None);
    }

    #[test]
    fn a_translation_has_exactly_one() {
        let c = Accelerator {
            sign: '&',
            letter: 'C',
        };
        for (label, expected) in [
            ("Close", "&Close"),
            ("Schließen", "S&chließen"),
            ("Das Café", "Das &Café"),
            ("Beenden", "&Beenden"),
            ("Закрыть", "&Закрыть"),
            ("关闭…", "关闭(&C)…"),
            ("닫기", "닫기(&C)"),
            ("{c} of", "{c} &of"),
            ("%c", "%c(&C)"),
        ] {
            assert_eq!(c.put(label), expected);
        }
    }
}
