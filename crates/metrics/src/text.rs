//! White space as Python defines it, and helpers that the tokenisers share.

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// `str.isspace` of Python: Unicode's White_Space and the four ASCII separators U+001C to U+001F.
pub(crate) fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// `str.split()` of Python.
pub(crate) fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_space).filter(|word| !word.is_empty())
}

/// Python's `' '.join(line.split())`.
pub(crate) fn squeeze(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for word in split(line) {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// `str.rstrip()` of Python.
pub(crate) fn trim_end(text: &str) -> &str {
    text.trim_end_matches(is_space)
}

/// Returns whether `c` is in the Unicode category P.
pub(crate) fn is_punctuation(c: char) -> bool {
    c.general_category_group() == GeneralCategoryGroup::Punctuation
}

/// Returns whether `c` is in the Unicode category S.
pub(crate) fn is_symbol(c: char) -> bool {
    c.general_category_group() == GeneralCategoryGroup::Symbol
}

/// Returns whether `c` is in the Unicode category N.
pub(crate) fn is_number(c: char) -> bool {
    c.general_category_group() == GeneralCategoryGroup::Number
}

/// Puts a space on both sides of every character for which `apart` is true.
pub(crate) fn pad_chars(text: &str, apart: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    for c in text.chars() {
        if apart(c) {
            [' ', c, ' '].iter().for_each(|&c| out.push(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// Replaces pairs of neighbouring characters from left to right, without overlap, like a regular
/// expression of two one-character groups. `matches` chooses a pair, `replacement` gives what is
/// written instead.
pub(crate) fn replace_pairs<const N: usize>(
    text: &str,
    matches: impl Fn(char, char) -> bool,
    replacement: impl Fn(char, char) -> [char; N],
) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    let mut chars = text.chars().peekable();
    while let Some(first) = chars.next() {
        match chars.peek() {
            Some(&second) if matches(first, second) => {
                replacement(first, second).iter().for_each(|&c| out.push(c));
                chars.next();
            }
            _ => out.push(first),
        }
    }
    out
}

/// Replaces the character `middle` by `with` where its two neighbours satisfy `matches`, from left
/// to right without overlap.
pub(crate) fn replace_between(
    text: &str,
    middle: char,
    matches: impl Fn(char, char) -> bool,
    with: &str,
) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len() * 2);
    let mut at = 0;
    while at < chars.len() {
        out.push(chars[at]);
        match chars[at..] {
            [a, found, b, ..] if found == middle && matches(a, b) => {
                out.push_str(with);
                out.push(b);
                at += 3;
            }
            _ => at += 1,
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_is_pythons() {
        assert_eq!(
            split("a\u{1c}b\u{a0}c\u{2009}d\te\u{200b}f").collect::<Vec<_>>(),
            ["a", "b", "c", "d", "e\u{200b}f"]
        );
        assert_eq!(trim_end(" a \u{1f}\n"), " a");
    }

    #[test]
    fn pairs_do_not_overlap() {
        let out = replace_pairs("aaa", |a, b| a == 'a' && b == 'a', |a, b| [a, '-', b]);
        assert_eq!(out, "a-aa");
    }
}
