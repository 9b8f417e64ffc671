//! Plurals in the categories of the target language, by Unicode's CLDR. An arm that a file lacks is
//! a copy of the arm for all other numbers; one that the language lacks is removed.

use std::collections::HashMap;

use burnformer_glossary::{PartKind, apply_edits, arms, parts};
use burnformer_text::find_language;

use crate::words::Span;

/// Languages with their categories for cardinal and for ordinal numbers, and the first two whole
/// numbers of each. `tests/fixtures/plurals.py` makes it.
const CATEGORIES: &str = include_str!("categories.tsv");
pub(crate) const NAMES: [&str; 6] = ["zero", "one", "two", "few", "many", "other"];

/// Plurals in more of them than these keep their arms, because each level multiplies the text.
pub(crate) const MULTIPLIED: usize = 2;

/// The categories of a language with their numbers: the cardinal ones, then the ordinal ones.
#[derive(Clone, Debug)]
pub(crate) struct Categories([HashMap<&'static str, &'static str>; 2]);

impl Categories {
    /// The categories of the language with this code; `None` if they are not known.
    pub(crate) fn of(language: &str) -> Option<Self> {
        let rows = || CATEGORIES.lines().filter_map(|row| row.split_once('\t'));
        let code = find_language(language, rows().map(|(code, _)| code)).ok()?;
        let rules = rows()
            .find(|(known, _)| *known == code)?
            .1
            .split_once('\t')?;
        Some(Self([rules.0, rules.1].map(|it: &'static str| {
            it.split(' ').filter_map(|it| it.split_once(':')).collect()
        })))
    }

    /// A number of the arm `name` of a plural, which is of ordinal numbers if `is_ordinal`.
    pub(crate) fn sample<'s>(&self, name: &'s str, is_ordinal: bool) -> Option<&'s str> {
        name.strip_prefix('=')
            .or_else(|| self.0[usize::from(is_ordinal)].get(name)?.split(',').next())
            .filter(|number| !number.is_empty())
    }
}

/// An arm of a plural.
#[derive(Clone, Debug)]
pub(crate) struct Arm {
    /// A category, or another condition.
    pub(crate) name: String,
    /// All its bytes, and those of its text.
    pub(crate) whole: Span,
    pub(crate) inner: Span,
    /// The bytes between it and an arm before it.
    pub(crate) separator: String,
}

impl Arm {
    /// An arm of the file `text`, with the white space before it.
    pub(crate) fn new(text: &str, name: &str, whole: Span, inner: Span) -> Self {
        let before = &text[..whole.start];
        let separator = before[before.trim_end().len()..].into();
        Self {
            name: name.into(),
            whole,
            inner,
            separator,
        }
    }

    /// Returns whether it is that of a category or of a number.
    pub(crate) fn is_of_number(&self) -> bool {
        NAMES.contains(&&*self.name) || self.name.parse::<f64>().is_ok()
    }

    /// Its bytes as the arm `name` before itself.
    fn copy(&self, text: &str, name: &str) -> Option<String> {
        let head = &text[self.whole.start..self.inner.start];
        let (before, after) = head.rsplit_once(&self.name)?;
        let before = before.replace("*[", " [");
        let rest = &text[self.inner.start..self.whole.end];
        Some([&before, name, after, rest, &self.separator].concat())
    }

    /// Its bytes with those that divide it from the next arm, or from the one before it.
    fn divided(&self, text: &str, is_before: bool) -> Span {
        let Span { start, end } = self.whole;
        if is_before {
            let rest = text[end..].trim_start();
            return start..text.len() - rest.strip_prefix(',').unwrap_or(rest).trim_start().len();
        }
        let before = text[..start].trim_end();
        before.len() - usize::from(self.separator.starts_with(','))..end
    }
}

/// A plural message in a file, with one arm per category.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plural {
    pub(crate) arms: Vec<Arm>,
    pub(crate) is_ordinal: bool,
    /// If true, the arm for zero is that of the number 0 in every language.
    pub(crate) has_zero: bool,
}

impl Plural {
    /// Parses `text` as an ICU plural; `None` if it is not one.
    pub(crate) fn of_message(text: &str) -> Option<Self> {
        let is_ordinal = match text.split(',').nth(1)?.trim() {
            "plural" => false,
            "selectordinal" => true,
            _ => return None,
        };
        Some(Self {
            arms: arms(text)
                .into_iter()
                .map(|[name, inner]: [Span; 2]| {
                    Arm::new(text, &text[name.clone()], name.start..inner.end + 1, inner)
                })
                .collect(),
            is_ordinal,
            has_zero: false,
        })
    }

    /// The changes to the file `text` that give it the categories of `target`.
    fn changes(&self, text: &str, target: &Categories) -> Option<Vec<(Span, String)>> {
        let find = |name: &str| self.arms.iter().find(|arm| arm.name == name);
        let rule = &target.0[usize::from(self.is_ordinal)];
        let other = find("other")?;
        let start = other.whole.start;
        let inner = &text[other.inner.clone()];
        let hidden = |it: &Arm| hides(&text[it.inner.clone()], inner);
        let first = |it: &Arm| text.as_bytes()[it.whole.start];
        let stays = |it: &Arm| self.has_zero && it.name == "zero" || first(it) == b'*';
        let mut all = Vec::new();
        for name in NAMES {
            match (find(name), rule.get(name)) {
                (None, Some(_)) => all.push((start..start, other.copy(text, name)?)),
                // The arm of one number cannot hide it where it is that of several.
                (Some(arm), Some(numbers)) if numbers.contains(',') && hidden(arm) => {
                    all.push((arm.inner.clone(), inner.to_owned()));
                }
                (Some(arm), None) if !stays(arm) => {
                    all.push((arm.divided(text, arm.whole.start < start), String::new()));
                }
                _ => {}
            }
        }
        Some(all).filter(|_| !rule.is_empty())
    }
}

/// `text` with its `plurals` in the categories of `target`, except for those in the arms of others
/// that change.
pub(crate) fn adapted(text: &str, plurals: &[Plural], target: &Categories) -> String {
    let changes = plurals
        .iter()
        .filter_map(|plural| plural.changes(text, target));
    let mut all: Vec<_> = changes.flatten().collect();
    all.sort_by_key(|(range, _)| (range.start, range.end));
    apply_edits(text, &all)
}

/// Returns whether the text of an arm lacks the number, or something else, that the `other` shows.
pub(crate) fn hides(text: &str, other: &str) -> bool {
    let count = |text: &str| {
        let parts = parts(text)
            .into_iter()
            .filter(|part| part.kind != PartKind::Number);
        parts.count() + text.matches('#').count()
    };
    count(text) < count(other)
}
