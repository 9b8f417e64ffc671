//! Placeholders in a translation that its source lacks.

use std::cell::LazyCell;
use std::collections::HashMap;

use super::blank;
use super::parts::verbatim;
use super::words::has_percent;
use crate::words::{Mark, Span, is_letter, mark, overlaps};

/// How placeholders begin. Addresses, paths, code in backticks and HTML references do not count.
/// Neither does a colon before a word, which is common in sentences.
const OPENING: [&str; 10] = ["%", "{", "$", "<", "#{", "[", "*|", "\\", "__", "|"];

/// What remains of a placeholder when a translation loses its beginning or end.
const FRAGMENTS: [&str; 13] = [
    "{", "}", "%(", "%[", "%<", "<%", "%>", "[[", "]]", "*|", "|*", "$t(", "\\(",
];

/// Returns edits that remove placeholders from `translation` that occur less often in `source`, or
/// not at all: byte ranges in order, with their replacements. A word after a sign is kept, and so
/// are placeholders that begin with one of `others`.
pub fn added_placeholders(source: &str, translation: &str, others: &[char]) -> Vec<(Span, String)> {
    let mut source_counts: HashMap<&str, usize> = HashMap::new();
    let new = placeholders(translation);
    let original = if new.is_empty() {
        Vec::new()
    } else {
        placeholders(source)
    };
    original
        .into_iter()
        .for_each(|range| *source_counts.entry(&source[range]).or_default() += 1);
    let rest = LazyCell::new(|| blank(source, &verbatim(source)));
    new.into_iter()
        .filter(|range: &Span| {
            let part = &translation[range.clone()];
            match source_counts.get_mut(part) {
                Some(left) => std::mem::replace(left, left.saturating_sub(1)) == 0,
                None if part.starts_with(others) || rest.contains(part) => false,
                None => part.len() < 2 || !is_amount(part, &rest),
            }
        })
        .map(|range| without(translation, range))
        .collect()
}

/// Returns the ranges of placeholders in `text`, and of other signs that occur only in
/// placeholders.
fn placeholders(text: &str) -> Vec<Span> {
    let all = verbatim(text);
    let mut found: Vec<Span> = all
        .iter()
        .filter(|it: &&Span| {
            OPENING
                .iter()
                .any(|sign| text[(*it).clone()].starts_with(sign))
        })
        .cloned()
        .collect();
    let signs = FRAGMENTS.iter().flat_map(|sign| text.match_indices(sign));
    let signs = signs.map(|(at, sign)| at..at + sign.len());
    // A placeholder's first sign, doubled.
    let doubles = found.iter().map(|it| it.start.saturating_sub(1)..it.start);
    let loose = signs
        .chain(doubles.filter(|it: &Span| {
            text.get(it.clone())
                .is_some_and(|c| text[it.end..].starts_with(c))
        }))
        .filter(|it| !it.is_empty() && !overlaps(&all, it));
    found.extend(loose.collect::<Vec<_>>());
    found.sort_by_key(|range| range.start);
    // Signs may share a character.
    found.dedup_by(|next, kept| next.start < kept.end);
    found
}

/// Returns whether `part` is an amount in `source` that some languages write like a placeholder:
/// `%50` in Turkish, `5 $US` in French.
fn is_amount(part: &str, source: &str) -> bool {
    let (sign, rest) = part.split_at(1);
    let is_number = rest.bytes().all(|byte| byte.is_ascii_digit());
    let is_code = rest.len() < 4 && rest.bytes().all(|byte| byte.is_ascii_uppercase());
    sign == "%" && is_number && has_percent(source, &source.to_lowercase())
        || sign == "$" && (is_number && source.contains(rest) || is_code)
}

/// Returns the edit that removes the placeholder at `range`, with the space before it.
fn without(text: &str, range: Span) -> (Span, String) {
    let word = text[range.clone()].trim_start_matches(['%', '$']);
    let is_directive = word.len() < 4 && word.starts_with(['h', 'j', 'l', 'q', 't', 'z']);
    if word.len() > 1 && !is_directive && word.chars().all(is_letter) {
        return (range, word.into());
    }
    let is_last = text[range.end..].chars().next().is_none_or(|c: char| {
        c.is_whitespace() || matches!(mark(c), Mark::Terminal | Mark::Separator)
    });
    let space = usize::from(is_last && text[..range.start].ends_with(' '));
    (range.start - space..range.end, String::new())
}
