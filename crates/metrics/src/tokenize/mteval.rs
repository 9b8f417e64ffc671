//! The tokeniser of mteval-v13a.pl.

use std::borrow::Cow;

use crate::text::{pad_chars, replace_pairs, squeeze};

/// Tokenises as `13a`: undoes entities and line ends, then calls [`split_punctuation`].
pub(crate) fn tokenize_13a(line: &str) -> String {
    let plain = line.replace("<skipped>", "").replace("-\n", "").replace('\n', " ");
    split_punctuation(&format!(" {} ", unescape(&plain)))
}

/// The rules for Western languages, which 13a and zh share: four substitutions, then repeated
/// spaces are removed.
pub(crate) fn split_punctuation(line: &str) -> String {
    squeeze(&points_and_dashes_spaced(&pad_ascii(line)))
}

/// The last three of the four substitutions, without removing repeated spaces.
pub(crate) fn points_and_dashes_spaced(line: &str) -> String {
    let digit = |c: char| c.is_ascii_digit();
    let point = |c| matches!(c, '.' | ',');
    // s/([^0-9])([\.,])/$1 $2 /g, then s/([\.,])([^0-9])/ $1 $2/g, then s/([0-9])(-)/$1 $2 /g
    let line = replace_pairs(line, |a, b| !digit(a) && point(b), |a, b| [a, ' ', b, ' ']);
    let line = replace_pairs(&line, |a, b| point(a) && !digit(b), |a, b| [' ', a, ' ', b]);
    replace_pairs(&line, |a, b| digit(a) && b == '-', |a, b| [a, ' ', b, ' '])
}

/// `s/([\{-\~\[-\` -\&\(-\+\:-\@\/])/ $1 /g`
pub(crate) fn pad_ascii(line: &str) -> String {
    pad_chars(
        line,
        |c| matches!(c, '{'..='~' | '['..='`' | ' '..='&' | '('..='+' | ':'..='@' | '/'),
    )
}

/// Undoes the four XML escapes in mteval's order, so that `&amp;lt;` becomes `<`.
pub(super) fn unescape(line: &str) -> Cow<'_, str> {
    if !line.contains('&') {
        return Cow::Borrowed(line);
    }
    let pairs = [("&quot;", "\""), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">")];
    Cow::Owned(pairs.iter().fold(line.to_owned(), |line, (from, to)| line.replace(from, to)))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Expected words: sacrebleu 2.6.0, Tokenizer13a.
    #[test]
    fn words_are_mtevals() {
        for (line, words) in [
            ("Hello, world!", "Hello , world !"),
            ("It's 3.5% of $1,000.", "It's 3.5 % of $ 1,000 ."),
            ("a 1990-2000 well-known &quot;x&quot; &amp;lt;", "a 1990 - 2000 well-known \" x \" <"),
            ("...wait,,, what", ". . . wait , , , what"),
            ("„Käse“, öl.", "„Käse“ , öl ."),
            ("end 5.", "end 5 ."),
        ] {
            assert_eq!(tokenize_13a(line), words, "{line}");
        }
    }
}
