//! The options of TER, and the words that it compares: the tokeniser of Tercom, as sacreBLEU ports
//! it.

use std::sync::LazyLock;

use super::mteval::{WESTERN, unescape};
use crate::text::{Substitutions, squeeze};

/// Chinese and Japanese characters. sacreBLEU's range for the enclosed letters, U+3200 to U+32FF,
/// ends at U+3F22. Tercom also splits runs of kana, but only where they begin the line, and a
/// normalised line begins with a space.
const ASIAN: &str = "[\u{4e00}-\u{9fff}\u{3400}-\u{4dbf}\u{31c0}-\u{31ef}\u{2e80}-\u{2eff}\
    \u{3300}-\u{33ff}\u{f900}-\u{faff}\u{fe30}-\u{fe4f}\u{3200}-\u{3f22}]";

const ASIAN_PUNCTUATION: &str = "[\u{3001}\u{3002}\u{3008}-\u{3011}\u{3014}-\u{301f}\
    \u{ff61}-\u{ff65}\u{30fb}\u{ff0e}\u{ff0c}\u{ff1f}\u{ff1a}\u{ff1b}\u{ff01}\u{ff02}\u{ff08}\u{ff09}]";

static NORMALIZED: LazyLock<Substitutions> = LazyLock::new(|| {
    let (padded, points) = WESTERN.split_at(1);
    Substitutions::new(&[padded, &[("'s ", " 's ")], points].concat())
});

static ASIAN_SPACED: LazyLock<Substitutions> =
    LazyLock::new(|| Substitutions::new(&[(ASIAN, " $0 "), (ASIAN_PUNCTUATION, " $0 ")]));

static NO_PUNCTUATION: LazyLock<Substitutions> =
    LazyLock::new(|| Substitutions::new(&[("[.,?:;!\"()]", "")]));

static NO_ASIAN_PUNCTUATION: LazyLock<Substitutions> =
    LazyLock::new(|| Substitutions::new(&[(ASIAN_PUNCTUATION, "")]));

/// TER with its options; lower is better. [`Default`] has sacreBLEU's defaults: lower-cased words,
/// separated by spaces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ter {
    /// If true, punctuation is split off and XML escapes are undone.
    pub normalized: bool,
    /// If true, punctuation is removed.
    pub no_punct: bool,
    /// If true, Chinese and Japanese characters are words (with `normalized`) and their punctuation
    /// is removed (with `no_punct`).
    pub asian_support: bool,
    /// If true, case is kept.
    pub case_sensitive: bool,
}

impl Ter {
    /// Divides a line into the words that TER compares.
    pub(crate) fn tokenize(&self, line: &str) -> String {
        let mut line = if self.case_sensitive {
            line.to_owned()
        } else {
            line.to_lowercase()
        };
        if self.normalized {
            line = normalize(&line);
            if self.asian_support {
                line = ASIAN_SPACED.apply(&line);
            }
        }
        if self.no_punct {
            line = NO_PUNCTUATION.apply(&line);
            if self.asian_support {
                line = NO_ASIAN_PUNCTUATION.apply(&line);
            }
        }
        squeeze(&line)
    }
}

/// Normalises like 13a, but splits off possessives and treats line ends differently.
fn normalize(line: &str) -> String {
    let line = line.replace("\n-", "").replace('\n', " ");
    NORMALIZED.apply(&format!(" {} ", unescape(&line)))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Expected words: sacrebleu 2.6.0, TercomTokenizer.
    #[test]
    fn words_match_tercom() {
        let plain = Ter::default();
        let normalized = Ter {
            normalized: true,
            ..plain.clone()
        };
        let bare = Ter {
            no_punct: true,
            case_sensitive: true,
            ..plain.clone()
        };
        let asian = Ter {
            normalized: true,
            no_punct: true,
            asian_support: true,
            ..plain.clone()
        };
        assert_eq!(plain.tokenize("The  Dog's bone."), "the dog's bone.");
        assert_eq!(normalized.tokenize("The Dog's bone."), "the dog 's bone .");
        assert_eq!(bare.tokenize("\"Stop!\" (he said)"), "Stop he said");
        assert_eq!(asian.tokenize("日本語、ok。"), "日 本 語 ok");
    }
}
