//! The BLEU of *Attention Is All You Need*: tokenised by Moses, with compounds split at hyphens.
//!
//! **The scores are not comparable with sacreBLEU's**, nor with those of any other tokenisation:
//! splitting compounds adds words that match. This metric exists to compare a run with the paper's
//! Table 2, which was computed by tensor2tensor's `get_ende_bleu.sh`: `tokenizer.perl`, then
//! `s{(\S)-(\S)}{$1 ##AT##-##AT## $2}g` on both sides, then `multi-bleu.perl` (cased, no
//! smoothing).

use std::sync::LazyLock;

use crate::bleu::segment_statistics;
use crate::text::Substitutions;
use crate::tokenize::moses::moses_tokenize;
use crate::tokenize::moses_language::MosesLanguage;
use crate::{BleuScore, Metric, ReferenceCount, Signature, Smoothing};

const MAX_ORDER: usize = 4;

/// Tokenised BLEU with compound splitting. Not comparable with [`Bleu`](crate::Bleu).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompoundBleu {
    /// The language whose tokenisation rules are used: the language of the translations.
    pub language: MosesLanguage,
}

impl CompoundBleu {
    /// The words of a line as Moses tokenises it, with compounds split.
    fn words(&self, line: &str) -> String {
        COMPOUNDS.apply(&moses_tokenize(line, self.language))
    }
}

fn score(statistics: &[f64]) -> BleuScore {
    BleuScore::new(statistics, Smoothing::None, false)
}

/// Splits compounds at hyphens. A letter that was the right side of one hyphen cannot be the left
/// side of the next one. Only the first hyphen of `a-b-c` is therefore split, as in the original.
static COMPOUNDS: LazyLock<Substitutions> =
    LazyLock::new(|| Substitutions::new(&[(r"(\S)-(\S)", "$1 ##AT##-##AT## $2")]));

impl Metric for CompoundBleu {
    fn name(&self) -> String {
        "compoundBLEU".into()
    }

    /// The signature contains `comparable:no`.
    fn signature(&self, references: ReferenceCount) -> Signature {
        Signature::new(references)
            .with("case", "mixed")
            .with("eff", "no")
            .with("tok", format!("moses-{}-compounds-split", self.language))
            .with("smooth", "none")
            .with("comparable", "no")
    }

    /// The width of the statistics of [`Bleu`](crate::Bleu).
    fn width(&self) -> usize {
        2 + 2 * MAX_ORDER
    }

    fn segment(&self, hypothesis: &str, references: &[&str]) -> Vec<f64> {
        let references: Vec<_> = references.iter().map(|reference| self.words(reference)).collect();
        segment_statistics(&self.words(hypothesis), &references, MAX_ORDER)
    }

    fn value(&self, statistics: &[f64]) -> f64 {
        score(statistics).score
    }

    fn verbose(&self, statistics: &[f64]) -> String {
        score(statistics).verbose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compounds_are_split_as_the_perl_line_does() {
        assert_eq!(COMPOUNDS.apply("rich-text format"), "rich ##AT##-##AT## text format");
        assert_eq!(COMPOUNDS.apply("a-b-c"), "a ##AT##-##AT## b-c");
        assert_eq!(COMPOUNDS.apply("ab-cd-ef - x"), "ab ##AT##-##AT## cd ##AT##-##AT## ef - x");
        assert_eq!(COMPOUNDS.apply("- -a a-"), "- -a a-");
    }

    #[test]
    fn the_signature_says_not_comparable() {
        let signature = CompoundBleu { language: MosesLanguage::German }.signature(1.into());
        assert_eq!(signature.get("comparable"), Some("no"));
        assert_eq!(signature.get("tok"), Some("moses-de-compounds-split"));
    }

    #[test]
    fn a_hyphen_matches_on_its_own() {
        let (line, metric) =
            ("Rich-Text ist gut.", CompoundBleu { language: MosesLanguage::German });
        let score = score(&metric.segment(line, &[line]));
        assert_eq!((score.sys_len, score.counts), (6, vec![6, 5, 4, 3]));
    }
}
