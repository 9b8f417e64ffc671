//! The international tokeniser of mteval-v14.pl, which splits punctuation and symbols by their
//! Unicode category.

use std::sync::LazyLock;

use crate::text::{Substitutions, squeeze};

static RULES: LazyLock<Substitutions> = LazyLock::new(|| {
    Substitutions::new(&[
        (r"(\P{N})(\p{P})", "$1 $2 "),
        (r"(\p{P})(\P{N})", " $1 $2"),
        (r"\p{S}", " $0 "),
    ])
});

/// Splits off every symbol, and punctuation unless it stands between numbers. A period after a
/// number at the end of a line is not split off, as in mteval-v14.pl.
pub(crate) fn tokenize(line: &str) -> String {
    squeeze(&RULES.apply(line))
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
