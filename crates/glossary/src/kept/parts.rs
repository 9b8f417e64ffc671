//! Addresses, placeholders, code and symbols, and numbers.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex, RegexBuilder};

use super::number::{is_fraction, numbers};
use super::placeholders::{Around, PLACEHOLDERS, is_command, message};
use crate::words::{Mark, floor, mark};

/// A part of a sentence that its translation has to keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Bytes of the text.
    pub range: Range<usize>,
    /// The rule by which the part is kept.
    pub kind: PartKind,
}

/// The rule by which a translation keeps a part of its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// An address, a placeholder or code: byte for byte.
    Verbatim,
    /// A symbol, a currency or an emoji, which models drop: byte for byte where words cannot
    /// replace it.
    Symbol,
    /// A number: by its value.
    Number,
}

/// Signs that begin most addresses, placeholders and code.
const SIGNS: &str = "{<%$#&\\[@_`/§№|^~";

/// The least digits of an account, with which each text is searched by the patterns.
const LEAST_DIGITS: usize = 8;

/// Returns whether `text` may have an address, a placeholder or code. Only such a text is searched
/// by the patterns of [`parts`].
pub(super) fn may_have_verbatim(text: &str) -> bool {
    let is_before = |sign: char, next: fn(char) -> bool| {
        text.match_indices(sign).any(|(at, _)| text[at + 1..].starts_with(next))
    };
    let is_sign = |c: char| !c.is_ascii() && c.is_numeric() && !is_fraction(c) || SIGNS.contains(c);
    let is_code = |part: &[u8]| {
        let is_in_code = |c: u8| c.is_ascii_digit() || c.is_ascii_uppercase();
        part[1] == b'-' && is_in_code(part[0]) && is_in_code(part[2])
    };
    text.contains(is_sign)
        || is_before(':', |c| !c.is_whitespace())
        || is_before('!', |c| c.is_ascii_alphabetic())
        || is_before('+', |c| c.is_numeric())
        || text.bytes().filter(u8::is_ascii_digit).count() >= LEAST_DIGITS
        || text.as_bytes().windows(3).any(is_code)
        || text.as_bytes().windows(4).any(|part| part.eq_ignore_ascii_case(b"www."))
}

/// Alternatives in the order of their precedence. A group names the check that follows the pattern,
/// words of other letters than those of ASCII among it: Unicode's `\b` is fifteen times slower.
static PATTERN: LazyLock<Regex> = LazyLock::new(|| {
    let placeholders = PLACEHOLDERS.iter().enumerate();
    let placeholders = placeholders.map(|(index, (_, own))| format!("(?P<p{index}>{own})"));
    let alternatives = [
        // Web addresses; their closing punctuation is removed below.
        r#"(?P<url>(?i:(?-u:\b)(?:https?|ftps?|file|mailto|tel):[^\s<>"'`{}|\\^]+|(?-u:\b)www\.[^\s<>"'`{}|\\^]+))"#,
        r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
        // Numbers of telephones and of accounts.
        r"(?P<line>[+＋]\d{1,3}[ \u{a0}./()\d-]{4,24}\d|(?-u:\b)[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4}(?-u:\b))?)",
        r"``[^`\n](?:[^`\n]|`[^`\n])*``|`[^`\s](?:[^`\n]*[^`\s])?`",
        r"(?P<icu>\{\s*\w+\s*,\s*(?:plural|select|selectordinal)\s*,)",
        // Files below a folder that a variable names.
        r"(?P<env>\$(?:[A-Za-z_]\w*|\{\w+\})(?:/[\w.@+-]+)+/?|%[A-Za-z_]\w*%(?:\\[\w.@+-]+)+)",
        &placeholders.collect::<Vec<_>>().join("|"),
        // Files: absolute, from home, relative with an extension, Windows.
        r"(?P<path>(?:~|\.{1,2})?(?:/[\w.@+-]+){2,}/?|[\w-]+(?:/[\w.-]+)+\.[A-Za-z]\w{0,4}(?-u:\b)|(?-u:\b)[A-Za-z]:\\[^\s<>]+)",
        // Names of parts, orders and standards, of capitals and digits; names of variables.
        r"(?P<code>(?-u:\b)(?:[A-Z0-9]+(?:[-/_][A-Z0-9]+)+|[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z][A-Za-z0-9]*)+)(?-u:\b))",
        // Section signs, and words with numerals that are no digits: m², H₂O.
        r"(?P<sign>[§№]+|\w*[\p{No}--[¼-¾⅐-⅞]][\w\p{No}]*)",
        // Symbols, currencies and emoji, which many models drop.
        r"(?P<symbol>°[CF](?-u:\b)|\u{b5}\w*|(?:[0-9#*]\u{fe0f}?\u{20e3}|[‼⁉〰〽]|[\p{So}•†‡[[\p{Sm}\p{Sc}]&&[^\x00-\x7f]]])[\p{So}\p{Sk}\p{M}\u{200d}\u{e0020}-\u{e007f}]*)",
    ];
    let pattern = RegexBuilder::new(&alternatives.join("|")).dfa_size_limit(16 << 20).build();
    pattern.expect("a valid pattern")
});

/// The parts of `text` that its translation has to keep, from left to right.
pub fn parts(text: &str) -> Vec<Part> {
    let (mut all, mut at, mut no_message) = (Vec::new(), 0, 0);
    let has_groups = has_first_group(text);
    while let Some(found) = next_part(text, at) {
        let Some(range) = found.get(0).map(|found| found.range()) else { break };
        if found.name("icu").is_none() {
            let part = part(text, &found, at, has_groups);
            // Text that begins like a percentage may be another part after the sign.
            let is_sign = part.is_none() && text[range.start..].starts_with('%');
            at = if is_sign { range.start + 1 } else { range.end };
            all.extend(part);
            continue;
        }
        at = range.start + 1;
        match (range.start >= no_message).then(|| message(text, range.start)) {
            Some(Ok((_, end))) => {
                at = end;
                all.push(Part { range: range.start..end, kind: PartKind::Verbatim });
            }
            Some(Err(end)) => no_message = end,
            None => {}
        }
    }
    let ends: Vec<Range<usize>> = all.iter().map(|part: &Part| part.range.clone()).collect();
    let is_free = |range: &Range<usize>| {
        let next = ends.partition_point(|part| part.end <= range.start);
        ends.get(next).is_none_or(|part| part.start >= range.end)
    };
    let numbers = numbers(text, true).into_iter().map(|number| number.range).filter(is_free);
    all.extend(numbers.map(|range| Part { range, kind: PartKind::Number }));
    all.sort_by_key(|part| part.range.start);
    all
}

/// Bytes of an address without the punctuation that belongs to the sentence around it.
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
        let shorter = if unopened { &shorter[..shorter.len() - 1] } else { shorter };
        if shorter.len() == rest.len() {
            return rest.len();
        }
        rest = shorter;
    }
}

/// The most letters of a formula or a unit.
const MOST_LETTERS: usize = 4;

/// The least number of bytes that a search reads ahead.
const REACH: usize = 1024;

/// Returns whether `text` has `$1`, which is no amount.
fn has_first_group(text: &str) -> bool {
    text.split("$1").skip(1).any(is_group)
}

/// Returns whether the text before `after` is not the beginning of an amount: `$1.50`.
fn is_group(after: &str) -> bool {
    let rest = after.trim_start_matches(['.', ',']);
    !rest.starts_with(|c: char| c.is_ascii_digit())
}

/// The part that `found` is, if the text around it is as it has to be; the part before it ends at
/// `last`.
fn part(text: &str, found: &Captures<'_>, last: usize, has_groups: bool) -> Option<Part> {
    let range = found.get(0)?.range();
    let (before, after) = (&text[..range.start], &text[range.end..]);
    let has_case = |c: char| c.is_lowercase() || c.is_uppercase();
    let in_word = |c: Option<char>| c.is_some_and(|c| has_case(c) || c.is_numeric() || c == '_');
    let word_before = range.start > last && in_word(before.chars().next_back());
    let word_after = in_word(after.chars().next());
    let named = |name: &str| found.name(name).is_some();
    let index = (0..PLACEHOLDERS.len()).find(|index| named(&format!("p{index}")));
    let fits = match index.map(|index| PLACEHOLDERS[index].0) {
        Some(Around::Anything) => true,
        Some(Around::NoWordBefore) => !word_before,
        Some(Around::Start) => !before.ends_with(|c: char| {
            !c.is_whitespace() && mark(c) != Mark::Open && !"\"'„“«‚‘=/,+|>".contains(c)
        }),
        Some(Around::NoDigitBefore) => {
            range.start == last || !before.ends_with(|c: char| c.is_numeric())
        }
        Some(Around::NoCommand) => {
            let letters = &text[range.start + 1..];
            let end = letters.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(letters.len());
            !is_command(&letters[..end])
        }
        Some(Around::NoWord) => !word_before && !word_after,
        Some(Around::NoPercentage) => {
            let number = before.trim_end().ends_with(char::is_numeric);
            !word_after && (range.start == last || !number && !word_before)
        }
        Some(Around::FirstGroup) => has_groups && is_group(after),
        None if named("code") => {
            let has = |kind: fn(&u8) -> bool| text.as_bytes()[range.clone()].iter().any(kind);
            let is_code =
                has(|&byte| byte == b'_') || has(u8::is_ascii_digit) && has(u8::is_ascii_uppercase);
            // German writes both genders so: `Lehrer_innen`, `Kolleg_in`.
            let is_noun = has(u8::is_ascii_uppercase)
                && ["_innen", "_in"].iter().any(|end| text[range.clone()].ends_with(end));
            // A number may go on.
            let rest = after.trim_start_matches(|c| "-/.,:_'".contains(c));
            let is_whole = !word_before && !word_after && !rest.starts_with(char::is_numeric);
            is_code && !is_noun && is_whole
        }
        None => {
            !(named("url") && word_before
                || (named("path") || named("line")) && (word_before || word_after))
        }
    };
    let closes = named("url") || named("path") || named("env");
    let end = if closes { range.start + without_closing(&text[range.clone()]) } else { range.end };
    // A long word with a footnote's number has a translation.
    let letters = text[range.clone()].chars().filter(|c| c.is_alphabetic()).count();
    let is_symbol = named("symbol") || named("sign") && letters > MOST_LETTERS;
    let kind = if is_symbol { PartKind::Symbol } else { PartKind::Verbatim };
    fits.then_some(Part { range: range.start..end, kind })
}

/// The first part from `at` on. Reading ends soon after it. Otherwise, in a text of many `1-`, each
/// of them would begin an address whose `@` is searched up to the end of the text.
fn next_part(text: &str, mut at: usize) -> Option<Captures<'_>> {
    let mut reach = REACH;
    loop {
        let limit = floor(text, at + reach);
        let found = PATTERN.captures_at(&text[..limit], at);
        let range = found.as_ref().and_then(|found| Some(found.get(0)?.range()));
        match range {
            _ if limit == text.len() => return found,
            Some(range) if range.end + REACH / 8 <= limit => return found,
            Some(range) if range.start == at => reach *= 2,
            Some(range) => (at, reach) = (range.start, REACH),
            None => (at, reach) = (floor(text, limit - REACH / 8), REACH),
        }
    }
}
