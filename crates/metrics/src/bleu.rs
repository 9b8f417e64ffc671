//! BLEU (Papineni et al., 2002), as sacreBLEU computes it (Post, 2018).

use std::borrow::Cow;

use crate::bleu_score::{BleuScore, Smoothing};
use crate::ngram::{self, Interner};
use crate::signature::{case, yes_no};
use crate::tokenize::BleuTokenizer;
use crate::{Metric, MetricError, ReferenceCount, References, Result, Signature, as_strs, text};

/// BLEU with its options. [`Default`] has sacreBLEU's defaults, which papers report.
#[derive(Debug, Clone, PartialEq)]
pub struct Bleu {
    /// The tokeniser, which splits texts into words.
    pub tokenizer: BleuTokenizer,
    /// If true, texts are lower-cased before they are compared.
    pub lowercase: bool,
    /// The smoothing of n-gram orders without a match.
    pub smoothing: Smoothing,
    /// If true, n-gram orders longer than the hypotheses are left out. This is meant for single
    /// sentences.
    pub effective_order: bool,
    /// The longest n-grams that are counted.
    pub max_order: usize,
}

impl Default for Bleu {
    fn default() -> Self {
        Self {
            tokenizer: BleuTokenizer::V13a,
            lowercase: false,
            smoothing: Smoothing::Exp,
            effective_order: false,
            max_order: 4,
        }
    }
}

impl Bleu {
    /// Computes BLEU of a corpus. `references[r][i]` is reference `r` of line `i`.
    ///
    /// # Errors
    /// Returns the errors of [`Metric::statistics`].
    pub fn corpus_score<H: AsRef<str>, R: AsRef<str>>(
        &self,
        hypotheses: &[H],
        references: &[Vec<R>],
    ) -> Result<BleuScore> {
        let references = References::new(references);
        Ok(self.score(&self.statistics(&as_strs(hypotheses), &references)?.sum()))
    }

    /// Computes the score from statistics that were summed over segments.
    pub fn score(&self, statistics: &[f64]) -> BleuScore {
        BleuScore::new(statistics, self.smoothing, self.effective_order)
    }

    fn words(&self, line: &str) -> String {
        let line = if self.lowercase {
            Cow::Owned(line.to_lowercase())
        } else {
            Cow::Borrowed(line)
        };
        self.tokenizer.tokenize(text::trim_end(&line)).into_owned()
    }
}

impl Metric for Bleu {
    fn name(&self) -> String {
        "BLEU".into()
    }

    fn signature(&self, references: ReferenceCount) -> Signature {
        Signature::new(references)
            .with("case", case(self.lowercase))
            .with("eff", yes_no(self.effective_order))
            .with("tok", self.tokenizer.name())
            .with("smooth", self.smoothing.signature())
    }

    fn validate(&self) -> Result<()> {
        self.tokenizer.load()?;
        if self.max_order == 0 {
            return Err(MetricError::ZeroOrder("BLEU"));
        }
        Ok(())
    }

    /// Hypothesis length, closest reference length, matches per order, n-grams per order.
    fn width(&self) -> usize {
        2 + 2 * self.max_order
    }

    fn segment(&self, hypothesis: &str, references: &[&str]) -> Vec<f64> {
        let hypothesis = self.words(hypothesis);
        let references: Vec<_> = references
            .iter()
            .map(|reference| self.words(reference))
            .collect();
        segment_statistics(&hypothesis, &references, self.max_order)
    }

    fn value(&self, statistics: &[f64]) -> f64 {
        self.score(statistics).score
    }

    fn verbose(&self, statistics: &[f64]) -> String {
        self.score(statistics).verbose()
    }
}

/// [`Bleu::segment`] for texts with spaces between words.
pub(crate) fn segment_statistics(
    hypothesis: &str,
    references: &[String],
    max_order: usize,
) -> Vec<f64> {
    let mut interner = Interner::default();
    let hypothesis = interner.ids(text::split(hypothesis));
    let references: Vec<_> = references
        .iter()
        .map(|reference| interner.ids(text::split(reference)))
        .collect();

    let mut counts = ngram::count(&references[0], max_order);
    for reference in &references[1..] {
        ngram::merge_max(&mut counts, &ngram::count(reference, max_order));
    }
    let matches = ngram::matches(&ngram::count(&hypothesis, max_order), &counts, max_order);
    let totals = (1..=max_order).map(|order| ngram::total(hypothesis.len(), order));
    let lengths = [
        hypothesis.len() as u64,
        closest_length(hypothesis.len(), &references) as u64,
    ];
    let counts = lengths.into_iter().chain(matches).chain(totals);
    counts.map(|count| count as f64).collect()
}

/// Returns the reference length nearest to the hypothesis length; the shorter of two equally near
/// ones.
fn closest_length(hypothesis: usize, references: &[Vec<u32>]) -> usize {
    let lengths = references.iter().map(Vec::len);
    lengths
        .min_by_key(|&len| (hypothesis.abs_diff(len), len))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bleu_without_any_order_is_an_error() {
        let nothing = Bleu {
            max_order: 0,
            ..Bleu::default()
        };
        assert_eq!(
            nothing.corpus_score(&["a"], &[vec!["a"]]),
            Err(MetricError::ZeroOrder("BLEU"))
        );
    }

    #[test]
    fn bad_corpora_are_refused_with_their_counts() {
        let none: [Vec<&str>; 0] = [];
        assert_eq!(
            Bleu::default().corpus_score(&["a"], &none),
            Err(MetricError::NoReferences)
        );
        let error = MetricError::UnequalLengths {
            stream: 1,
            hypotheses: 1,
            references: 2,
        };
        assert_eq!(
            Bleu::default().corpus_score(&["a"], &[vec!["a", "b"]]),
            Err(error)
        );
    }

    #[test]
    fn the_shorter_of_two_equally_near_references_counts() {
        assert_eq!(closest_length(5, &[vec![0; 7], vec![0; 3], vec![0; 9]]), 3);
    }
}
