//! The tokeniser of mteval-v13a.pl.
//!
//! Its rules concern only ASCII characters, so they work on bytes. The bytes of other characters count as "not a
//! digit" and "not a period", like the characters themselves.

use super::{squeeze, unescape};

/// Tokenises as `13a`: undoes entities and line ends, then calls [`split_punctuation`].
pub(crate) fn tokenize_13a(line: &str) -> String {
    let line = unescape_13a(line);
    split_punctuation(&format!(" {line} "))
}

fn unescape_13a(line: &str) -> String {
    let plain = line.replace("<skipped>", "").replace("-\n", "").replace('\n', " ");
    unescape(&plain).into_owned()
}

/// The rules for Western languages, which 13a and zh share: four substitutions, then repeated spaces are removed.
pub(crate) fn split_punctuation(line: &str) -> String {
    squeeze(&points_and_dashes_spaced(&pad_ascii(line)))
}

/// The last three of the four substitutions, without removing repeated spaces.
pub(crate) fn points_and_dashes_spaced(line: &str) -> String {
    let bytes = points_after_non_digits(line.as_bytes());
    let bytes = points_before_non_digits(&bytes);
    text_of(dashes_after_digits(&bytes))
}

fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("spaces stand between whole characters or around ASCII ones")
}

/// `s/([\{-\~\[-\` -\&\(-\+\:-\@\/])/ $1 /g`
pub(crate) fn pad_ascii(line: &str) -> String {
    let mut out = Vec::with_capacity(line.len() * 2);
    for &byte in line.as_bytes() {
        match byte {
            b'{'..=b'~' | b'['..=b'`' | b' '..=b'&' | b'('..=b'+' | b':'..=b'@' | b'/' => {
                out.extend([b' ', byte, b' '])
            }
            _ => out.push(byte),
        }
    }
    text_of(out)
}

/// `s/([^0-9])([\.,])/$1 $2 /g`
fn points_after_non_digits(line: &[u8]) -> Vec<u8> {
    replace_pairs(line, |a, b| !a.is_ascii_digit() && is_point(b), |a, b| [a, b' ', b, b' '])
}

/// `s/([\.,])([^0-9])/ $1 $2/g`
fn points_before_non_digits(line: &[u8]) -> Vec<u8> {
    replace_pairs(line, |a, b| is_point(a) && !b.is_ascii_digit(), |a, b| [b' ', a, b' ', b])
}

/// `s/([0-9])(-)/$1 $2 /g`
fn dashes_after_digits(line: &[u8]) -> Vec<u8> {
    replace_pairs(line, |a, b| a.is_ascii_digit() && b == b'-', |a, b| [a, b' ', b, b' '])
}

fn is_point(byte: u8) -> bool {
    matches!(byte, b'.' | b',')
}

fn replace_pairs(
    line: &[u8],
    matches: impl Fn(u8, u8) -> bool,
    write: impl Fn(u8, u8) -> [u8; 4],
) -> Vec<u8> {
    let mut out = Vec::with_capacity(line.len() * 2);
    let mut at = 0;
    while at + 1 < line.len() {
        if matches(line[at], line[at + 1]) {
            out.extend(write(line[at], line[at + 1]));
            at += 2;
        } else {
            out.push(line[at]);
            at += 1;
        }
    }
    out.extend_from_slice(&line[at..]);
    out
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
