//! The international tokeniser of mteval-v14.pl, which splits punctuation and symbols by their
//! Unicode category.

use crate::text::{is_number, is_punctuation, is_symbol, pad_chars, replace_pairs, squeeze};

/// Splits off every symbol, and punctuation unless it stands between numbers. A period after a
/// number at the end of a line is not split off, as in mteval-v14.pl.
pub(crate) fn tokenize(line: &str) -> String {
    // s/(\P{N})(\p{P})/$1 $2 /g, then s/(\p{P})(\P{N})/ $1 $2/g, then s/(\p{S})/ $1 /g
    let line =
        replace_pairs(line, |a, b| is_punctuation(b) && !is_number(a), |a, b| [a, ' ', b, ' ']);
    let line =
        replace_pairs(&line, |a, b| is_punctuation(a) && !is_number(b), |a, b| [' ', a, ' ', b]);
    squeeze(&pad_chars(&line, is_symbol))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Expected words: sacrebleu 2.6.0, TokenizerV14International.
    #[test]
    fn words_are_mtevals() {
        for (line, words) in [
            ("„Käse“, öl.", "„ Käse “ , öl ."),
            ("It's 3,5 € + 1.000", "It ' s 3,5 € + 1.000"),
            ("end 5.", "end 5."),
            ("中文。完", "中文 。 完"),
        ] {
            assert_eq!(tokenize(line), words, "{line}");
        }
    }
}
