//! Accelerators of labels: the sign before the letter that is a key, as in `&Close` and `_Open`.
//!
//! A model would take the sign for text. It is removed before a translation, and the translation
//! gets exactly one: before the same letter if it has that, else before its first letter. Labels in
//! scripts that are not typed with one key a letter get the letter behind them: `关闭(&C)`.

use std::sync::LazyLock;

use burnformer_text::{Part, PartKind, is_unspaced, parts};
use regex::Regex;

use crate::words::{Span, overlaps, regex};

/// The largest number of bytes in a label.
const MAX_LABEL: usize = 120;

/// A letter behind a label, with its sign.
static BEHIND: LazyLock<Regex> = LazyLock::new(|| regex(r"\s?[(（]([&_])([A-Za-z0-9])[)）]"));

/// A tag, or the reference to an ampersand.
static MARKUP: LazyLock<Regex> = LazyLock::new(|| regex(r"<[^<>]*>|&amp;"));

/// The accelerator of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Accelerator {
    sign: char,
    letter: char,
    /// If true, the label is XML.
    is_markup: bool,
}

/// A label without its tags.
struct Label {
    text: String,
    /// The byte of the label at which each byte of the text, and its end, stands.
    places: Vec<usize>,
}

impl Label {
    fn of(label: &str, is_markup: bool) -> Self {
        let mut text = String::with_capacity(label.len());
        let mut places = Vec::with_capacity(label.len() + 1);
        let mut at = 0;
        for found in MARKUP.find_iter(label) {
            let is_sign = found.as_str() == "&amp;";
            if is_sign && !is_markup {
                continue;
            }
            text += &label[at..found.start()];
            places.extend(at..found.start());
            if is_sign {
                text.push('&');
                places.push(found.start());
            }
            at = found.end();
        }
        text += &label[at..];
        places.extend(at..=label.len());
        Self { text, places }
    }

    /// Returns `label` without the bytes of `range` of the text.
    fn without(&self, label: &str, range: Span) -> String {
        let end = self.places[range.end - 1];
        let sign = MARKUP
            .find_at(label, end)
            .filter(|found| found.start() == end);
        let end = sign.map_or(end + 1, |found| found.end());
        label[..self.places[range.start]].to_owned() + &label[end..]
    }
}

/// Returns the label `text`, which is XML if `is_markup`, without its accelerator, which is one of
/// `signs`; `None` if it has none or several.
pub(crate) fn taken(text: &str, signs: &str, is_markup: bool) -> Option<(String, Accelerator)> {
    if text.len() > MAX_LABEL || text.contains('\n') || !text.contains(|c| signs.contains(c)) {
        return None;
    }
    let label = Label::of(text, is_markup);
    let plain = &*label.text;
    if let Some(found) = BEHIND.captures(plain).filter(|it| signs.contains(&it[1])) {
        let accelerator = Accelerator {
            sign: found[1].chars().next()?,
            letter: found[2].chars().next()?,
            is_markup,
        };
        let range = found.get(0)?.range();
        let is_whole = !text[label.places[range.start]..label.places[range.end - 1]].contains('<');
        let shown_label = label.without(text, range);
        return is_whole.then_some((shown_label, accelerator));
    }
    let mut found = signs.chars().filter_map(|sign| {
        let at = plain.find(sign)?;
        let letter = letter_after(plain, at, sign)?;
        Some((at, sign, letter))
    });
    let (at, sign, letter) = found.next()?;
    if found.next().is_some() {
        return None;
    }
    let accelerator = Accelerator {
        sign,
        letter,
        is_markup,
    };
    Some((label.without(text, at..at + 1), accelerator))
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
    if rest.contains(sign) || before.contains(CODE_SIGNS) || after.contains(CODE_SIGNS) {
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
const CODE_SIGNS: [char; 11] = ['/', '=', '?', ';', '@', '$', '%', '{', '\\', '.', '_'];

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
        let Label { text, places } = Label::of(label, self.is_markup);
        let sign = match self.sign {
            '&' if self.is_markup => "&amp;".to_owned(),
            sign => sign.to_string(),
        };
        match self.place(&text) {
            Some(at) => {
                let at = places[at];
                format!("{}{sign}{}", &label[..at], &label[at..])
            }
            None => {
                let end = text.trim_end_matches(['…', '.', ':', '：', ' ']).len();
                let end = places[end];
                let letter = self.letter.to_uppercase();
                format!("{}({sign}{letter}){}", &label[..end], &label[end..])
            }
        }
    }

    /// Returns the byte of `label` before which the sign stands: before the letter at the beginning
    /// of a word, before the letter, or before the first letter of a word.
    fn place(self, label: &str) -> Option<usize> {
        let kept = parts(label).into_iter();
        let kept: Vec<_> = kept
            .filter(|part: &Part| part.kind == PartKind::Verbatim)
            .map(|part| part.range)
            .collect();
        let mut inside = None;
        let mut other = None;
        for (at, c) in label.char_indices() {
            if !c.is_alphanumeric() || overlaps(&kept, &(at..at + c.len_utf8())) {
                continue;
            }
            let begins = !label[..at].ends_with(char::is_alphanumeric);
            if c.to_lowercase().eq(self.letter.to_lowercase()) {
                if begins {
                    return Some(at);
                }
                inside.get_or_insert(at);
            }
            if begins && is_key(c) {
                other.get_or_insert(at);
            }
        }
        inside.or(other)
    }
}

/// Returns whether `c` is typed with one key. A syllable of Hangul is typed with several.
fn is_key(c: char) -> bool {
    c.is_alphabetic() && !is_unspaced(c) && !matches!(c, '\u{ac00}'..='\u{d7af}')
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
            let (found, accelerator) = taken(text, "&_", false).unwrap_or_else(|| panic!("{text}"));
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
            let found = taken(text, "&_", false);
            assert!(found.is_none() || text == "Ein_e", "{text}: {found:?}");
        }
        assert_eq!(taken("_Open", "&", false), None);
    }

    #[test]
    fn a_translation_has_exactly_one() {
        let c = Accelerator {
            sign: '&',
            letter: 'C',
            is_markup: false,
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

    /// Each label in tags at each place, as text with tags and as XML.
    #[test]
    fn tags_are_no_part_of_a_label() {
        let tags = ["", "<b>", "</g>", "<x id=\"1\"/>"];
        for (label, taken_label) in [("&Close it", "Close it"), ("Sa&ve", "Save"), ("R&D", "R&D")] {
            for (tag, at) in tags
                .iter()
                .flat_map(|tag| (0..label.len()).map(move |at| (tag, at)))
            {
                for is_markup in [false, true] {
                    let written = |text: &str| match is_markup {
                        true => text.replace('&', "&amp;"),
                        false => text.to_owned(),
                    };
                    let text = [&written(&label[..at]), *tag, &written(&label[at..])].concat();
                    let found = taken(&text, "&", is_markup);
                    let Some((without, accelerator)) = found else {
                        assert_eq!(label, taken_label, "{text}");
                        continue;
                    };
                    let visible = without.replace(tag, "");
                    assert_eq!(visible, written(taken_label), "{text}");
                    let put = accelerator.put(&without);
                    assert_eq!(put.replace(tag, ""), written(label), "{text}");
                }
            }
        }
    }
}
