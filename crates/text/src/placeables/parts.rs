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

/// The names of [`PATTERNS`], and one regular expression with a group for each.
static TABLE: LazyLock<(Vec<&str>, Regex)> = LazyLock::new(|| {
    let lines = PATTERNS.lines().filter(|line| !line.starts_with('#'));
    let rows = lines.filter_map(|line| line.split_once('\t'));
    let (names, patterns): (Vec<&str>, Vec<String>) = rows
        .map(|(name, pattern)| (name, format!("({pattern})")))
        .unzip();
    let pattern = RegexBuilder::new(&patterns.join("|"))
        .dfa_size_limit(16 << 20)
        .build();
    (names, pattern.expect("valid patterns"))
});

/// Returns the name of the pattern that matched.
fn name_of(found: &Captures<'_>) -> &'static str {
    let group = found.iter().skip(1).position(|group| group.is_some());
    group.map_or("any", |index| TABLE.0[index])
}

/// Returns the parts of `text` that its translation must keep, from left to right.
pub fn parts(text: &str) -> Vec<Part> {
    let mut all = Vec::new();
    let mut at = 0;
    let mut no_message = 0;
    // In such a text, `$1` is a group of a regular expression and not an amount.
    let has_groups = text.split("$1").skip(1).any(is_group);
    while let Some(found) = next_part(text, at) {
        let Some(range) = found.get(0).map(|found| found.range()) else {
            break;
        };
        let name = name_of(&found);
        if name != "icu" {
            let part = part(text, (range.clone(), name), at, has_groups);
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
const REACH: usize = 1024;

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
fn part(text: &str, (range, name): (Span, &str), last: usize, has_groups: bool) -> Option<Part> {
    let before = &text[..range.start];
    let after = &text[range.end..];
    let word_before = range.start > last && before.ends_with(is_word_character);
    let word_after = after.starts_with(is_word_character);
    let fits = match name {
        "url" | "no-word-before" => !word_before,
        // An ampersand that joins two words is one of them.
        "reference" => &text[range.clone()] != "&amp;" || !joins_words(text, &range),
        // Needs white space or an opening sign before it, unlike a colon in a sentence.
        "start" => !before.ends_with(|c: char| {
            !c.is_whitespace() && mark(c) != Mark::Open && !"\"'„“«‚‘=/,+|>".contains(c)
        }),
        // A digit before it would make it a percentage: `5%p`.
        "no-digit-before" => range.start == last || !before.ends_with(|c: char| c.is_numeric()),
        // Letters after it can make it a TeX command.
        "no-command" => {
            let letters = &text[range.start + 1..];
            let end = letters
                .find(|c: char| !c.is_ascii_lowercase())
                .unwrap_or(letters.len());
            !is_command(&letters[..end])
        }
        "path" | "line" | "no-word" => !word_before && !word_after,
        // A number before it would make it a percentage: `5 %ige`.
        "no-percentage" => {
            let number = before.trim_end().ends_with(char::is_numeric);
            !word_after && (range.start == last || !number)
        }
        // In a text without `$1`, these are amounts.
        "first-group" => has_groups && is_group(after),
        "code" => {
            let bytes = &text.as_bytes()[range.clone()];
            let has_capital = bytes.iter().any(u8::is_ascii_uppercase);
            let is_code =
                bytes.contains(&b'_') || has_capital && bytes.iter().any(u8::is_ascii_digit);
            // German writes both genders like this: `Lehrer_innen`, `Kolleg_in`.
            let is_noun = has_capital
                && ["_innen", "_in"]
                    .iter()
                    .any(|end| text[range.clone()].ends_with(end));
            // A number may continue after it, or have begun before it.
            let has_begun = text[range.start..].starts_with(char::is_numeric)
                && before
                    .trim_end_matches(is_in_number)
                    .ends_with(char::is_numeric);
            let goes_on = after
                .trim_start_matches(is_in_number)
                .starts_with(char::is_numeric);
            let is_whole = !word_before && !word_after && !has_begun && !goes_on;
            is_code && !is_noun && is_whole
        }
        _ => true,
    };
    let closes = ["url", "path", "env"].contains(&name);
    let end = if closes {
        range.start + without_closing(&text[range.clone()])
    } else {
        range.end
    };
    // A long word with a footnote number is translated.
    let letters = text[range.clone()]
        .chars()
        .filter(|c| c.is_alphabetic())
        .count();
    let is_symbol = name == "symbol" || name == "sign" && letters > MAX_LETTERS;
    let kind = if is_symbol {
        PartKind::Symbol
    } else {
        PartKind::Verbatim
    };
    fits.then_some(Part {
        range: range.start..end,
        kind,
    })
}

/// Returns the first part from `at` on. Reading ends soon after the part. Otherwise, in a text of
/// many `1-`, each would begin an address and the search for its `@` would reach the end of the
/// text.
fn next_part(text: &str, mut at: usize) -> Option<Captures<'_>> {
    let mut reach = REACH;
    loop {
        let limit = text.floor_char_boundary(at + reach);
        let found = TABLE.1.captures_at(&text[..limit], at);
        let range = found.as_ref().and_then(|found| Some(found.get(0)?.range()));
        match range {
            _ if limit == text.len() => return found,
            Some(range) if range.end + REACH / 8 <= limit => return found,
            Some(range) if range.start == at => reach *= 2,
            Some(range) => (at, reach) = (range.start, REACH),
            None => (at, reach) = (text.floor_char_boundary(limit - REACH / 8), REACH),
        }
    }
}
