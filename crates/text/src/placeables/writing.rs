//! Decimal marks and thousands separators in each language.

use std::collections::{HashMap, HashSet};

use crate::find_language;

use super::number::{are_thousands, decimal, integer, is_between, is_date, numbers};
use super::ordinals;
use super::parts::verbatim;
use super::scan::{Group, plain, runs};
use super::words::{is_label, is_unit, language_of_months, month_name, scale_name, scale_word};
use crate::words::{Mark, Span, is_letter, is_unspaced, mark, overlaps};

/// Decimal mark and thousands separator of the languages on each line of [`LANGUAGES`]. From CLDR
/// 48, for ASCII digits.
const MARKS: [(char, char); 6] = [
    ('.', ','),
    (',', '.'),
    (',', '\u{a0}'),
    (',', '\u{202f}'),
    ('.', '’'),
    ('.', '\u{a0}'),
];
const LANGUAGES: &str = include_str!("marks.txt");
/// Languages that group the digits before the last three in pairs.
const PAIRS: &str = "hi bn ta te mr gu pa ne ml or as dz en-in";

/// A fraction of this many digits is not part of a version number.
const MIN_LONG_FRACTION: usize = 4;
/// Maximum number of bytes in a word between two amounts, such as "and".
const MAX_JOINING: usize = 8;

/// The number formats of the source and target language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Writing {
    from: Marks,
    into: Marks,
    /// The languages used to name months, millions and the like.
    names: Option<[usize; 2]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Marks {
    decimal: char,
    group: char,
    has_pairs: bool,
}

fn has_code(list: &str, code: &str) -> bool {
    list.split_whitespace().any(|known| known == code)
}

/// Returns the code of [`LANGUAGES`] that `code` refers to.
fn known_code(code: &str) -> Option<&'static str> {
    find_language(code, LANGUAGES.split_whitespace()).ok()
}

impl Marks {
    /// Returns the format of a language or its region, by its code in [`LANGUAGES`].
    fn of(code: &str) -> Option<Self> {
        let (decimal, group) = MARKS[LANGUAGES.lines().position(|list| has_code(list, code))?];
        Some(Self {
            decimal,
            group,
            has_pairs: has_code(PAIRS, code),
        })
    }

    /// Parses `groups` as a number; `None` if the language does not write it like this.
    fn read(&self, groups: &[Group]) -> Option<Amount> {
        let last = groups
            .last()
            .filter(|last| groups.len() > 1 && last.separator == self.decimal);
        let whole = &groups[..groups.len() - usize::from(last.is_some())];
        let group = plain(self.group);
        let digits: String = whole.iter().map(|group| &*group.digits).collect();
        let has_zero = digits.len() > 1 && digits.starts_with('0');
        let has_groups = whole[1..]
            .iter()
            .all(|next| next.separator == group || next.separator == '\'');
        let is_right = !has_zero && has_groups && are_thousands(whole);
        let fraction = last.map(|group| group.digits.clone());
        is_right.then_some(Amount {
            digits,
            fraction,
            is_grouped: whole.len() > 1,
        })
    }

    fn write(&self, amount: &Amount, is_grouped: bool) -> String {
        let digits = &amount.digits;
        let mut text = String::new();
        for (at, digit) in digits.char_indices() {
            let left = digits.len() - at;
            let ends_group = if self.has_pairs {
                left == 3 || left > 3 && left % 2 == 1
            } else {
                left.is_multiple_of(3)
            };
            if is_grouped && at > 0 && ends_group {
                text.push(self.group);
            }
            text.push(digit);
        }
        if let Some(fraction) = &amount.fraction {
            text.push(self.decimal);
            text.push_str(fraction);
        }
        text
    }
}

/// A number that counts or measures something.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Amount {
    digits: String,
    fraction: Option<String>,
    is_grouped: bool,
}

impl Amount {
    fn value(&self) -> String {
        decimal(
            &integer(&self.digits),
            self.fraction.as_deref().unwrap_or_default(),
        )
    }
}

/// A sequence of digits with separators, which may be one side of a range.
struct Item<'a> {
    range: Span,
    /// The whole range, if this is one side.
    run: Span,
    text: &'a str,
    groups: Vec<Group>,
    /// If true, it is not inside a date, time, version or address.
    is_alone: bool,
}

impl Writing {
    /// Returns the number formats of two languages, given by their codes (`de`, `deu`, `pt-BR`).
    /// Returns `None` if a code is unknown or both formats are equal.
    pub fn between(from: &str, into: &str) -> Option<Self> {
        let from = known_code(from)?;
        let into = known_code(into)?;
        let names = match [from, into].map(language_of_months) {
            [Some(from), Some(into)] if from != into => Some([from, into]),
            _ => None,
        };
        let from = Marks::of(from)?;
        let into = Marks::of(into)?;
        (from != into || names.is_some()).then_some(Self { from, into, names })
    }

    /// Returns edits that write the amounts in `translation` in the format of the target language,
    /// with the months, millions and similar words beside them, and ordinal numbers: byte ranges in
    /// order, with their replacements. An amount is a number that counts or measures something in
    /// `source`. Dates, times, versions and other identifiers stay unchanged, and so do uncertain
    /// numbers.
    pub fn changes(&self, source: &str, translation: &str) -> Vec<(Span, String)> {
        let mut all = self.amounts(source, translation);
        if let Some([from, into]) = self.names {
            let months = numbers(translation, false)
                .into_iter()
                .filter_map(|number| number.month);
            for (month, range) in months {
                let word = translation[range.clone()].to_lowercase();
                if word == month_name(month, from).to_lowercase() {
                    all.push((range, month_name(month, into).into()));
                }
            }
            all.extend(scale_changes(source, translation, [from, into]));
            all.extend(ordinals::changes(source, translation, [from, into]));
            all.sort_by_key(|(range, _)| range.start);
            all.dedup_by_key(|(range, _)| range.start);
            all.retain(|(range, new)| translation[range.clone()] != *new);
        }
        all
    }

    fn amounts(&self, source: &str, translation: &str) -> Vec<(Span, String)> {
        let mut amounts = HashMap::<String, Vec<Amount>>::new();
        let mut others = HashMap::new();
        let items_of_source = items(source);
        for (index, item) in items_of_source.iter().enumerate() {
            let next = items_of_source.get(index + 1);
            let is_amount = self.is_amount(source, item, next);
            match self.from.read(&item.groups).filter(|_| is_amount) {
                Some(amount) => amounts.entry(amount.value()).or_default().push(amount),
                None => _ = others.insert(digits(&item.groups), item.text),
            }
        }
        let swapped = Marks {
            decimal: self.into.group,
            group: self.into.decimal,
            ..self.into
        };
        let change = |Item {
                          range,
                          text,
                          groups,
                          ..
                      }: Item<'_>| {
            if groups.len() == 1 {
                return None;
            }
            // A number that is not an amount in the source keeps its marks.
            if let Some(&other) = others.get(&digits(&groups)) {
                let is_other = other != text
                    && groups[1..]
                        .iter()
                        .all(|group: &Group| matches!(group.separator, '.' | ',' | '\''));
                return is_other.then(|| (range, other.to_owned()));
            }
            let known = |marks: &Marks| {
                let amount = marks.read(&groups)?;
                Some((amounts.get(&amount.value())?, amount))
            };
            let is_copy = |(_, amount): &(_, Amount)| {
                self.from.read(&groups).is_some_and(|copy| {
                    copy.value() != amount.value() && amounts.contains_key(&copy.value())
                })
            };
            if let Some((theirs, amount)) = known(&self.into).filter(|found| !is_copy(found)) {
                let is_one = theirs.iter().any(|it| it.fraction == amount.fraction);
                let fraction = if is_one || amount.fraction.is_none() {
                    amount.fraction.clone()
                } else {
                    theirs[0].fraction.clone()
                };
                let right = self
                    .into
                    .write(&Amount { fraction, ..amount }, amount.is_grouped);
                let is_right = right.chars().map(plain).eq(text.chars().map(plain));
                return (!is_right).then_some((range, right));
            }
            let (theirs, amount) = [self.from, swapped].iter().find_map(known)?;
            let is_grouped = amount.is_grouped || theirs.iter().any(|other| other.is_grouped);
            Some((range, self.into.write(&amount, is_grouped)))
        };
        items(translation).into_iter().filter_map(change).collect()
    }

    /// Returns whether `item` of `text`, followed by `next`, certainly counts or measures
    /// something.
    fn is_amount(&self, text: &str, item: &Item<'_>, next: Option<&Item<'_>>) -> bool {
        let before = &text[..item.run.start];
        let after = &text[item.run.end..];
        if !item.is_alone || before.ends_with(is_word) || is_label(before) {
            return false;
        }
        let is_unit = is_unit(after) || !scale_word(after).1.is_empty();
        if after.starts_with(is_word) && !is_unit {
            return false;
        }
        let is_in_brackets = before.ends_with(|c| mark(c) == Mark::Open)
            && after.starts_with(|c| mark(c) == Mark::Close);
        // A point may separate the parts of a version or title.
        let has_point = item.groups.len() == 2
            && item.groups[1].separator == '.'
            && item.groups[1].digits.len() < MIN_LONG_FRACTION;
        let is_plain = !(is_in_brackets || has_point && self.from.decimal == '.');
        is_plain
            || is_unit
            || next.is_some_and(|next| self.is_joined(text, item, next))
            || before.trim_end().ends_with(|c| "$€£¥₹₩₽".contains(c))
    }

    /// Returns whether a short word joins `item` of `text` to the amount `next`, as in "between 0.5
    /// and 1.5 metres".
    fn is_joined(&self, text: &str, item: &Item<'_>, next: &Item<'_>) -> bool {
        let between = text
            .get(item.run.end..next.run.start)
            .unwrap_or_default()
            .trim();
        let is_word = (1..MAX_JOINING).contains(&between.len())
            && between.chars().all(|c| is_letter(c) && !c.is_uppercase());
        is_word && self.is_amount(text, next, None)
    }
}

/// Returns whether `c` belongs to a word or an identifier.
fn is_word(c: char) -> bool {
    is_letter(c) && !is_unspaced(c) || "_#§@\\".contains(c)
}

/// Returns the multiplier word after the number `run` of `text`, with its powers of ten.
fn scale_after(text: &str, run: &Span) -> Option<(Span, Vec<usize>)> {
    let (word, powers) = scale_word(&text[run.end..]);
    (!powers.is_empty()).then_some((run.end + word.start..run.end + word.end, powers))
}

/// Returns edits that translate multiplier words copied from `source` to `translation`.
fn scale_changes(source: &str, translation: &str, languages: [usize; 2]) -> Vec<(Span, String)> {
    let known: HashSet<&str> = runs(source, true)
        .into_iter()
        .filter_map(|(run, _)| scale_after(source, &run).map(|(word, _)| &source[word]))
        .collect();
    runs(translation, true)
        .into_iter()
        .filter_map(|(run, _): (Span, _)| {
            let (word, powers) = scale_after(translation, &run)?;
            let new = scale_name(&powers, &translation[run], languages)?;
            let is_copied = known.contains(&translation[word.clone()]);
            (is_copied && translation[word.clone()] != *new).then_some((word, new))
        })
        .collect()
}

/// Returns the digits of all `groups`.
fn digits(groups: &[Group]) -> String {
    groups.iter().map(|group| &*group.digits).collect()
}

/// Applies `changes` to `text`, except changes that overlap an earlier one.
pub fn apply_edits(text: &str, changes: &[(Span, String)]) -> String {
    let mut all = String::new();
    let mut at = 0;
    for (range, new) in changes {
        if range.start < at {
            continue;
        }
        all.extend([&text[at..range.start], new]);
        at = range.end;
    }
    all + &text[at..]
}

/// Returns the numbers of `text` and the sides of its ranges, outside of addresses and
/// placeholders.
fn items(text: &str) -> Vec<Item<'_>> {
    let kept = verbatim(text);
    let mut all = Vec::new();
    for (run, groups) in runs(text, true)
        .into_iter()
        .filter(|(run, _)| !overlaps(&kept, run))
    {
        // No time has thousands separators, but a ratio may: 1:10,000.
        let sides = groups.chunk_by(|_, next| next.separator != ':');
        let is_ratio = sides
            .into_iter()
            .any(|side| side.len() > 1 && are_thousands(side));
        let divides = |c: char| plain(c) == '-' || is_ratio && plain(c) == ':';
        let is_alone = !is_date(&groups)
            && !is_address(&groups)
            && groups[1..]
                .iter()
                .all(|it| !is_between(it.separator) || divides(it.separator));
        let mut start = run.start;
        for side in text[run.clone()].split(divides) {
            let range = start..start + side.len();
            start = range.end + text[range.end..].chars().next().map_or(0, char::len_utf8);
            let groups = runs(side, true)
                .into_iter()
                .next()
                .map(|(_, groups)| groups);
            all.extend(groups.map(|groups| Item {
                text: &text[range.clone()],
                run: run.clone(),
                range,
                groups,
                is_alone,
            }));
        }
    }
    all
}

/// Returns whether `groups` are an IPv4 address.
fn is_address(groups: &[Group]) -> bool {
    groups.len() == 4
        && groups[1..].iter().all(|next| next.separator == '.')
        && groups
            .iter()
            .all(|it: &Group| it.digits.parse::<u8>().is_ok() && !it.digits.starts_with("00"))
}
