//! Addresses, placeholders, code and symbols, and numbers.

use std::sync::LazyLock;

use regex::{Captures, Regex, RegexBuilder};

use super::number::{is_fraction, numbers};
use super::placeholders::{is_command, message};
use crate::joins::joins_words;
use crate::words::{Mark, Span, mark, overlaps};

/// A part of a sentence that its translation must keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The byte range of the part in its text.
    pub range: Span,
    /// How the part is kept.
    pub kind: PartKind,
}

/// How a translation keeps a part of its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// An address, a placeholder or code, kept byte for byte.
    Verbatim,
    /// A symbol, currency or emoji. Models tend to drop it. It is kept byte for byte unless words
    /// can replace it.
    Symbol,
    /// A number; its value is kept.
    Number,
}

/// Signs that occur in most addresses, placeholders and code.
const SIGNS: &str = "{<%$#&\\[@_`/§№|^~\u{1b}";

/// A text with this many digits is searched by the patterns: it may contain an account number.
const MIN_DIGITS: usize = 8;

/// Returns whether `text` may contain an address, a placeholder or code. Other texts are not
/// searched by the patterns of [`parts`].
pub(super) fn may_have_verbatim(text: &str) -> bool {
    text.contains(is_sign)
        || is_before(text, ':', |c| !c.is_whitespace())
        || is_before(text, '!', |c| c.is_ascii_alphabetic())
        || is_before(text, '+', |c| c.is_numeric())
        || text.bytes().filter(u8::is_ascii_digit).count() >= MIN_DIGITS
        || text.as_bytes().windows(3).any(is_code)
        || text
            .as_bytes()
            .windows(4)
            .any(|part| part.eq_ignore_ascii_case(b"www."))
}

/// Returns whether `c` is rare outside of addresses, placeholders and code.
fn is_sign(c: char) -> bool {
    !c.is_ascii() && c.is_numeric() && !is_fraction(c) || SIGNS.contains(c)
}

/// Returns whether `sign`, of one byte, stands before a `next` character in `text`.
fn is_before(text: &str, sign: char, next: fn(char) -> bool) -> bool {
    text.match_indices(sign)
        .any(|(at, _)| text[at + 1..].starts_with(next))
}

/// Returns whether `part` has a hyphen between digits or capitals.
fn is_code(part: &[u8]) -> bool {
    let mut sides = [part[0], part[2]].into_iter();
    part[1] == b'-' && sides.all(|c| c.is_ascii_digit() || c.is_ascii_uppercase())
}

/// Returns the parts of `text` that are kept byte for byte, from left to right.
pub(super) fn verbatim(text: &str) -> Vec<Span> {
    let all = if may_have_verbatim(text) {
        parts(text)
    } else {
        Vec::new()
    };
    let all = all
        .into_iter()
        .filter(|part| part.kind == PartKind::Verbatim);
    all.map(|part| part.range).collect()
}

/// The patterns of parts, one a line, in order of precedence. Before each stands the name of its
/// [`Rule`]. Word boundaries are ASCII, because Unicode's `\b` is fifteen times slower.
const PATTERNS: &str = include_str!("parts.tsv");

/// What a pattern finds, or the neighbours that its match must have. Without them, the signs of a
/// placeholder are prose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// No condition.
    Any,
    /// A web address: no word directly before it, and without the closing punctuation.
    Url,
    /// A file: no word directly before or after it, and without the closing punctuation.
    Path,
    /// A path below a variable, without the closing punctuation.
    Env,
    /// The beginning of an ICU message.
    Icu,
    /// A character reference. An ampersand that joins two words is one of them.
    Reference,
    /// White space or an opening sign before it, unlike a colon in a sentence.
    Start,
    NoWordBefore,
    /// No word directly before or after it.
    NoWord,
    /// A digit before it would make it a percentage: `5%p`.
    NoDigitBefore,
    /// A number before it would make it a percentage: `5 %ige`.
    NoPercentage,
    /// Letters after it can make it a TeX command.
    NoCommand,
    /// A group of a regular expression. In a text without `$1`, these are amounts.
    FirstGroup,
    /// The name of a product, an order, a standard or a variable.
    Code,
    /// A word with numerals; a symbol if the word is long, because a long word with a footnote
    /// number is translated.
    Sign,
    Symbol,
}

impl Rule {
    /// Returns the rule with this name in [`PATTERNS`].
    fn of_name(name: &str) -> Option<Self> {
        Some(match name {
            "any" => Self::Any,
            "url" => Self::Url,
            "path" => Self::Path,
            "env" => Self::Env,
            "icu" => Self::Icu,
            "reference" => Self::Reference,
            "start" => Self::Start,
            "no-word-before" => Self::NoWordBefore,
            "no-word" => Self::NoWord,
            "no-digit-before" => Self::NoDigitBefore,
            "no-percentage" => Self::NoPercentage,
            "no-command" => Self::NoCommand,
            "first-group" => Self::FirstGroup,
            "code" => Self::Code,
            "sign" => Self::Sign,
            "symbol" => Self::Symbol,
            _ => return None,
        })
    }

    /// Returns whether the punctuation at the end of a match belongs to the sentence.
    fn ends_before_punctuation(self) -> bool {
        matches!(self, Self::Url | Self::Path | Self::Env)
    }

    /// Returns how a translation keeps the match `part`.
    fn kind(self, part: &str) -> PartKind {
        let is_symbol = match self {
            Self::Symbol => true,
            Self::Sign => part.chars().filter(|c| c.is_alphabetic()).count() > MAX_LETTERS,
            _ => false,
        };
        if is_symbol {
            PartKind::Symbol
        } else {
            PartKind::Verbatim
        }
    }
}

/// The rules of [`PATTERNS`], and one regular expression with a group for each.
static TABLE: LazyLock<(Vec<Rule>, Regex)> = LazyLock::new(|| {
    let lines = PATTERNS.lines().filter(|line| !line.starts_with('#'));
    let (rules, patterns): (Vec<Rule>, Vec<String>) = lines.map(row).unzip();
    let pattern = RegexBuilder::new(&patterns.join("|"))
        .dfa_size_limit(16 << 20)
        .build();
    (rules, pattern.expect("valid patterns"))
});

/// Returns the rule and the pattern of a line of [`PATTERNS`], the pattern as a group.
///
/// # Panics
/// Panics if the line has no known rule.
fn row(line: &str) -> (Rule, String) {
    let row = line.split_once('\t');
    let row = row.and_then(|(name, pattern)| Some((Rule::of_name(name)?, format!("({pattern})"))));
    row.unwrap_or_else(|| panic!("no known rule in the line {line:?} of parts.tsv"))
}

/// Returns the rule of the pattern that matched.
fn rule_of(captures: &Captures<'_>) -> Rule {
    let group = captures.iter().skip(1).position(|group| group.is_some());
    TABLE.0[group.expect("each pattern is a group")]
}

/// Returns the parts of `text` that its translation must keep, from left to right.
pub fn parts(text: &str) -> Vec<Part> {
    let mut all = Vec::new();
    let mut at = 0;
    let mut no_message = 0;
    // In such a text, `$1` is a group of a regular expression and not an amount.
    let has_groups = text.split("$1").skip(1).any(is_group);
    while let Some((range, rule)) = next_part(text, at) {
        if rule != Rule::Icu {
            let part = part(text, (range.clone(), rule), at, has_groups);
            // What begins like a percentage may be another part after the sign.
            let is_sign = part.is_none() && text[range.start..].starts_with('%');
            at = if is_sign { range.start + 1 } else { range.end };
            all.extend(part);
            continue;
        }
        at = range.start + 1;
        match (range.start >= no_message).then(|| message(text, range.start)) {
            Some(Ok((_, end))) => {
                at = end;
                all.push(Part {
                    range: range.start..end,
                    kind: PartKind::Verbatim,
                });
            }
            Some(Err(end)) => no_message = end,
            None => {}
        }
    }
    let ends: Vec<Span> = all.iter().map(|part: &Part| part.range.clone()).collect();
    let numbers = numbers(text, true).into_iter().map(|number| number.range);
    let numbers = numbers.filter(|range| !overlaps(&ends, range));
    all.extend(numbers.map(|range| Part {
        range,
        kind: PartKind::Number,
    }));
    all.sort_by_key(|part| part.range.start);
    all
}

/// Returns the length of an address without the sentence's punctuation at its end.
fn without_closing(address: &str) -> usize {
    let opening = address.matches('(').count();
    let mut closing = address.matches(')').count();
    let square = address.contains('[');
    let mut rest = address;
    loop {
        let shorter =
            rest.trim_end_matches(['.', ',', ';', ':', '!', '?', '…', '。', '，', '”', '»']);
        let round = shorter.ends_with(')') && closing > opening;
        let unopened = round || shorter.ends_with(']') && !square;
        closing -= usize::from(round);
        let shorter = if unopened {
            &shorter[..shorter.len() - 1]
        } else {
            shorter
        };
        if shorter.len() == rest.len() {
            return rest.len();
        }
        rest = shorter;
    }
}

/// Maximum number of letters in a formula or unit.
const MAX_LETTERS: usize = 4;

/// Minimum number of bytes that a search reads ahead.
const MIN_READ_AHEAD: usize = 1024;

/// Returns whether the text before `after` does not begin an amount such as `$1.50`.
fn is_group(after: &str) -> bool {
    let rest = after.trim_start_matches(['.', ',']);
    !rest.starts_with(|c: char| c.is_ascii_digit())
}

/// Returns whether `c` is a letter with case, a number or `_`.
fn is_word_character(c: char) -> bool {
    c.is_lowercase() || c.is_uppercase() || c.is_numeric() || c == '_'
}

/// Returns whether `c` may be inside of a number.
fn is_in_number(c: char) -> bool {
    "-/.,:_'".contains(c)
}

/// Returns the part for a match if the text around it is as required. The previous part ends at
/// `last`.
fn part(text: &str, (range, rule): (Span, Rule), last: usize, has_groups: bool) -> Option<Part> {
    if !fits(text, &range, rule, last, has_groups) {
        return None;
    }
    let part = &text[range.clone()];
    let end = if rule.ends_before_punctuation() {
        range.start + without_closing(part)
    } else {
        range.end
    };
    Some(Part {
        range: range.start..end,
        kind: rule.kind(part),
    })
}

/// Returns whether the text around the match `range` is as `rule` requires. The previous part ends
/// at `last`.
fn fits(text: &str, range: &Span, rule: Rule, last: usize, has_groups: bool) -> bool {
    let before = &text[..range.start];
    let after = &text[range.end..];
    let is_next = range.start == last;
    let word_before = !is_next && before.ends_with(is_word_character);
    let word_after = after.starts_with(is_word_character);
    match rule {
        Rule::Any | Rule::Env | Rule::Icu | Rule::Sign | Rule::Symbol => true,
        Rule::Url | Rule::NoWordBefore => !word_before,
        Rule::Path | Rule::NoWord => !word_before && !word_after,
        Rule::Reference => &text[range.clone()] != "&amp;" || !joins_words(text, range),
        Rule::Start => !before.ends_with(|c: char| {
            !c.is_whitespace() && mark(c) != Mark::Open && !"\"'„“«‚‘=/,+|>".contains(c)
        }),
        Rule::NoDigitBefore => is_next || !before.ends_with(|c: char| c.is_numeric()),
        Rule::NoPercentage => {
            let has_number = before.trim_end().ends_with(char::is_numeric);
            !word_after && (is_next || !has_number)
        }
        Rule::NoCommand => !begins_command(&text[range.start + 1..]),
        Rule::FirstGroup => has_groups && is_group(after),
        Rule::Code => {
            let is_whole = !word_before && !word_after && !is_in_longer_number(text, range);
            is_whole && is_code_name(&text[range.clone()])
        }
    }
}

/// Returns whether the letters at the beginning of `text` are a TeX command.
fn begins_command(text: &str) -> bool {
    let end = text.find(|c: char| !c.is_ascii_lowercase());
    is_command(&text[..end.unwrap_or(text.len())])
}

/// Returns whether `name` is written like a name in code: with `_`, or with capitals and digits.
fn is_code_name(name: &str) -> bool {
    let has_capital = name.contains(|c: char| c.is_ascii_uppercase());
    let has_digit = name.contains(|c: char| c.is_ascii_digit());
    // German writes both genders like this: `Lehrer_innen`, `Kolleg_in`.
    let is_noun = has_capital && (name.ends_with("_innen") || name.ends_with("_in"));
    (name.contains('_') || has_capital && has_digit) && !is_noun
}

/// Returns whether a number has begun before `range` or continues after it.
fn is_in_longer_number(text: &str, range: &Span) -> bool {
    let before = text[..range.start].trim_end_matches(is_in_number);
    let after = text[range.end..].trim_start_matches(is_in_number);
    let has_begun =
        text[range.start..].starts_with(char::is_numeric) && before.ends_with(char::is_numeric);
    has_begun || after.starts_with(char::is_numeric)
}

/// Returns the byte range and the rule of the first match from `at` on. Reading ends soon after the
/// match. Otherwise, in a text of many `1-`, each would begin an address and the search for its `@`
/// would reach the end of the text.
fn next_part(text: &str, mut at: usize) -> Option<(Span, Rule)> {
    let mut reach = MIN_READ_AHEAD;
    loop {
        let limit = text.floor_char_boundary(at + reach);
        let captures = TABLE.1.captures_at(&text[..limit], at);
        let part =
            captures.and_then(|captures| Some((captures.get(0)?.range(), rule_of(&captures))));
        match &part {
            _ if limit == text.len() => return part,
            Some((range, _)) if range.end + MIN_READ_AHEAD / 8 <= limit => return part,
            Some((range, _)) if range.start == at => reach *= 2,
            Some((range, _)) => (at, reach) = (range.start, MIN_READ_AHEAD),
            None => {
                (at, reach) = (
                    text.floor_char_boundary(limit - MIN_READ_AHEAD / 8),
                    MIN_READ_AHEAD,
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "no known rule in the line \"no-wrod\\tx\" of parts.tsv")]
    fn a_misspelt_rule_is_refused() {
        row("no-wrod\tx");
    }
}
