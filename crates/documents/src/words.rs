//! Words and characters, as every other module defines them.

pub(crate) use burnformer_text::{Mark, Span, mark, overlap, overlaps};
use regex::Regex;
use unicode_segmentation::UnicodeSegmentation;

/// Compiles `pattern`, which must be valid.
pub(crate) fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a valid pattern")
}

/// Returns whether `text` contains something to translate.
pub(crate) fn has_letters(text: &str) -> bool {
    text.chars().any(char::is_alphabetic)
}

pub(crate) fn has_words(text: &str) -> bool {
    text.chars().any(char::is_alphanumeric)
}

/// A word, a number, or one punctuation mark, without white space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) range: Span,
    pub(crate) is_word: bool,
}

/// Returns the tokens of `text[range]`, words by Unicode's UAX #29. Each range in `whole` (sorted,
/// disjoint) counts as one word.
pub(crate) fn tokens(text: &str, range: Span, whole: &[Span]) -> Vec<Token> {
    let mut all = Vec::new();
    let mut at = range.start;
    for whole in whole {
        plain_tokens(text, at..whole.start, &mut all);
        all.push(Token {
            range: whole.clone(),
            is_word: true,
        });
        at = whole.end;
    }
    plain_tokens(text, at..range.end, &mut all);
    all
}

/// Returns whether `word` is an abbreviation of single letters without its last stop, such as
/// `e.g`.
fn is_short(word: &str) -> bool {
    word.contains('.')
        && word
            .split('.')
            .all(|part| part.chars().count() == 1 && has_letters(part))
}

fn plain_tokens(text: &str, range: Span, all: &mut Vec<Token>) {
    for (offset, token) in text[range.clone()].split_word_bound_indices() {
        if token.chars().all(char::is_whitespace) {
            continue;
        }
        let start = range.start + offset;
        let range = start..start + token.len();
        match all
            .last_mut()
            .filter(|_| token == ".")
            .filter(|it: &&mut Token| it.range.end == start && is_short(&text[it.range.clone()]))
        {
            Some(last) => last.range.end += 1,
            None => all.push(Token {
                range,
                is_word: has_words(token),
            }),
        }
    }
}

/// Returns the indices of the items of `all` (sorted) within `range`.
pub(crate) fn within<T>(all: &[T], range_of: impl Fn(&T) -> &Span, range: &Span) -> Span {
    let start = all.partition_point(|item| range_of(item).start < range.start);
    let end = all.partition_point(|item| range_of(item).end <= range.end);
    start..end.max(start)
}

/// Returns whether `at` is strictly inside one of the ranges `all` (sorted, disjoint).
pub(crate) fn is_within(all: &[Span], at: usize) -> bool {
    let next = all.partition_point(|range| range.end <= at);
    all.get(next).is_some_and(|range| range.start < at)
}

/// Moves `range` from the origin `from` to the origin `to`.
pub(crate) fn moved(range: &Span, from: usize, to: usize) -> Span {
    range.start - from + to..range.end - from + to
}

/// Returns `range` without white space at its ends. If nothing is left, the result is empty at its
/// start.
pub(crate) fn trim(text: &str, range: Span) -> Span {
    let end = range.start + text[range.clone()].trim_end().len();
    end - text[range.start..end].trim_start().len()..end
}

/// Returns `text` with each run of white space as one space, and none at its ends.
pub(crate) fn single_spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns whether `c` needs no space beside it: a script without spaces, or Chinese and Japanese
/// punctuation.
pub(crate) fn is_unspaced(c: char) -> bool {
    burnformer_text::is_unspaced(c)
        || matches!(c, '\u{3000}'..='\u{312F}' | '\u{FF00}'..='\u{FF65}')
}

/// Returns `text` with `sign` in place of each byte of the sorted `ranges`.
pub(crate) fn covered<'a>(
    text: &str,
    ranges: impl Iterator<Item = &'a Span>,
    sign: &str,
) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for range in ranges {
        out += &text[at..range.start];
        out.extend(std::iter::repeat_n(sign, range.len()));
        at = range.end;
    }
    out + &text[at..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(text: &str) -> Vec<&str> {
        tokens(text, 0..text.len(), &[])
            .into_iter()
            .map(|token| &text[token.range])
            .collect()
    }

    #[test]
    fn tokens_are_words_numbers_and_marks() {
        assert_eq!(
            listed("It's 3.5 km (far)."),
            ["It's", "3.5", "km", "(", "far", ")", "."]
        );
        assert_eq!(
            listed("日本語 です。"),
            ["日", "本", "語", "で", "す", "。"]
        );
    }

    #[test]
    fn a_whole_range_is_one_word() {
        let text = "see a.b/c now";
        let all = tokens(text, 0..text.len(), std::slice::from_ref(&(4..9)));
        assert_eq!(
            all[1],
            Token {
                range: 4..9,
                is_word: true
            }
        );
        assert_eq!(all.len(), 3);
    }

    #[test]
    fn trimming_white_space_leaves_an_empty_range_at_the_start() {
        assert_eq!(trim("  a b ", 0..6), 2..5);
        assert_eq!(trim("x   y", 1..4), 1..1);
    }
}
