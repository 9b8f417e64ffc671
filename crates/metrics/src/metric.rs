//! The common trait of BLEU, chrF and TER.

use crate::bootstrap::{self, Bootstrap};
use crate::{ReferenceCount, References, Result, Score, Signature, Statistics};

/// A metric of plain text, for use as `Box<dyn Metric>`. For BLEU,
/// [`Bleu::corpus_score`](crate::Bleu::corpus_score) returns more details. Only metrics of this
/// crate implement the trait, because only they can make a [`Signature`].
pub trait Metric: Send + Sync {
    /// Returns the name that is printed before a score.
    fn name(&self) -> String;

    /// Returns the signature of a score that was computed with `references`.
    fn signature(&self, references: ReferenceCount) -> Signature;

    /// Checks the options.
    ///
    /// # Errors
    /// Returns [`ZeroOrder`](crate::MetricError::ZeroOrder) if no n-grams would be counted.
    fn validate(&self) -> Result<()> {
        Ok(())
    }

    /// Checks that one line can be scored in a reasonable time.
    ///
    /// # Errors
    /// Returns [`TooManyWords`](crate::MetricError::TooManyWords) from TER, whose search takes many
    /// steps for each word of a line.
    fn check_segment(&self, _line: usize, _hypothesis: &str, _references: &[&str]) -> Result<()> {
        Ok(())
    }

    /// Returns the length of the list that [`segment`](Self::segment) returns.
    fn width(&self) -> usize;

    /// Computes the sufficient statistics of one segment from `hypothesis` and its `references`.
    /// There must be at least one reference.
    fn segment(&self, hypothesis: &str, references: &[&str]) -> Vec<f64>;

    /// Computes the score, on a scale of 100, from statistics that were summed over segments.
    fn value(&self, statistics: &[f64]) -> f64;

    /// Returns the details that are printed after a score.
    fn verbose(&self, _statistics: &[f64]) -> String {
        String::new()
    }

    /// Computes the sufficient statistics of a corpus, one row per segment. Resampling tests need
    /// them.
    ///
    /// # Errors
    /// Returns the errors of [`References::check`], [`Metric::validate`] and
    /// [`Metric::check_segment`].
    fn statistics(&self, hypotheses: &[&str], references: &References<'_>) -> Result<Statistics> {
        self.validate()?;
        references.check(hypotheses.len())?;
        let mut statistics = Statistics::new(self.width(), hypotheses.len());
        for (i, hypothesis) in hypotheses.iter().enumerate() {
            self.check_segment(i + 1, hypothesis, references.line(i))?;
            statistics.push(&self.segment(hypothesis, references.line(i)));
        }
        Ok(statistics)
    }

    /// Computes a separate score for each segment, on a scale of 100.
    ///
    /// # Errors
    /// Returns the errors of [`Metric::statistics`].
    fn by_segment(&self, hypotheses: &[&str], references: &References<'_>) -> Result<Vec<f64>> {
        let statistics = self.statistics(hypotheses, references)?;
        Ok((0..statistics.len())
            .map(|segment| self.value(statistics.row(segment)))
            .collect())
    }

    /// Scores a corpus.
    ///
    /// # Errors
    /// Returns the errors of [`Metric::statistics`].
    fn evaluate(&self, hypotheses: &[&str], references: &References<'_>) -> Result<Score> {
        let statistics = self.statistics(hypotheses, references)?;
        Ok(self.score_with(&statistics.sum(), self.signature(references.count())))
    }

    /// Scores a corpus and resamples it for a confidence interval (sacreBLEU's `--confidence`).
    ///
    /// # Errors
    /// Returns the errors of [`Metric::statistics`], and
    /// [`NoSamples`](crate::MetricError::NoSamples) if `bootstrap` asks for no resamples.
    fn evaluate_with_confidence(
        &self,
        hypotheses: &[&str],
        references: &References<'_>,
        bootstrap: Bootstrap,
    ) -> Result<Score> {
        let statistics = self.statistics(hypotheses, references)?;
        let scores = bootstrap::resampled(&statistics, bootstrap, |sums| self.value(sums))?;
        let signature = self
            .signature(references.count())
            .with_bootstrap(bootstrap.samples, bootstrap.seed);
        let confidence = Some(bootstrap::confidence(scores));
        Ok(Score {
            confidence,
            ..self.score_with(&statistics.sum(), signature)
        })
    }

    /// Makes a printable score from statistics that were summed over segments.
    fn score_with(&self, sums: &[f64], signature: Signature) -> Score {
        Score {
            name: self.name(),
            value: self.value(sums),
            verbose: self.verbose(sums),
            signature,
            confidence: None,
        }
    }
}

/// Borrows every string as `&str`, which the methods of [`Metric`] take.
pub fn as_strs<S: AsRef<str>>(texts: &[S]) -> Vec<&str> {
    texts.iter().map(AsRef::as_ref).collect()
}
