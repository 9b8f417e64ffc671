//! TER (Snover et al., 2006): the number of edits divided by the number of reference words, where moving a phrase is
//! one edit.
//!
//! Phrases to move are found by Tercom's heuristic, with the limits that sacreBLEU has taken over, so that scores agree
//! with both.

mod alignment;
mod edit_distance;
mod shift;

use std::fmt;

use crate::metric::corpus_sums;
use crate::ngram::Interner;
use crate::signature::{case, yes_no};
use crate::{Metric, MetricError, ReferenceCount, References, Signature, text, tokenize::tercom};

/// Largest number of cells in the matrix of edit distances, with five bytes each. This allows lines of about 7,000
/// words.
const MOST_CELLS: usize = 50_000_000;

/// TER with its options; lower is better. [`Default`] has sacreBLEU's defaults: lower-cased words, separated by spaces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ter {
    /// Whether punctuation is split off and XML escapes are undone.
    pub normalized: bool,
    /// Whether punctuation is removed.
    pub no_punct: bool,
    /// Whether Chinese and Japanese characters are words (with `normalized`) and their punctuation is removed (with
    /// `no_punct`).
    pub asian_support: bool,
    /// Whether case is kept.
    pub case_sensitive: bool,
}

/// A TER score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TerScore {
    /// TER on a scale of 100; it can exceed 100.
    pub score: f64,
    /// Number of edits in all lines. Each line is compared with its nearest reference.
    pub num_edits: u64,
    /// Number of reference words in all lines, averaged over the references of each line.
    pub ref_length: f64,
}

impl fmt::Display for TerScore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TER = {:.*}", f.precision().unwrap_or(2), self.score)
    }
}

impl Ter {
    /// TER of a corpus; `references[r][i]` is reference `r` of line `i`.
    ///
    /// # Errors
    /// Those of [`Metric::statistics`].
    pub fn corpus_score<H: AsRef<str>, R: AsRef<str>>(
        &self,
        hypotheses: &[H],
        references: &[Vec<R>],
    ) -> Result<TerScore, MetricError> {
        Ok(self.score(&corpus_sums(self, hypotheses, &References::new(references))?))
    }

    /// TER of one sentence.
    ///
    /// # Errors
    /// Those of [`Metric::statistics`].
    pub fn sentence_score<R: AsRef<str>>(
        &self,
        hypothesis: &str,
        references: &[R],
    ) -> Result<TerScore, MetricError> {
        Ok(self.score(&corpus_sums(self, &[hypothesis], &References::of_segment(references))?))
    }

    fn words(&self, line: &str) -> String {
        tercom::tokenize(text::trim_end(line), self)
    }

    // sacreBLEU tokenises references twice, which changes the result where they are normalised (`3's.` becomes `3's .`,
    // and then `3 's .`).
    fn reference_words(&self, line: &str) -> String {
        let words = self.words(line);
        if self.normalized { self.words(&words) } else { words }
    }

    /// The score of statistics that were summed over segments.
    pub fn score(&self, statistics: &[f64]) -> TerScore {
        TerScore {
            score: self.value(statistics),
            num_edits: statistics[0] as u64,
            ref_length: statistics[1],
        }
    }
}

impl Metric for Ter {
    fn name(&self) -> String {
        "TER".into()
    }

    fn higher_is_better(&self) -> bool {
        false
    }

    fn signature(&self, references: ReferenceCount) -> Signature {
        let mut signature = Signature::new(references);
        signature.push("case", "c", case(!self.case_sensitive));
        signature.push("tok", "t", "tercom");
        signature.push("norm", "nr", yes_no(self.normalized));
        signature.push("punct", "pn", yes_no(!self.no_punct));
        signature.push("asian", "as", yes_no(self.asian_support));
        signature
    }

    fn check_segment(
        &self,
        line: usize,
        hypothesis: &str,
        references: &[&str],
    ) -> Result<(), MetricError> {
        let fits = |a: usize, b: usize| a.saturating_add(1).saturating_mul(b + 1) <= MOST_CELLS;
        for reference in references {
            // A word has at least one byte.
            if fits(hypothesis.len(), reference.len()) {
                continue;
            }
            let words = text::split(&self.words(hypothesis)).count();
            let others = text::split(&self.reference_words(reference)).count();
            if !fits(words, others) {
                let metric = "TER";
                return Err(MetricError::TooManyWords {
                    metric,
                    line,
                    hypothesis: words,
                    reference: others,
                });
            }
        }
        Ok(())
    }

    /// The number of edits and the average reference length.
    fn width(&self) -> usize {
        2
    }

    fn segment(&self, hypothesis: &str, references: &[&str]) -> Vec<f64> {
        let lines = std::iter::once(self.words(hypothesis));
        let lines: Vec<String> =
            lines.chain(references.iter().map(|line| self.reference_words(line))).collect();
        let mut interner = Interner::default();
        let words: Vec<_> = lines.iter().map(|line| interner.ids(text::split(line))).collect();
        let (hypothesis, references) =
            words.split_first().expect("the hypothesis is the first line");
        let fewest = references
            .iter()
            .map(|reference| shift::edits(hypothesis, reference))
            .min()
            .unwrap_or(0);
        let length: usize = references.iter().map(Vec::len).sum();
        vec![fewest as f64, length as f64 / references.len() as f64]
    }

    fn value(&self, statistics: &[f64]) -> f64 {
        match (statistics[0], statistics[1]) {
            (edits, length) if length > 0.0 => 100.0 * (edits / length),
            (edits, _) if edits > 0.0 => 100.0,
            _ => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moving_a_phrase_is_one_edit() {
        let score = Ter::default().sentence_score("d e f a b c", &["a b c d e f"]).unwrap();
        assert_eq!((score.num_edits, score.ref_length), (1, 6.0));
    }

    #[test]
    fn words_against_an_empty_reference_are_all_edits() {
        let score = Ter::default().sentence_score("a b", &[""]).unwrap();
        assert_eq!((score.score, score.num_edits), (100.0, 2));
        assert_eq!(Ter::default().sentence_score("", &[""]).unwrap().score, 0.0);
    }

    #[test]
    fn lines_that_would_fill_the_memory_are_refused_by_number() {
        let long = "a ".repeat(10_000);
        let error = Ter::default().corpus_score(&["a", &long], &[vec!["a", &long]]).unwrap_err();
        let expected = MetricError::TooManyWords {
            metric: "TER",
            line: 2,
            hypothesis: 10_000,
            reference: 10_000,
        };
        assert_eq!(error, expected);
        assert!(Ter::default().sentence_score(&long, &["a"]).is_ok());
    }

    #[test]
    fn the_length_is_averaged_over_the_references() {
        let score = Ter::default().sentence_score("a b", &["a b", "a b c"]).unwrap();
        assert_eq!((score.num_edits, score.ref_length), (0, 2.5));
    }
}
