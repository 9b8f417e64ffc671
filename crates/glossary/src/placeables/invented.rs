//! Placeholders in a translation that do not occur in its source.

use std::collections::HashMap;

use super::parts::{Part, PartKind, may_have_verbatim, parts};
use super::words::{PERCENT, has_unit};
use crate::words::{Mark, Span, is_letter, mark};

/// The signs with which placeholders begin. Addresses, paths, code in backticks and characters of
/// HTML do not count, nor does a colon before a word, which many sentences have.
const OPENING: [&str; 10] = ["%", "{", "$", "<", "#{", "[", "*|", "\\", "__", "|"];

/// Returns the edits that remove from `translation` each placeholder that does not occur in
/// `source` or occurs there less often: byte ranges, in order, with their new texts. A word after a
/// sign is kept, and so are placeholders that begin with one of `others`.
pub fn invented(source: &str, translation: &str, others: &[char]) -> Vec<(Span, String)> {
    let mut known: HashMap<&str, usize> = HashMap::new();
    let new = placeholders(translation);
    let original = if new.is_empty() { Vec::new() } else { placeholders(source) };
    original.into_iter().for_each(|range| *known.entry(&source[range]).or_default() += 1);
    let is_new = |range: &Span| {
        let part = &translation[range.clone()];
        match known.get_mut(part) {
            Some(left) => std::mem::replace(left, left.saturating_sub(1)) == 0,
            None => !part.starts_with(others) && !source.contains(part) && !is_amount(part, source),
        }
    };
    new.into_iter().filter(is_new).map(|range| without(translation, range)).collect()
}

fn placeholders(text: &str) -> Vec<Span> {
    let all = if may_have_verbatim(text) { parts(text) } else { Vec::new() };
    let begins = |it: &Part| OPENING.iter().any(|sign| text[it.range.clone()].starts_with(sign));
    let all = all.into_iter().filter(|part| part.kind == PartKind::Verbatim && begins(part));
    all.map(|part| part.range).collect()
}

/// Returns whether `part` is an amount of `source` as some languages write it: `%50` in Turkish,
/// `5 $US` in French.
fn is_amount(part: &str, source: &str) -> bool {
    let all = |rest: &str, kind: fn(&u8) -> bool| rest.bytes().all(|byte| kind(&byte));
    match part.split_at(1) {
        ("%", rest) if all(rest, u8::is_ascii_digit) => {
            has_unit(source, &source.to_lowercase(), PERCENT)
        }
        ("$", rest) if all(rest, u8::is_ascii_digit) => source.contains(rest),
        (sign, rest) => sign == "$" && rest.len() < 4 && all(rest, u8::is_ascii_uppercase),
    }
}

/// The change that removes the placeholder at `range`, with the space before it.
fn without(text: &str, range: Span) -> (Span, String) {
    let word = text[range.clone()].trim_start_matches(['%', '$']);
    let is_directive = word.len() < 4 && word.starts_with(['h', 'j', 'l', 'q', 't', 'z']);
    if word.len() > 1 && !is_directive && word.chars().all(is_letter) {
        return (range, word.into());
    }
    let ends = |c: char| c.is_whitespace() || matches!(mark(c), Mark::Terminal | Mark::Separator);
    let is_last = text[range.end..].chars().next().is_none_or(ends);
    let space = usize::from(is_last && text[..range.start].ends_with(' '));
    (range.start - space..range.end, String::new())
}
