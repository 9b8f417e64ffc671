//! Characters, words, languages, and the numbers, placeholders and addresses of texts in any
//! language; no sentences and no files.
//!
//! Every text on its way to a tokeniser or a glossary follows the rule for invisible characters.
//! Unicode's default-ignorable, format and control characters are invisible (white space is not
//! among them). A model would read each of them as a word, and the user would not see why. The
//! trade-off: *a character stays only where it has a known meaning*, by [`visible`]'s list. Visible
//! format characters, such as `U+06DD`, stay.

#![forbid(unsafe_code)]

mod capitals;
mod joins;
mod languages;
mod messages;
mod pairs;
mod placeables;
mod words;

use std::borrow::Cow;
use std::ops::RangeInclusive;

use unicode_normalization::char::{canonical_combining_class, is_combining_mark};
use unicode_properties::UnicodeEmoji;

pub use capitals::{
    in_capitals, in_small_letters, is_in_capitals, may_be_in_capitals, small_in_place,
};
pub use joins::{joining_signs, loses_joins, with_joining_words};
pub use languages::{find_language, language};
pub use messages::counted;
pub use pairs::{Pair, PairKind, missing_dash, missing_pairs, pairs, with_pairs};
pub use placeables::{
    Cloze, FilledCloze, Grammar, Link, Number, Part, PartKind, Writing, added_placeholders,
    apply_edits, arms, blank, is_code, is_translatable, may_have_parts, missing_placeables,
    numbers_stay, parts, positions,
};
pub use words::{
    Mark, Span, Word, are_particles, is_in_word, is_letter, is_unspaced, joined, mark, normalized,
    overlap, overlaps, past, words,
};

const KEYCAP: char = '\u{20E3}';
const BLACK_FLAG: char = '🏴';
/// The blank of Braille, which separates words.
const BRAILLE_BLANK: char = '\u{2800}';

/// Returns whether `c` has no visible form in any position.
pub fn is_invisible(c: char) -> bool {
    matches!(u32::from(c),
        0x00..=0x08 | 0x0E..=0x1F | 0x7F..=0x84 | 0x86..=0x9F // controls
        | 0xAD | 0x34F | 0x61C | 0x17B4..=0x17B5 | 0x180B..=0x180F
        | 0x115F..=0x1160 | 0x3164 | 0xFFA0 // fillers of Hangul
        | 0x200B..=0x200F | 0x202A..=0x202E | 0x2060..=0x206F
        | 0xFE00..=0xFE0F | 0xFEFF | 0xFFF0..=0xFFFB
        | 0x13430..=0x1343F | 0x1BCA0..=0x1BCA3 | 0x1D173..=0x1D17A | 0xE0000..=0xE0FFF)
}

/// Returns `text` without its invisible characters, and with a space for the blank of Braille.
///
/// These stay: the tags after a black flag, layout controls after a hieroglyph, Mongolian selectors
/// after a Mongolian letter, a variation selector after an emoji; a non-joiner and a joiner between
/// two letters of an Indic, Arabic-like or Mongolian script, a joiner after a virama, and one
/// between two emoji. The rules are applied in this order, so that "after" refers to characters
/// that stay. The time is linear in the text.
pub fn visible(text: &str) -> Cow<'_, str> {
    visible_but(text, |_| false)
}

/// Returns whether `text` has no visible character, or only white space.
pub fn is_blank(text: &str) -> bool {
    visible(text).trim().is_empty()
}

/// Like [`visible`], but keeps all characters for which `stays` returns true.
pub fn visible_but(text: &str, stays: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(|c| is_invisible(c) || c == BRAILLE_BLANK) {
        return Cow::Borrowed(text);
    }
    let mut text = without(None, &text.replace(BRAILLE_BLANK, " "), &stays);
    for kind in 0..MEANINGFUL_INVISIBLES.len() {
        text = without(Some(kind), &text, &stays);
    }
    Cow::Owned(text)
}

/// The kinds of invisible characters with a meaning, in the order of their rules. All other
/// invisible characters are removed before.
const MEANINGFUL_INVISIBLES: [RangeInclusive<char>; 6] = [
    '\u{E0020}'..='\u{E007F}',
    '\u{13430}'..='\u{1343F}',
    '\u{180B}'..='\u{180F}',
    '\u{FE0E}'..='\u{FE0F}',
    '\u{200C}'..='\u{200C}',
    '\u{200D}'..='\u{200D}',
];

/// Returns the index in [`MEANINGFUL_INVISIBLES`] of the kind of `c`.
fn kind(c: char) -> Option<usize> {
    MEANINGFUL_INVISIBLES
        .iter()
        .position(|kind| kind.contains(&c))
}

/// Returns whether `c` is a symbol that has a colour picture.
pub fn is_emoji(c: char) -> bool {
    !c.is_ascii() && c.is_emoji_char()
}

/// Returns `text` without the invisible characters of the kind `judged` that have no meaning there.
fn without(judged: Option<usize>, text: &str, stays: &impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(is_invisible) {
        out.push_str(&rest[..at]);
        let after = rest[at..].trim_start_matches(is_invisible);
        let next = after.chars().next().unwrap_or(' ');
        for c in rest[at..rest.len() - after.len()].chars() {
            let before = out.chars().next_back().unwrap_or(' ');
            if kind(c) != judged || means_something(before, c, next) || stays(c) {
                out.push(c);
            }
        }
        rest = after;
    }
    out + rest
}

/// Returns whether the invisible `c` has a meaning after `before` if `next` is the next visible
/// character.
fn means_something(before: char, c: char, next: char) -> bool {
    match c {
        '\u{200C}' => joins(before) && joins(next),
        '\u{200D}' if joins(before) => joins(next) || canonical_combining_class(before) == 9, // a virama
        '\u{200D}' => ("\u{FE0F}\u{E007F}".contains(before) || is_emoji(before)) && is_emoji(next),
        '\u{FE0E}'..='\u{FE0F}' => {
            is_emoji(before) || next == KEYCAP && (before.is_ascii_digit() || "#*".contains(before))
        }
        '\u{180B}'..='\u{180F}' => matches!(before, '\u{1820}'..='\u{18AA}'),
        '\u{13430}'..='\u{1343F}' => matches!(before, '\u{13000}'..='\u{1345F}'),
        '\u{E0020}'..='\u{E007F}' => matches!(before, BLACK_FLAG | '\u{E0020}'..='\u{E007E}'),
        _ => false,
    }
}

/// Returns whether `c` is a letter or a mark of a script with letters that change form beside
/// joiners.
fn joins(c: char) -> bool {
    let is_joining = matches!(u32::from(c),
        0x0600..=0x07FF | 0x0840..=0x08FF | 0xFB50..=0xFDFF | 0xFE70..=0xFEFE // Arabic and its like
        | 0x0900..=0x0DFF | 0x1000..=0x109F | 0x1700..=0x18AF | 0x1A20..=0x1BFF // Indic, Mongolian
        | 0xA800..=0xA8FF | 0xA930..=0xA9FF | 0xAA60..=0xAA7F | 0xABC0..=0xABFF
        | 0x10D00..=0x10D3F | 0x11000..=0x11FFF | 0x1E900..=0x1E95F);
    is_joining && (c.is_alphabetic() || is_combining_mark(c))
}

/// Returns the number of characters before each byte of `text`, and of all.
pub fn character_offsets(text: &str) -> Vec<usize> {
    let mut offsets = Vec::with_capacity(text.len() + 1);
    let mut count = 0;
    for c in text.chars() {
        offsets.resize(offsets.len() + c.len_utf8(), count);
        count += 1;
    }
    offsets.push(count);
    offsets
}

/// Returns the rule as regular expressions, for programs in other languages: replace U+2800 by a
/// space, and then remove the matches of each expression in turn; the result is the [visible] text.
/// The syntax is common to Oniguruma and `fancy-regex`.
pub fn patterns() -> impl Iterator<Item = &'static str> {
    include_str!("patterns.txt").lines()
}

#[cfg(test)]
mod tests;
