//! TER (Snover et al., 2006): the number of edits divided by the number of reference words, where
//! moving a phrase is one edit.
//!
//! Phrases to move are found by Tercom's heuristic, with the limits that sacreBLEU has taken over.
//! Scores therefore agree with both.

mod edit_distance;
mod shift;

use crate::ngram::Interner;
use crate::signature::{case, yes_no};
use crate::tokenize::tercom::Ter;
use crate::{Metric, MetricError, ReferenceCount, Result, Signature, text};

/// Largest number of cells in the matrix of edit distances, with five bytes each. This allows lines
/// of about 100,000 words. The search for phrases takes up to 100,000 steps for each of them.
const MAX_CELLS: usize = 5_000_000;

impl Ter {
    fn words(&self, line: &str) -> String {
        self.tokenize(text::trim_end(line))
    }

    // sacreBLEU tokenises references twice, which changes the result where they are normalised
    // (`3's.` becomes `3's .`, and then `3 's .`).
    fn reference_words(&self, line: &str) -> String {
        let words = self.words(line);
        if self.normalized {
            self.words(&words)
        } else {
            words
        }
    }
}

impl Metric for Ter {
    fn name(&self) -> String {
        "TER".into()
    }

    fn signature(&self, references: ReferenceCount) -> Signature {
        Signature::new(references)
            .with("case", case(!self.case_sensitive))
            .with("tok", "tercom")
            .with("norm", yes_no(self.normalized))
            .with("punct", yes_no(!self.no_punct))
            .with("asian", yes_no(self.asian_support))
    }

    fn check_segment(&self, line: usize, hypothesis: &str, references: &[&str]) -> Result<()> {
        for reference in references {
            // A word has at least one byte.
            if fits(hypothesis.len(), reference.len()) {
                continue;
            }
            let hypothesis = text::split(&self.words(hypothesis)).count();
            let reference = text::split(&self.reference_words(reference)).count();
            if !fits(hypothesis, reference) {
                return Err(MetricError::TooManyWords {
                    metric: "TER",
                    line,
                    hypothesis,
                    reference,
                });
            }
        }
        Ok(())
    }

    /// Returns the number of edits, compared with the nearest reference, and the number of words of
    /// the references on average.
    fn width(&self) -> usize {
        2
    }

    fn segment(&self, hypothesis: &str, references: &[&str]) -> Vec<f64> {
        let lines = std::iter::once(self.words(hypothesis));
        let lines: Vec<String> = lines
            .chain(references.iter().map(|line| self.reference_words(line)))
            .collect();
        let mut interner = Interner::default();
        let words: Vec<_> = lines
            .iter()
            .map(|line| interner.ids(text::split(line)))
            .collect();
        let (hypothesis, references) = words
            .split_first()
            .expect("the hypothesis is the first line");
        let edits = references
            .iter()
            .map(|reference| shift::edits(hypothesis, reference));
        let fewest = edits.min().unwrap_or(0);
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

/// Returns whether the matrix of edit distances of two lengths is within the limit.
fn fits(hypothesis: usize, reference: usize) -> bool {
    edit_distance::cells(hypothesis, reference) <= MAX_CELLS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::References;

    /// Returns the score, the number of edits and the length of the references.
    fn score(hypothesis: &str, references: &[&str]) -> (f64, [f64; 2]) {
        let ter = Ter::default();
        let statistics = ter.statistics(&[hypothesis], &References::of_segment(references));
        let sums = statistics.unwrap().sum();
        (ter.value(&sums), [sums[0], sums[1]])
    }

    #[test]
    fn moving_a_phrase_is_one_edit() {
        assert_eq!(score("d e f a b c", &["a b c d e f"]).1, [1.0, 6.0]);
    }

    #[test]
    fn words_against_an_empty_reference_are_all_edits() {
        assert_eq!(score("a b", &[""]), (100.0, [2.0, 0.0]));
        assert_eq!(score("", &[""]).0, 0.0);
    }

    #[test]
    fn lines_that_would_take_too_long_are_refused_by_number() {
        let long = "a ".repeat(200_000);
        let lines = [vec!["a", &long]];
        let error = Ter::default()
            .evaluate(&["a", &long], &References::new(&lines))
            .unwrap_err();
        let expected = MetricError::TooManyWords {
            metric: "TER",
            line: 2,
            hypothesis: 200_000,
            reference: 200_000,
        };
        assert_eq!(error, expected);
        score(&long, &["a"]);
    }

    #[test]
    fn the_length_is_averaged_over_the_references() {
        assert_eq!(score("a b", &["a b", "a b c"]).1, [0.0, 2.5]);
    }
}
