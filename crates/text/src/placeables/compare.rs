//! Compares the values of the numbers in a source and its translation.

use std::collections::{BTreeSet, HashMap};

use super::number::{Kind, Number, numbers};
use super::words::{NumberWords, Unit, has_month, has_percent, has_unit};

/// Returns whether `translation` and `source` contain the same number values equally often.
///
/// Values are compared, not digits: 1.234,5 equals 1,234.5 and ١٢٣٤٫٥, 7.8 billion equals 7,8
/// Milliarden, 14:30 equals 2:30 p.m. Words may stand for integers up to twelve, and numbers for
/// words. A number that is a fraction in one language and an integer in another may be either. A
/// source without digits is not compared.
pub fn numbers_stay(source: &str, translation: &str) -> bool {
    [true, false].iter().any(|&joined| {
        let sides = [source, translation].map(|text| numbers(text, joined));
        sides[0].is_empty() || stay(sides, [source, translation])
    })
}

fn stay(sides: [Vec<Number>; 2], texts: [&str; 2]) -> bool {
    if !signs_stay(&sides, texts) {
        return false;
    }
    let months = sides
        .concat()
        .into_iter()
        .filter_map(|number| Some(number.month?.0 + 1));
    let months: BTreeSet<String> = months.map(|month| month.to_string()).collect();
    let [missing, extra] = unmatched(sides);
    // 3:2 is not 2:3.
    if has_kind(&missing, Kind::Sequence) && has_kind(&extra, Kind::Sequence) {
        return false;
    }
    let has_date = has_kind(&missing, Kind::Date) || has_kind(&extra, Kind::Date);
    let [missing, extra] = unmatched([missing, extra].map(flat));
    let after = (!missing.is_empty()).then(|| NumberWords::new(texts[1]));
    let before = (!extra.is_empty()).then(|| NumberWords::new(texts[0]));
    let lost = missing
        .iter()
        .filter(|number| !number.is_spelled(after.as_ref(), false));
    let new = extra
        .iter()
        .filter(|number| !number.is_spelled(before.as_ref(), true));
    let rest: Vec<&Number> = lost.chain(new).collect();
    // One side may name the month.
    let is_month =
        |number: &Number| has_date && number.is_small() || months.contains(&number.values[0]);
    rest.is_empty() || rest.len() == 1 && is_month(rest[0])
}

fn has_kind(numbers: &[Number], kind: Kind) -> bool {
    numbers.iter().any(|number| number.kind == kind)
}

/// Returns whether the translation keeps the units and months beside the source's numbers.
fn signs_stay(sides: &[Vec<Number>; 2], [source, translation]: [&str; 2]) -> bool {
    let units: BTreeSet<Unit> = sides[0]
        .iter()
        .flat_map(|number| number.units.iter().copied())
        .collect();
    let lower = translation.to_lowercase();
    if has_percent(source, &source.to_lowercase()) && !has_percent(translation, &lower) {
        return false;
    }
    let months = sides[0]
        .iter()
        .filter_map(|number| Some(number.month.as_ref()?.0));
    let months: BTreeSet<usize> = months.collect();
    units
        .into_iter()
        .all(|unit| has_unit(translation, &lower, unit))
        && months
            .into_iter()
            .all(|month| has_month(translation, month) || has_date(&sides[1], month))
}

/// Returns whether one of `numbers` is a date in this month, counted from 0.
fn has_date(numbers: &[Number], month: usize) -> bool {
    let mut dates = numbers.iter().filter(|number| number.kind == Kind::Date);
    dates.any(|date| date.parts.contains(&(month + 1).to_string()))
}

/// Returns the numbers of each side without a partner of equal value on the other.
fn unmatched([source, translation]: [Vec<Number>; 2]) -> [Vec<Number>; 2] {
    let mut by_value: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, number) in translation.iter().enumerate().rev() {
        number
            .values
            .iter()
            .for_each(|value| by_value.entry(value).or_default().push(index));
    }
    let mut used = vec![false; translation.len()];
    let mut partner = |value: &String| {
        let indices = by_value.get_mut(&**value)?;
        while let Some(index) = indices.pop() {
            if !std::mem::replace(&mut used[index], true) {
                return Some(index);
            }
        }
        None
    };
    let missing = source
        .into_iter()
        .filter(|number: &Number| !number.values.iter().any(|value| partner(value).is_some()))
        .collect();
    let mut used = used.into_iter();
    let extra = translation
        .iter()
        .filter(|_| used.next() == Some(false))
        .cloned()
        .collect();
    [missing, extra]
}

/// Splits dates, times and ranges into their numbers, which have only values.
fn flat(all: Vec<Number>) -> Vec<Number> {
    all.into_iter()
        .flat_map(|number: Number| {
            if number.parts.is_empty() || number.kind == Kind::Fraction {
                vec![number]
            } else {
                number
                    .parts
                    .iter()
                    .map(|value: &String| Number {
                        range: number.range.clone(),
                        text: String::new(),
                        values: vec![value.clone()],
                        parts: Vec::new(),
                        units: Vec::new(),
                        kind: Kind::Whole,
                        month: None,
                    })
                    .collect()
            }
        })
        .collect()
}

impl Number {
    /// Returns whether the number is an integer up to 12.
    fn is_small(&self) -> bool {
        self.kind == Kind::Whole && self.values[0].parse().is_ok_and(|value: u64| value <= 12)
    }

    /// Returns whether one of `words` stands for the number. `large` is as in [`NumberWords::has`].
    pub(super) fn is_spelled(&self, words: Option<&NumberWords>, large: bool) -> bool {
        words.is_some_and(|words: &NumberWords| match self.kind {
            Kind::Whole => words.has(&self.values[0], large),
            Kind::Fraction => {
                self.parts[0] == "2" && words.half || words.has(&self.parts[0], false)
            }
            Kind::Exact | Kind::Date | Kind::Sequence => false,
        })
    }
}
