//! The grammars of placeholders that a message can name, and the order of their arguments.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::LazyLock;

use regex::Regex;

use super::blank;
use super::java;
use super::parts::{Part, PartKind, parts};
use super::writing::apply_edits;
use crate::words::{Span, overlaps};

/// The grammars that gettext's flags name.
const GRAMMARS: &str = include_str!("grammars.tsv");

/// The arguments of a text without a known grammar: of printf, Python and Rust.
const GENERAL: &str = concat!(
    r"%[#0+\-]*(?:\d+|\*)?(?:\.(?:\d+|\*))?(?:hh|h|ll|l|z|q|j|t)?(?:[diouxXeEfFgGaAcCsSprv](?-u:\b)|@)",
    r"|\{(?:![rsa])?(?::[^{}]*)?\}",
);
/// Fields of a date that no printf has. Their order belongs to the language.
static DATE: LazyLock<Regex> = LazyLock::new(|| regex(r"%[-_0^#]?[BHIMYZbhjkmy](?-u:\b)"));

/// How the placeholders of a message are written. The default is a text without a known grammar, in
/// which all common placeholders are found.
#[derive(Clone, Copy, Default)]
pub struct Grammar {
    rules: Option<&'static Rules>,
    /// If true, arguments keep their order although they could get numbers.
    is_ordered: bool,
}

impl fmt::Debug for Grammar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.flags())
    }
}

impl PartialEq for Grammar {
    fn eq(&self, other: &Self) -> bool {
        (self.flags(), self.is_ordered) == (other.flags(), other.is_ordered)
    }
}

impl Eq for Grammar {}

struct Rules {
    flags: &'static str,
    numbering: Numbering,
    /// Signs that are doubled to be text.
    signs: &'static str,
    /// Any placeholder, and one at the start of a text.
    placeholder: Regex,
    at_start: Regex,
    /// A placeholder that takes the next argument.
    argument: Regex,
}

/// How a placeholder gets the number of its argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Numbering {
    /// Not at all.
    None,
    /// `%2$s`.
    Dollar,
    /// `%2$s` and `%|2$s|`.
    Boost,
    /// `%1:s`, counted from 0.
    Colon,
    /// `%[2]s`.
    Bracket,
    /// `{1:x}`, counted from 0.
    Brace,
    /// `~1@*~a`, counted from 0.
    Tilde,
}

static RULES: LazyLock<Vec<Rules>> = LazyLock::new(|| {
    let lines = GRAMMARS.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(Rules::of_line).collect()
});
static GENERAL_ARGUMENT: LazyLock<Regex> = LazyLock::new(|| regex(GENERAL));

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a valid pattern")
}

impl Rules {
    fn of_line(line: &'static str) -> Option<Self> {
        let mut fields = line.split('\t');
        let flags = fields.next()?;
        let numbering = Numbering::named(fields.next()?);
        let signs = fields.next()?;
        let fixed = fields.next()?;
        let argument = fields.next().filter(|pattern| !pattern.is_empty());
        let all: Vec<&str> = [fixed].into_iter().chain(argument).collect();
        Some(Self {
            flags,
            numbering,
            signs,
            placeholder: regex(&all.join("|")),
            at_start: regex(&format!("^(?:{})", all.join("|"))),
            // Without a pattern, nothing takes the next argument.
            argument: regex(&format!("^(?:{})$", argument.unwrap_or(r"\z."))),
        })
    }
}

impl Numbering {
    fn named(name: &str) -> Self {
        match name {
            "dollar" => Self::Dollar,
            "boost" => Self::Boost,
            "colon" => Self::Colon,
            "bracket" => Self::Bracket,
            "brace" => Self::Brace,
            "tilde" => Self::Tilde,
            _ => Self::None,
        }
    }

    /// Returns `placeholder` with the number of its argument, `index` counted from 0.
    fn write(self, placeholder: &str, index: usize) -> String {
        let rest = &placeholder[1..];
        let number = index + 1;
        match self {
            Self::None => placeholder.into(),
            Self::Boost if rest.starts_with('|') => format!("%|{number}${}", &rest[1..]),
            Self::Dollar | Self::Boost => format!("%{number}${rest}"),
            Self::Colon => format!("%{index}:{rest}"),
            Self::Brace => format!("{{{index}{rest}"),
            Self::Tilde => format!("~{index}@*{placeholder}"),
            Self::Bracket => {
                let (before, verb) = placeholder.split_at(placeholder.len() - 1);
                format!("{before}[{number}]{verb}")
            }
        }
    }

    /// Returns whether `placeholder` cannot get a number: it takes two arguments, refers to the one
    /// before it, or encloses others.
    fn excludes(self, placeholder: &str) -> bool {
        let excluded = match self {
            Self::None => return true,
            Self::Tilde => "vV#(){}[];^<>*",
            _ => "*",
        };
        let refers_back = placeholder.starts_with("%<") && !placeholder.ends_with('>');
        refers_back || placeholder.contains(|c| excluded.contains(c))
    }
}

impl Grammar {
    fn flags(&self) -> &'static str {
        self.rules.map_or("", |rules| rules.flags)
    }

    /// Returns the grammar that this flag of a gettext message names, such as `c-format`.
    pub fn of_flag(flag: &str) -> Option<Self> {
        let mut all = RULES.iter();
        let rules = Some(all.find(|rules| rules.flags.split(' ').any(|known| known == flag))?);
        Some(Self {
            rules,
            is_ordered: false,
        })
    }

    /// Returns the grammar for the sentences of `message`: their arguments may change their order
    /// only if all arguments of the message can get numbers.
    pub fn for_message(self, message: &str) -> Self {
        Self {
            is_ordered: !self.can_number(message),
            ..self
        }
    }

    /// Returns the parts of `text` that its translation must keep, with the placeholders of this
    /// grammar. A placeholder within an address belongs to it.
    pub fn parts(self, text: &str) -> Vec<Part> {
        let Some(rules) = self.rules else {
            return parts(text);
        };
        let others = parts(text);
        let found = rules.placeholder.find_iter(text).map(|found| found.range());
        let own: Vec<Span> = found
            .filter(|range| {
                let next = others.partition_point(|part| part.range.end < range.end);
                !others.get(next).is_some_and(|Part { range: outer, .. }| {
                    let is_wider = outer.start <= range.start && range.len() < outer.len();
                    is_wider && !text[outer.clone()].starts_with(|c| rules.signs.contains(c))
                })
            })
            .collect();
        let mut all: Vec<Part> = others
            .into_iter()
            .filter(|part| !overlaps(&own, &part.range))
            .collect();
        all.extend(own.into_iter().map(|range| Part {
            range,
            kind: PartKind::Verbatim,
        }));
        all.sort_by_key(|part| part.range.start);
        all
    }

    /// Returns the ranges of the placeholders in `text` that take the next argument.
    pub fn arguments(self, text: &str) -> Vec<Span> {
        let Some(rules) = self.rules else {
            let is_date = text.contains('%') && DATE.is_match(text);
            let all = GENERAL_ARGUMENT.find_iter(text).filter(|_| !is_date);
            return all.map(|found| found.range()).collect();
        };
        rules.arguments(text)
    }

    /// Returns whether the arguments of `source` may change their order, because they can get
    /// numbers.
    pub fn can_number(self, source: &str) -> bool {
        self.rules
            .filter(|_| !self.is_ordered)
            .is_some_and(|rules| {
                let mut all = rules.placeholder.find_iter(source);
                all.all(|found| {
                    let text = found.as_str();
                    !rules.argument.is_match(text) || !rules.numbering.excludes(text)
                })
            })
    }

    /// Returns whether `translation` takes the arguments of `source` in their order.
    pub fn keeps_order(self, source: &str, translation: &str) -> bool {
        let [source, translation] = [source, translation].map(|text| {
            let all = self.arguments(text).into_iter();
            all.map(|range| &text[range]).collect::<Vec<_>>()
        });
        source == translation
    }

    /// Returns the text of `message` as its program shows it. Only patterns of Java's MessageFormat
    /// differ, where an apostrophe is written twice.
    pub fn shown(self, message: &str) -> Cow<'_, str> {
        let pattern = self.is_message_format().then_some(message);
        match pattern.and_then(java::shown) {
            Some(text) => Cow::Owned(text),
            None => Cow::Borrowed(message),
        }
    }

    fn is_message_format(self) -> bool {
        self.flags() == "java-format"
    }

    /// Returns `translation`, a translation of the whole message `source`, as its program reads it:
    /// arguments in another order have numbers, and other signs of the grammar are text. `order`,
    /// if known, has the index in `source` of each argument in the translation. Without it, equal
    /// arguments are in the order of the source.
    pub fn written(self, source: &str, translation: String, order: Option<&[usize]>) -> String {
        if self.is_message_format() {
            return java::pattern(source, translation);
        }
        let Some(rules) = self
            .rules
            .filter(|rules| rules.placeholder.is_match(source))
        else {
            return translation;
        };
        let mut edits = Vec::new();
        let is_moved = order.is_some_and(|order| !order.is_sorted());
        if (is_moved || !self.keeps_order(source, &translation)) && self.can_number(source) {
            let known = order.and_then(|order| rules.numbers_in(order, source, &translation));
            edits = known.unwrap_or_else(|| rules.numbers(source, &translation));
        }
        edits.extend(rules.stray_signs(source, &translation));
        edits.sort_by_key(|(range, _): &(Span, String)| (range.start, range.end));
        apply_edits(&translation, &edits)
    }
}

impl Rules {
    /// Returns the ranges of the placeholders in `text` that take the next argument.
    fn arguments(&self, text: &str) -> Vec<Span> {
        let all = self.placeholder.find_iter(text);
        all.filter(|found| self.argument.is_match(found.as_str()))
            .map(|found| found.range())
            .collect()
    }

    /// Returns the edits that number the arguments in `translation` by `order`, their indices in
    /// `source`; `None` if the two have other arguments.
    fn numbers_in(
        &self,
        order: &[usize],
        source: &str,
        translation: &str,
    ) -> Option<Vec<(Span, String)>> {
        let source_arguments = self.arguments(source);
        let translation_arguments = self.arguments(translation);
        if source_arguments.len() != order.len() || translation_arguments.len() != order.len() {
            return None;
        }
        let edits = translation_arguments
            .into_iter()
            .zip(order)
            .map(|(range, &index)| {
                let text = &translation[range.clone()];
                let is_same = source.get(source_arguments.get(index)?.clone()) == Some(text);
                is_same.then(|| (range, self.numbering.write(text, index)))
            });
        edits.collect()
    }

    /// Returns the edits that give the arguments in `translation` their numbers in `source`; none
    /// if the two have other arguments.
    fn numbers(&self, source: &str, translation: &str) -> Vec<(Span, String)> {
        let mut source_indices: HashMap<&str, Vec<usize>> = HashMap::new();
        for (index, range) in self.arguments(source).into_iter().enumerate() {
            source_indices
                .entry(&source[range])
                .or_default()
                .push(index);
        }
        source_indices
            .values_mut()
            .for_each(|indices| indices.reverse());
        let all = self.arguments(translation).into_iter();
        let edits: Option<Vec<_>> = all
            .map(|range| {
                let text = &translation[range.clone()];
                let index = source_indices.get_mut(text)?.pop()?;
                Some((range, self.numbering.write(text, index)))
            })
            .collect();
        edits
            .filter(|_| source_indices.values().all(Vec::is_empty))
            .unwrap_or_default()
    }

    /// Returns the edits that double the signs of `translation` that would begin a placeholder
    /// which `source` lacks. A source with such signs is not in this grammar.
    fn stray_signs(&self, source: &str, translation: &str) -> Vec<(Span, String)> {
        let is_sign = |c: char| self.signs.contains(c);
        let mut source_counts: HashMap<&str, usize> = HashMap::new();
        let all: Vec<Span> = self
            .placeholder
            .find_iter(source)
            .map(|found| found.range())
            .collect();
        if blank(source, &all).contains(is_sign) {
            return Vec::new();
        }
        for range in all {
            *source_counts.entry(&source[range]).or_default() += 1;
        }
        let mut edits = Vec::new();
        let mut at = 0;
        while let Some(start) = translation[at..].find(is_sign).map(|start| at + start) {
            let found = self.at_start.find(&translation[start..]);
            let left = found.and_then(|found| source_counts.get_mut(found.as_str()));
            let sign = &translation[start..=start];
            if let (Some(found), Some(left)) = (found, left)
                && *left > 0
            {
                *left -= 1;
                at = start + found.end();
            } else if translation[start + 1..].starts_with(sign) {
                at = start + 2;
            } else {
                edits.push((start..start, sign.to_owned()));
                at = start + 1;
            }
        }
        edits
    }
}
