//! Words that stand for numbers or belong to them, in the languages most models support.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::words::{Span, is_unspaced};

/// Units, one a line, in three columns: the [`UnitKind`]; signs and abbreviations written beside a
/// number; stems of words for the unit. `_` stands for a space.
const UNITS: &str = include_str!("units.tsv");
/// The names of each month, one month a line, first in [`LANGUAGES`].
const MONTHS: &str = include_str!("months.txt");
/// Maximum number of letters and marks in the name of a month.
const MAX_MONTH_LETTERS: usize = 16;
/// The names of 10³, 10⁶, 10⁹ and 10¹² after a number, in the same languages: after 1, and after
/// other numbers. `_` stands for a space.
const SCALE_NAMES: &str = include_str!("scales.txt");
/// Words before a number that belongs to a title, a version or an identifier.
const LABELS: &str = include_str!("labels.txt");
/// Words for things that are often counted in fractions, in addition to [`UNITS`].
const COUNTED: &str = include_str!("counted.txt");

/// Stems of the words for 1 to 12, one number a line, cardinal and ordinal. Entries of up to three
/// ASCII letters, and entries with a `$`, are whole words.
const NUMBERS: &str = include_str!("numbers.txt");

/// Stems of words that multiply the number before them, with the power of ten. The longest match
/// counts. A second power is for languages with long scales. Entries of up to five ASCII letters
/// are whole words.
const SCALES: &str = include_str!("multipliers.txt");

/// Entries of [`SCALES`] that a full stop abbreviates.
const ABBREVIATED: [&str; 8] = ["tsd", "тыс", "mio", "mln", "млн", "mrd", "mld", "млрд"];

/// What a unit measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum UnitKind {
    Percent,
    /// Money: the sign may stand before the number.
    Currency,
    /// Any other unit.
    Measure,
}

/// A line of [`UNITS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Unit {
    kind: UnitKind,
    /// Signs and abbreviations, separated by spaces.
    signs: &'static str,
    /// Stems of words, separated by spaces.
    stems: &'static str,
}

impl Unit {
    /// Parses a line of [`UNITS`].
    fn parse(line: &'static str) -> Option<Self> {
        let mut columns = line.splitn(3, '\t');
        let kind = match columns.next()? {
            "percent" => UnitKind::Percent,
            "currency" => UnitKind::Currency,
            "measure" => UnitKind::Measure,
            _ => return None,
        };
        let signs = columns.next()?;
        let stems = columns.next()?;
        Some(Self { kind, signs, stems })
    }
}

fn units() -> impl Iterator<Item = Unit> {
    UNITS.lines().filter_map(Unit::parse)
}

/// The units by the first character of their signs and abbreviations. A text has many numbers, and
/// units are searched on both sides of each.
static UNITS_BY_FIRST: LazyLock<HashMap<char, Vec<(Unit, &str)>>> = LazyLock::new(|| {
    let mut all = HashMap::<char, Vec<(Unit, &str)>>::new();
    for unit in units() {
        for sign in unit.signs.split(' ') {
            let first = sign.chars().next().unwrap_or_default();
            all.entry(first).or_default().push((unit, sign));
        }
    }
    all
});

/// Returns the unit with a sign or abbreviation that begins `text` as a whole word, and its length.
fn unit_at(text: &str) -> Option<(Unit, usize)> {
    let first = text.chars().next()?;
    UNITS_BY_FIRST
        .get(&first)?
        .iter()
        .filter(|(_, sign)| begins_with(text, sign))
        .map(|&(unit, sign)| (unit, sign.len()))
        .max_by_key(|&(_, length)| length)
}

/// Returns whether `text` begins with `sign` as a whole word.
fn begins_with(text: &str, sign: &str) -> bool {
    let Some(rest) = text.strip_prefix(sign) else {
        return false;
    };
    let continues =
        rest.starts_with(|c: char| c.is_alphanumeric() && !is_unspaced(c) || "²³/".contains(c));
    !(continues && sign.ends_with(char::is_alphanumeric))
}

/// Extends `number`, a range of `text`, by the adjacent units or currency, and returns them.
pub(super) fn with_units(text: &str, number: Span) -> (Span, Vec<Unit>) {
    let blanks = [' ', '\u{a0}', '\u{202f}'];
    let mut range = number;
    let mut units = Vec::new();
    let after = text[range.end..].trim_start_matches(blanks);
    if let Some((unit, length)) = unit_at(after) {
        range.end = text.len() - after.len() + length;
        units.push(unit);
    }
    let before = text[..range.start].trim_end_matches(blanks);
    let begin = before.trim_end_matches(|c: char| {
        c.is_ascii_uppercase() || !c.is_ascii() && !c.is_alphanumeric() || c == '$'
    });
    if let Some((unit, length)) = unit_at(&before[begin.len()..])
        && unit.kind == UnitKind::Currency
        && length == before.len() - begin.len()
    {
        range.start = begin.len();
        units.push(unit);
    }
    (range, units)
}

/// Returns whether `text` contains percentages. `lower` is `text` in lower case.
pub(super) fn has_percent(text: &str, lower: &str) -> bool {
    let mut percents = units().filter(|unit| unit.kind == UnitKind::Percent);
    percents.any(|unit| has_unit(text, lower, unit))
}

/// Returns whether `text` contains `unit` or a word for it. `lower` is `text` in lower case.
pub(super) fn has_unit(text: &str, lower: &str, unit: Unit) -> bool {
    unit.signs.split(' ').any(|sign| {
        if sign.starts_with(char::is_alphabetic) {
            text.match_indices(sign).any(|(at, _)| {
                let goes_on = text[at + sign.len()..]
                    .starts_with(|c: char| c.is_alphanumeric() && !is_unspaced(c));
                !goes_on && !text[..at].ends_with(|c: char| c.is_alphabetic() && !is_unspaced(c))
            })
        } else {
            text.contains(sign)
        }
    }) || has_stem(lower, unit.stems)
}

/// Returns whether one of `stems` begins a word of `lower`, or stands anywhere in scripts without
/// spaces.
fn has_stem(lower: &str, stems: &str) -> bool {
    stems
        .split(' ')
        .map(|stem| stem.replace('_', " "))
        .any(|stem| {
            let is_anywhere = stem.starts_with(is_unspaced);
            let mut found = lower.match_indices(&*stem);
            found.any(|(at, _)| {
                is_anywhere
                    || !lower[..at].ends_with(|c: char| c.is_alphanumeric() && !is_unspaced(c))
            })
        })
}

const HALVES: &str = "half halb hälft halv demi moitié medi mitad met\u{e0} mezz meia meio полов \
    полтор 半 반 절반 आध نصف ครึ่ง";
const MINUS: &str = "minus moins menos meno минус マイナス 负 ناقص ऋण ลบ";
/// The half of the day that a word after a time names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DayHalf {
    /// From noon on: 2 p.m. is 14:00.
    Afternoon,
    /// The morning, or the whole day, as with "o'clock". The hour stays as it is written.
    Other,
}

/// Stems of the words after a time of day, without spaces and full stops. Longer ones come first.
const CLOCK_WORDS: [(&str, DayHalf); 9] = [
    ("pm", DayHalf::Afternoon),
    ("uhrnachm", DayHalf::Afternoon),
    ("uhrabends", DayHalf::Afternoon),
    ("uhrmittags", DayHalf::Afternoon),
    ("am", DayHalf::Other),
    ("uhr", DayHalf::Other),
    ("h", DayHalf::Other),
    ("o'clock", DayHalf::Other),
    ("oclock", DayHalf::Other),
];

/// Returns whether the word or sign at the beginning of `after` is a unit.
pub(super) fn is_unit(after: &str) -> bool {
    let after = after.trim_start_matches([' ', '\u{a0}', '\u{202f}', '-']);
    let word = first_word(after);
    unit_at(after).is_some()
        || COUNTED
            .split_whitespace()
            .any(|unit| begins(&word, unit, 3))
}

/// Returns whether `before` ends with a word that makes the next number a title, version or
/// identifier.
pub(super) fn is_label(before: &str) -> bool {
    let near = before[before.floor_char_boundary(before.len().saturating_sub(40))..].to_lowercase();
    let near = near.trim_end_matches(|c: char| c.is_whitespace() || ".:-–#".contains(c));
    let word = near
        .rsplit(|c: char| !c.is_alphabetic() && !is_mark(c))
        .next()
        .unwrap_or_default();
    LABELS.split_whitespace().any(|label| {
        if label.starts_with(is_unspaced) || label == "№" {
            near.ends_with(label)
        } else {
            begins(word, label, 4)
        }
    })
}

/// Returns the byte range of the multiplier word at the beginning of `after`, and its powers of
/// ten. The range excludes the space before it and includes the full stop of an abbreviation.
pub(super) fn scale_word(after: &str) -> (Span, Vec<usize>) {
    let rest = after.trim_start_matches([' ', '\u{a0}', '\u{202f}', '-']);
    let word = first_word(rest);
    let mut entries = SCALES.split_whitespace();
    let mut best = ("", "");
    while let (Some(stem), Some(powers)) = (entries.next(), entries.next()) {
        if begins(&word, stem, 5) && stem.len() > best.0.len() {
            best = (stem, powers);
        }
    }
    let start = after.len() - rest.len();
    let letters = rest
        .chars()
        .take(word.chars().count())
        .map(char::len_utf8)
        .sum::<usize>();
    let is_abbreviated = rest[letters..].starts_with(". ") && ABBREVIATED.contains(&best.0);
    let end = start + letters + usize::from(is_abbreviated);
    (
        start..end,
        best.1
            .split(',')
            .filter_map(|power| power.parse().ok())
            .collect(),
    )
}

/// Returns the name of a power of ten after the number `value`, for translation between two
/// languages. `all` are the powers that the source word may mean, in ascending order: a billion is
/// the smallest in English and the largest in all other languages.
pub(super) fn scale_name(all: &[usize], value: &str, [from, into]: [usize; 2]) -> Option<String> {
    let power = if from == 0 { all.first() } else { all.last() };
    let row = power.filter(|&power| power % 3 == 0)? / 3;
    let name = SCALE_NAMES.lines().nth(row - 1)?.split(' ').nth(into)?;
    let (one, others) = name.split_once('|').unwrap_or((name, name));
    Some(if value == "1" { one } else { others }.replace('_', " "))
}

/// The numbers from 1 to 12 that a text writes as words.
#[derive(Default)]
pub(super) struct NumberWords {
    small: [bool; 12],
    /// If true, there is a word for a half.
    pub half: bool,
    /// Like `small`, for words that begin larger numbers: 20 and 200 count as 2.
    first: [bool; 12],
}

/// Returns whether `word` stands for a number from 13 on.
fn is_ten(word: &str) -> bool {
    ["zig", "ßig", "ty", "teen"]
        .iter()
        .any(|end| word.ends_with(end))
}

/// Parses a number from 1 to 12.
fn small_number(digits: &str) -> Option<usize> {
    digits.parse().ok().filter(|row| (1..=12).contains(row))
}

impl NumberWords {
    pub(super) fn new(text: &str) -> Self {
        let lower = text.to_lowercase();
        let half = has_stem(&lower, HALVES);
        let mut all = Self {
            half,
            ..Self::default()
        };
        let words = lower.split(|c: char| !c.is_alphabetic() && !is_mark(c));
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        for (row, stems) in NUMBERS.lines().enumerate() {
            for stem in stems.split(' ') {
                let is_inside = stem.starts_with(is_unspaced) && lower.contains(stem);
                let mut small = is_inside;
                for word in words.iter().filter(|word| begins(word, stem, 3)) {
                    all.first[row] = true;
                    small |= row > 8 || !is_ten(word);
                }
                all.first[row] |= is_inside;
                all.small[row] |= small;
            }
        }
        all
    }

    /// Returns whether a word stands for the integer `value`. With `large`, a value above 12 needs
    /// only the word that it begins with.
    pub(super) fn has(&self, value: &str, large: bool) -> bool {
        let first = [2, 1]
            .iter()
            .find_map(|&length| value.get(..length).and_then(small_number));
        match (small_number(value), first) {
            (Some(row), _) => self.small[row - 1],
            (None, Some(row)) => large && self.first[row - 1],
            (None, None) => false,
        }
    }
}

/// The languages of the first names in [`MONTHS`], in order.
pub(super) const LANGUAGES: &str = "en de fr es it pt nl ru";

/// Returns the index of the language `code` for [`month_name`].
pub(super) fn language_of_months(code: &str) -> Option<usize> {
    LANGUAGES
        .split(' ')
        .position(|known| Some(known) == code.split('-').next())
}

pub(super) fn month_name(month: usize, language: usize) -> &'static str {
    let names = MONTHS.lines().nth(month).unwrap_or_default();
    names.split(' ').nth(language).unwrap_or_default()
}

/// The names of [`MONTHS`] in lower case.
static MONTHS_IN_LOWER_CASE: LazyLock<Vec<Vec<String>>> = LazyLock::new(|| {
    MONTHS
        .lines()
        .map(|row: &str| row.split(' ').map(str::to_lowercase).collect())
        .collect()
});

/// Returns the month that a word names, in full or abbreviated to at least three letters.
fn month(word: &str) -> Option<usize> {
    let letters = word.chars().take(MAX_MONTH_LETTERS + 1).count();
    // These are also verbs and an adjective.
    let is_other = ["may", "march", "august", "mar"].contains(&word);
    if is_other || !(3..=MAX_MONTH_LETTERS).contains(&letters) {
        return None;
    }
    let lower = word.to_lowercase();
    MONTHS_IN_LOWER_CASE.iter().position(|names| {
        names
            .iter()
            .any(|name: &String| *name == lower || letters <= 4 && name.starts_with(&lower))
    })
}

/// Returns the month named directly before or after `number`, a range of `text`, with the byte
/// range of its name.
pub(super) fn month_beside(text: &str, number: &Span) -> Option<(usize, Span)> {
    const MAX_BYTES: usize = 32;
    let before = &text[..number.end.min(number.start)];
    let rest = before.trim_end_matches([' ', '\u{a0}']);
    let near = &rest[rest.floor_char_boundary(rest.len().saturating_sub(MAX_BYTES))..];
    let word = near
        .rsplit(|c: char| !c.is_alphabetic() && !is_mark(c))
        .next()
        .unwrap_or_default();
    if let Some(month) = month(word).filter(|_| rest.len() < before.len()) {
        return Some((month, rest.len() - word.len()..rest.len()));
    }
    let after = &text[number.end..];
    let endings = ["st", "nd", "rd", "th", "er", "º", "."];
    let rest = endings
        .iter()
        .find_map(|ending| after.strip_prefix(ending))
        .unwrap_or(after);
    let blanks = rest.trim_start_matches([' ', '\u{a0}']);
    let name = ["of ", "de "]
        .iter()
        .find_map(|word| blanks.strip_prefix(word))
        .unwrap_or(blanks);
    let word = name
        .split(|c: char| !c.is_alphabetic() && !is_mark(c))
        .next()
        .unwrap_or_default();
    let found = (blanks.len() < rest.len() && word.len() <= MAX_BYTES).then(|| month(word))??;
    let start = text.len() - name.len();
    Some((found, start..start + word.len()))
}

/// Returns whether `text`, a translation, names this month.
pub(super) fn has_month(text: &str, index: usize) -> bool {
    let mut words = text.split(|c: char| !c.is_alphabetic() && !is_mark(c));
    words.any(|word| month(word) == Some(index))
        || MONTHS.lines().nth(index).is_some_and(|names| {
            names
                .split(' ')
                .any(|name| name.ends_with(['月', '월']) && text.contains(name))
        })
}

/// The sign before a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    None,
    /// A sign or a word.
    Minus,
    Plus,
    /// The word `plus`, which may also join two numbers.
    PlusWord,
}

/// Returns the sign at the end of `before`, the text before a number.
pub(super) fn sign(before: &str) -> Sign {
    let rest = before.trim_end_matches(['-', '−', '－', '+', '＋']);
    match before[rest.len()..].chars().count() {
        0 => {
            let near = rest.floor_char_boundary(rest.len().saturating_sub(24));
            let rest = rest[near..].trim_end().to_lowercase();
            let is_minus = MINUS.split(' ').any(|word| rest.ends_with(word));
            let is_plus = ["plus", "плюс"].iter().any(|word| rest.ends_with(word));
            match (is_minus, is_plus) {
                (true, _) => Sign::Minus,
                (false, true) => Sign::PlusWord,
                (false, false) => Sign::None,
            }
        }
        1 if rest.is_empty()
            || rest.ends_with(|c: char| c.is_whitespace() || "([{\"„“«‚'".contains(c)) =>
        {
            if before.ends_with(['+', '＋']) {
                Sign::Plus
            } else {
                Sign::Minus
            }
        }
        _ => Sign::None,
    }
}

/// Returns the half of the day of the time before `after` according to the words after it; `None`
/// if there are none.
pub(super) fn day_half(after: &str) -> Option<DayHalf> {
    let near = after
        .chars()
        .take(16)
        .filter(|c| !matches!(c, ' ' | '.' | '\u{a0}' | '\u{202f}'));
    let near: String = near.flat_map(char::to_lowercase).collect();
    let mut words = CLOCK_WORDS.iter();
    words.find_map(|&(word, half)| begins(&near, word, 0).then_some(half))
}

fn first_word(text: &str) -> String {
    let word = text
        .chars()
        .take_while(|&c| c.is_alphabetic() || is_mark(c));
    word.flat_map(char::to_lowercase).collect()
}

fn is_mark(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c)
}

/// Returns whether `word` is `stem`. It may also begin with `stem` if that has more than `short`
/// letters or is not ASCII.
fn begins(word: &str, stem: &str, short: usize) -> bool {
    word == stem.trim_end_matches('$')
        || (stem.len() > short || !stem.is_ascii()) && word.starts_with(stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns whether `sign` is written like an ISO 4217 code.
    fn is_code(sign: &str) -> bool {
        sign.len() == 3 && sign.chars().all(|c| c.is_ascii_uppercase())
    }

    #[test]
    fn every_line_is_a_unit_and_the_currencies_are_those_with_a_code() {
        assert_eq!(units().count(), UNITS.lines().count());
        for unit in units() {
            let has_code = unit.signs.split(' ').any(is_code);
            assert_eq!(unit.kind == UnitKind::Currency, has_code, "{unit:?}");
        }
    }

    #[test]
    fn signs_and_codes_of_currencies_alone_stand_before_their_numbers() {
        for unit in units() {
            let is_sign = |sign: &str| !sign.contains(char::is_alphanumeric);
            for sign in unit
                .signs
                .split(' ')
                .filter(|it| is_code(it) || is_sign(it))
            {
                let text = format!("{sign} 12");
                let number = text.len() - 2..text.len();
                let (_, found) = with_units(&text, number);
                assert_eq!(!found.is_empty(), unit.kind == UnitKind::Currency, "{text}");
            }
        }
    }
}
