//! Numbers with the values that they may have, whatever the language writes them.

use std::ops::Range;

use super::scan::{Group, runs};
use super::words::{is_afternoon, is_clock, is_minus, scales};
use crate::words::is_in_word;

/// The most letters beside a number that are looked at.
const MOST_LETTERS: usize = 20;

/// Endings of ordinal numbers and decades, which are translated.
pub(super) const ENDINGS: [&str; 7] = ["st", "nd", "rd", "th", "er", "s", "e"];

/// A number, a date, a time, a ratio or a range.
#[derive(Clone, Debug)]
pub(super) struct Number {
    /// Bytes of the text, with the sign.
    pub range: Range<usize>,
    /// The text of `range`, with the letters that belong to it.
    pub text: String,
    /// The values that it may have, each in one form: `1.234` is a fraction in English and a
    /// thousand in German.
    pub values: Vec<String>,
    /// The values of its parts, if it has several.
    pub parts: Vec<String>,
    pub kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A whole number that words may replace.
    Whole,
    /// One that they may not: it has a sign, a fraction or letters beside it.
    Exact,
    /// A date, whose parts may have another order.
    Date,
    Sequence,
}

/// The numbers of `text` from left to right; `joined` as in [`runs`].
pub(super) fn numbers(text: &str, joined: bool) -> Vec<Number> {
    runs(text, joined).into_iter().map(|(range, groups)| number(text, range, &groups)).collect()
}

fn number(text: &str, range: Range<usize>, groups: &[Group]) -> Number {
    let items: Vec<&[Group]> = groups.chunk_by(|_, next| !is_between(next.separator)).collect();
    let (before, after) = (&text[..range.start], &text[range.end..]);
    let (mut values, mut parts) = (Vec::new(), Vec::new());
    let mut kind = Kind::Sequence;
    match (is_date(groups), &items[..]) {
        (true, _) => {
            parts = groups.iter().map(|group| integer(&group.digits)).collect();
            let mut sorted = parts.clone();
            sorted.sort();
            values.push(sorted.join(":"));
            kind = Kind::Date;
        }
        (false, [item]) => {
            values = values_of(item);
            let is_whole = item.len() == 1 && !item[0].digits.starts_with('0');
            kind = if is_whole { Kind::Whole } else { Kind::Exact };
        }
        (false, items) => {
            parts = items.iter().flat_map(|item| values_of(item).into_iter().next()).collect();
            values.push(parts.join(":"));
        }
    }
    // Several marks of one kind that divide no groups of thousands: a version.
    if values.is_empty() {
        parts = groups.iter().map(|group| integer(&group.digits)).collect();
        (values, kind) = (vec![parts.join(":")], Kind::Sequence);
    }
    add_times(groups, after, &mut values);
    let scale = scales(after);
    if !scale.is_empty() {
        values =
            scale.iter().flat_map(|&by| values.iter().map(move |own| scaled(own, by))).collect();
    }
    let negative = items.len() == 1 && is_minus(before);
    if negative {
        values.iter_mut().for_each(|value| value.insert(0, '-'));
    }
    let sign =
        before.chars().next_back().filter(|c| negative && !c.is_alphabetic() && !c.is_whitespace());
    let start = range.start - sign.map_or(0, char::len_utf8);
    let (letters, word) = word_around(text, start..range.end);
    if kind == Kind::Whole && (letters || negative) {
        kind = Kind::Exact;
    }
    Number { range: start..range.end, text: text[word].into(), values, parts, kind }
}

/// Returns whether this separator stands between two numbers.
fn is_between(separator: char) -> bool {
    matches!(separator, ':' | '/' | '-')
}

/// Day, month and year in any order: `1.2.2003`, `2003-02-01`.
fn is_date(groups: &[Group]) -> bool {
    let [first, second, third] = groups else { return false };
    let lengths = [first, second, third].map(|group| group.digits.len());
    second.separator == third.separator
        && matches!(second.separator, '.' | '/' | '-')
        && matches!(lengths, [1 | 2, 1 | 2, 2 | 4] | [4, 1 | 2, 1 | 2])
}

/// The values of a number without signs: groups of thousands, a fraction, or both are possible.
fn values_of(groups: &[Group]) -> Vec<String> {
    let [first, rest @ ..] = groups else { return Vec::new() };
    let Some((last, middle)) = rest.split_last() else { return vec![integer(&first.digits)] };
    let whole =
        |groups: &[Group]| integer(&groups.iter().map(|group| &*group.digits).collect::<String>());
    let mark = last.separator;
    let mut values = Vec::new();
    let is_free = middle.iter().all(|own| own.separator != mark);
    let is_thousands = mark != '٫' && are_thousands(groups);
    let is_fraction = matches!(mark, '.' | ',' | '٫') && is_free;
    let none_but_zeros = is_thousands && last.digits == "000";
    if is_fraction && !none_but_zeros && are_thousands(&groups[..groups.len() - 1]) {
        values.push(decimal(&whole(&groups[..groups.len() - 1]), &last.digits));
    }
    if is_thousands {
        values.push(whole(groups));
    }
    values
}

/// Returns whether `groups` are those of one whole number: 1 234 567, or 12,34,567 as in India.
fn are_thousands(groups: &[Group]) -> bool {
    let [first, rest @ ..] = groups else { return false };
    let Some((last, middle)) = rest.split_last() else { return true };
    let even = |width| middle.iter().all(|group| group.digits.len() == width);
    let alike = middle.iter().all(|group| group.separator == last.separator);
    alike
        && last.digits.len() == 3
        && (even(3) && first.digits.len() <= 3 || even(2) && first.digits.len() <= 2)
        && !first.digits.starts_with('0')
}

/// A whole number in one form. Zeros before a long one belong to an identifier.
fn integer(digits: &str) -> String {
    let value = digits.trim_start_matches('0');
    match value.is_empty() {
        _ if digits.len() > 2 && digits.starts_with('0') => digits.into(),
        true => "0".into(),
        false => value.into(),
    }
}

fn decimal(whole: &str, fraction: &str) -> String {
    match fraction.trim_end_matches('0') {
        "" => whole.into(),
        fraction => format!("{whole}.{fraction}"),
    }
}

/// `value` times ten to the power of `by`.
fn scaled(value: &str, by: usize) -> String {
    let (whole, fraction) = value.split_once('.').unwrap_or((value, ""));
    let moved = fraction.len().min(by);
    let digits = format!("{whole}{}{}", &fraction[..moved], "0".repeat(by - moved));
    decimal(&integer(&digits), &fraction[moved..])
}

/// Adds the other ways to write a time: 2.30 Uhr is 2:30, 2:30 p.m. is 14:30, and 14:00 is 14.
fn add_times(groups: &[Group], after: &str, values: &mut Vec<String>) {
    let [hour, rest @ ..] = groups else { return };
    let minute = match rest {
        [] => "0".into(),
        [own] if own.digits.len() == 2 && matches!(own.separator, ':' | '.') => {
            integer(&own.digits)
        }
        _ => return,
    };
    let is_time = rest.first().is_some_and(|own| own.separator == ':');
    let Some(hour) = hour.digits.parse().ok().filter(|&hour: &u32| hour <= 24) else { return };
    if !is_time && !is_clock(after) {
        return;
    }
    let later = (is_afternoon(after) && hour < 12).then_some(hour + 12);
    for hour in [Some(hour), later].into_iter().flatten() {
        values.push(format!("{hour}:{minute}"));
        values.extend((minute == "0").then(|| hour.to_string()));
    }
}

/// Returns whether letters touch the number, and the range with those that belong to it: all before
/// it (A4), a unit behind it (5m).
fn word_around(text: &str, range: Range<usize>) -> (bool, Range<usize>) {
    let in_word = |c: &char| c.is_ascii_alphanumeric();
    let letters = text[..range.start].chars().rev().take_while(in_word).take(MOST_LETTERS);
    let before: usize = letters.map(char::len_utf8).sum();
    let behind: String = text[range.end..].chars().take_while(in_word).take(MOST_LETTERS).collect();
    let is_unit = behind.chars().any(|c| c.is_ascii_digit())
        || behind.len() <= 2
            && !text[range.end + behind.len()..].starts_with(is_in_word)
            && !ENDINGS.contains(&&*behind);
    let letters = before > 0 || is_unit && !behind.is_empty();
    let behind = if is_unit { behind.len() } else { 0 };
    (letters, range.start - before..range.end + behind)
}

impl Number {
    /// The ways to write it, of which a model may choose one: with a decimal comma or point, with
    /// digits of ASCII.
    pub(super) fn forms(&self) -> Vec<String> {
        let ascii: String = self.text.chars().map(|c| super::scan::digit(c).unwrap_or(c)).collect();
        let swap = |c: char| match c {
            '.' => ',',
            ',' | '٫' => '.',
            c => c,
        };
        let mut forms = vec![self.text.clone(), ascii.clone()];
        let is_time = self.values.iter().any(|value| value.contains(':'));
        match (self.kind, is_time) {
            (Kind::Sequence | Kind::Date, _) => {}
            (_, true) => forms.push(ascii.replace('.', ":")),
            (_, false) => forms.push(ascii.chars().map(swap).collect()),
        }
        forms.dedup();
        forms
    }
}
