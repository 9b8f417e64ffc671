//! Numbers with all values that they may have in the notations of different languages.

use super::scan::{Group, runs};
use unicode_normalization::UnicodeNormalization;

use super::words::{DayHalf, Sign, Unit, day_half, month_beside, scale_word, sign, with_units};
use crate::words::{Span, is_in_word};

/// Maximum number of letters examined beside a number.
const MAX_LETTERS: usize = 20;

/// Endings of ordinal numbers and decades, which may be translated.
pub(super) const ENDINGS: [&str; 7] = ["st", "nd", "rd", "th", "er", "s", "e"];

/// A number, a date, a time, a ratio or a range.
#[derive(Clone, Debug)]
pub(super) struct Number {
    /// Byte range in the text, including the sign.
    pub range: Span,
    /// The text of `range` with the letters that belong to it.
    pub text: String,
    /// The possible values in canonical form: `1.234` is a fraction in English and a thousand in
    /// German.
    pub values: Vec<String>,
    /// The values of its parts, if there are several, or the denominator of a fraction.
    pub parts: Vec<String>,
    /// The units beside it.
    pub units: Vec<Unit>,
    pub kind: Kind,
    /// The month beside a day or year, with the byte range of its name.
    pub month: Option<(usize, Span)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// An integer that words may replace.
    Whole,
    /// A number that words may not replace: it has a sign, a fraction or adjacent letters.
    Exact,
    /// A date; its parts may be reordered.
    Date,
    /// A sign such as ½, alone or after an integer.
    Fraction,
    Sequence,
}

/// Returns the numbers of `text` from left to right. `joined` is as in [`runs`].
pub(super) fn numbers(text: &str, joined: bool) -> Vec<Number> {
    let runs = runs(text, joined).into_iter();
    let mut integers = runs
        .map(|(range, groups)| number(text, range, &groups))
        .peekable();
    let mut all: Vec<Number> = Vec::new();
    for (at, c) in text.char_indices().filter(|(_, c)| is_fraction(*c)) {
        while let Some(number) = integers.next_if(|number| number.range.end <= at) {
            all.push(number);
        }
        let whole = all.pop_if(|number| {
            let between = &text[number.range.end..at];
            number.kind == Kind::Whole && (between.is_empty() || between == " ")
        });
        let start = whole.map_or(at, |number| number.range.start);
        all.push(fraction(text, start, at..at + c.len_utf8()));
    }
    all.extend(integers);
    all
}

/// Returns whether `c` is a fraction by itself.
pub(super) fn is_fraction(c: char) -> bool {
    matches!(c, '¼'..='¾' | '⅐'..='⅞')
}

/// Returns the number that begins at `start`, perhaps with an integer, and ends with the fraction
/// `sign`.
fn fraction(text: &str, start: usize, sign: Span) -> Number {
    let whole = text[start..sign.start]
        .chars()
        .filter_map(super::scan::digit)
        .collect::<String>();
    let parts: String = text[sign.clone()].nfkc().collect();
    let (above, below) = parts.split_once('\u{2044}').unwrap_or_default();
    let thousandths = above.parse().map_or(0, |value: usize| value * 1000);
    let below_value = below.parse().unwrap_or(1);
    let mut values = vec![
        format!("{whole}:{above}:{below}")
            .trim_start_matches(':')
            .to_owned(),
    ];
    if thousandths % below_value == 0 {
        let whole = if whole.is_empty() { "0" } else { &whole };
        values.push(decimal(whole, &format!("{:03}", thousandths / below_value)));
    }
    let (wider, units) = with_units(text, start..sign.end);
    let range = start..sign.end;
    let parts = vec![below.into()];
    let kind = Kind::Fraction;
    Number {
        range,
        text: text[wider].into(),
        values,
        parts,
        units,
        kind,
        month: None,
    }
}

fn number(text: &str, range: Span, groups: &[Group]) -> Number {
    let items: Vec<&[Group]> = groups
        .chunk_by(|_, next| !is_between(next.separator))
        .collect();
    let before = &text[..range.start];
    let after = &text[range.end..];
    let (mut values, parts, mut kind) = values_and_parts(groups, &items);
    add_times(groups, after, &mut values);
    let powers = scale_word(after).1;
    if !powers.is_empty() {
        values = powers
            .iter()
            .flat_map(|&power| values.iter().map(move |value| scaled(value, power)))
            .collect();
    }
    let sign = if items.len() == 1 {
        sign(before)
    } else {
        Sign::None
    };
    add_sign(sign, &mut values);
    let start = range.start - sign_length(before, sign);
    let (has_letters, word) = word_around(text, start..range.end);
    let (wider, units) = with_units(text, start..range.end);
    let is_quantity = !units.is_empty() || !powers.is_empty() || day_half(after).is_some();
    if has_letters && !is_quantity {
        values = name_of_code(&text[word.clone()]).map_or(values, |name| vec![name]);
    }
    if kind == Kind::Whole && (has_letters || matches!(sign, Sign::Minus | Sign::Plus)) {
        kind = Kind::Exact;
    }
    let is_day_or_year = kind == Kind::Whole
        && values
            .first()
            .is_some_and(|value| matches!(value.parse(), Ok(1..=31 | 1000..2100)));
    let month = is_day_or_year.then(|| month_beside(text, &range)).flatten();
    let whole = word.start.min(wider.start)..word.end.max(wider.end);
    Number {
        range: start..range.end,
        text: text[whole].into(),
        values,
        parts,
        units,
        kind,
        month,
    }
}

/// Returns the possible values of a number without its sign, the values of its parts, and its kind.
/// `items` are its `groups`, divided where two numbers are joined.
fn values_and_parts(groups: &[Group], items: &[&[Group]]) -> (Vec<String>, Vec<String>, Kind) {
    let integers = || groups.iter().map(|group| integer(&group.digits));
    if is_date(groups) {
        let parts: Vec<String> = integers().collect();
        let mut sorted = parts.clone();
        sorted.sort();
        return (vec![sorted.join(":")], parts, Kind::Date);
    }
    let [item] = items else {
        let values = items.iter().map(|item| values_of(item));
        let parts: Vec<String> = values.filter_map(|all| all.into_iter().next()).collect();
        return (vec![joined(groups, &parts)], parts, Kind::Sequence);
    };
    let values = values_of(item);
    // Repeated marks of one kind that do not separate thousands: a version.
    if values.is_empty() {
        let parts: Vec<String> = integers().collect();
        return (vec![parts.join(":")], parts, Kind::Sequence);
    }
    let is_whole = item.len() == 1 && !item[0].digits.starts_with('0');
    let kind = if is_whole { Kind::Whole } else { Kind::Exact };
    (values, Vec::new(), kind)
}

/// Returns the number of bytes of `sign` at the end of `before`; 0 if it is a word.
fn sign_length(before: &str, sign: Sign) -> usize {
    let last = before.chars().next_back();
    let last = last.filter(|c| sign != Sign::None && !c.is_alphabetic() && !c.is_whitespace());
    last.map_or(0, char::len_utf8)
}

/// Returns the value of a number with letters if they make it a name: `A4`, or the number of a
/// house.
fn name_of_code(word: &str) -> Option<String> {
    if word.contains(|c: char| c.is_ascii_uppercase()) {
        return Some(word.into());
    }
    let is_house = word.starts_with(|c: char| c.is_ascii_digit()) && is_house_number(word);
    is_house.then(|| word.to_ascii_uppercase())
}

/// Returns the value of a sequence of `parts`. 7:05 differs from 7:5.
fn joined(groups: &[Group], parts: &[String]) -> String {
    let is_clock = groups[1..].iter().all(|group| group.separator == ':');
    let digits = groups[1..].iter().map(|group| &*group.digits);
    if is_clock {
        [&*parts[0]]
            .into_iter()
            .chain(digits)
            .collect::<Vec<_>>()
            .join(":")
    } else {
        parts.join(":")
    }
}

/// Prefixes `values` with `sign`. A word may instead join two numbers.
fn add_sign(sign: Sign, values: &mut Vec<String>) {
    let unsigned = if sign == Sign::PlusWord {
        values.clone()
    } else {
        Vec::new()
    };
    if sign != Sign::None {
        let sign = if sign == Sign::Minus { '-' } else { '+' };
        values.iter_mut().for_each(|value| value.insert(0, sign));
        values.extend(unsigned);
    }
}

/// Returns whether this separator joins two numbers.
pub(super) fn is_between(separator: char) -> bool {
    matches!(separator, ':' | '/' | '-')
}

/// Returns whether this is day, month and year in any order: `1.2.2003`, `2003-02-01`.
pub(super) fn is_date(groups: &[Group]) -> bool {
    let [first, second, third] = groups else {
        return false;
    };
    let lengths = [first, second, third].map(|group| group.digits.len());
    second.separator == third.separator
        && matches!(second.separator, '.' | '/' | '-')
        && matches!(lengths, [1 | 2, 1 | 2, 2 | 4] | [4, 1 | 2, 1 | 2])
}

/// Returns whether a number ends with a letter, as house numbers do (`12a`).
fn is_house_number(word: &str) -> bool {
    word.trim_end_matches(['a', 'b', 'c', 'd']).len() + 1 == word.len()
}

/// Returns the possible values of an unsigned number: with thousands separators, a fraction, or
/// both.
fn values_of(groups: &[Group]) -> Vec<String> {
    let [first, rest @ ..] = groups else {
        return Vec::new();
    };
    let Some((last, middle)) = rest.split_last() else {
        return vec![integer(&first.digits)];
    };
    let mark = last.separator;
    let mut values = Vec::new();
    let is_free = middle.iter().all(|group| group.separator != mark);
    let is_thousands = mark != '٫' && are_thousands(groups);
    let is_fraction = matches!(mark, '.' | ',' | '٫') && is_free;
    let none_but_zeros = is_thousands && last.digits == "000";
    if is_fraction && !none_but_zeros && are_thousands(&groups[..groups.len() - 1]) {
        let whole = integer_of(&groups[..groups.len() - 1]);
        values.push(decimal(&whole, &last.digits));
    }
    if is_thousands {
        values.push(integer_of(groups));
    }
    values
}

/// Returns the integer with the digits of all `groups`.
fn integer_of(groups: &[Group]) -> String {
    let digits: String = groups.iter().map(|group| &*group.digits).collect();
    integer(&digits)
}

/// Returns whether `groups` form one integer: 1 234 567, or 12,34,567 as in India.
pub(super) fn are_thousands(groups: &[Group]) -> bool {
    let [first, rest @ ..] = groups else {
        return false;
    };
    let Some((last, middle)) = rest.split_last() else {
        return true;
    };
    let even = |width| middle.iter().all(|group| group.digits.len() == width);
    let alike = middle.iter().all(|group| group.separator == last.separator);
    alike
        && last.digits.len() == 3
        && (even(3) && first.digits.len() <= 3 || even(2) && first.digits.len() <= 2)
        && !first.digits.starts_with('0')
}

/// Returns an integer in canonical form. Leading zeros of a long one mark an identifier.
pub(super) fn integer(digits: &str) -> String {
    let value = digits.trim_start_matches('0');
    match value.is_empty() {
        _ if digits.len() > 2 && digits.starts_with('0') => digits.into(),
        true => "0".into(),
        false => value.into(),
    }
}

pub(super) fn decimal(whole: &str, fraction: &str) -> String {
    match fraction.trim_end_matches('0') {
        "" => whole.into(),
        fraction => format!("{whole}.{fraction}"),
    }
}

/// Multiplies `value` by ten to the power of `by`.
fn scaled(value: &str, by: usize) -> String {
    let (whole, fraction) = value.split_once('.').unwrap_or((value, ""));
    let moved = fraction.len().min(by);
    let digits = format!("{whole}{}{}", &fraction[..moved], "0".repeat(by - moved));
    decimal(&integer(&digits), &fraction[moved..])
}

/// Adds other notations of a time: 2.30 Uhr is 2:30, 2:30 p.m. is 14:30, and 14:00 is 14.
fn add_times(groups: &[Group], after: &str, values: &mut Vec<String>) {
    let [hour, rest @ ..] = groups else { return };
    let minute = match rest {
        [] => "00",
        [minute] if minute.digits.len() == 2 && matches!(minute.separator, ':' | '.') => {
            &*minute.digits
        }
        _ => return,
    };
    let is_time = rest.first().is_some_and(|minute| minute.separator == ':');
    let Some(hour) = hour.digits.parse().ok().filter(|&hour: &u32| hour <= 24) else {
        return;
    };
    let half = day_half(after);
    if !is_time && half.is_none() {
        return;
    }
    let later = (half == Some(DayHalf::Afternoon) && hour < 12).then_some(hour + 12);
    for hour in [Some(hour), later].into_iter().flatten() {
        values.push(format!("{hour}:{minute}"));
        values.extend((minute == "00").then(|| hour.to_string()));
    }
}

/// Returns whether letters touch the number, and its range with letters that belong to it: all
/// letters before it (A4), a unit after it (5m).
fn word_around(text: &str, range: Span) -> (bool, Span) {
    let letters = text[..range.start]
        .chars()
        .rev()
        .take_while(char::is_ascii_alphanumeric)
        .take(MAX_LETTERS);
    let before = match letters.map(char::len_utf8).sum() {
        0 => capitals_before(&text[..range.start]),
        before => before,
    };
    let suffix: String = text[range.end..]
        .chars()
        .take_while(char::is_ascii_alphanumeric)
        .take(MAX_LETTERS)
        .collect();
    let is_unit = suffix.chars().any(|c| c.is_ascii_digit())
        || suffix.len() <= 2
            && !text[range.end + suffix.len()..].starts_with(is_in_word)
            && !ENDINGS.contains(&&*suffix.to_lowercase());
    let letters = before > 0 || is_unit && !suffix.is_empty();
    let suffix = if is_unit { suffix.len() } else { 0 };
    (letters, range.start - before..range.end + suffix)
}

/// Returns the length in bytes of the capitals and the hyphen at the end of `before`, as in
/// COVID-19.
fn capitals_before(before: &str) -> usize {
    let rest = before.strip_suffix('-').unwrap_or_default();
    let name = rest.trim_end_matches(|c: char| c.is_ascii_uppercase());
    match rest.len() - name.len() {
        length @ 1..=MAX_LETTERS if !name.ends_with(is_in_word) => length + 1,
        _ => 0,
    }
}

impl Number {
    /// Returns other forms that a model may write: with a decimal comma or point, or with ASCII
    /// digits.
    pub(super) fn forms(&self) -> Vec<String> {
        let ascii: String = self
            .text
            .chars()
            .map(|c| super::scan::digit(c).unwrap_or(c))
            .collect();
        let mut forms = vec![self.text.clone(), ascii.clone()];
        let is_time = self.values.iter().any(|value| value.contains(':'));
        match (self.kind, is_time) {
            (Kind::Sequence | Kind::Date, _) => {}
            (_, true) => forms.push(ascii.replace('.', ":")),
            (_, false) => forms.push(
                ascii
                    .chars()
                    .map(|c: char| match c {
                        '.' => ',',
                        ',' | '٫' => '.',
                        c => c,
                    })
                    .collect(),
            ),
        }
        forms.dedup();
        forms
    }
}
