//! What BLEU, chrF and TER have in common.

use crate::bootstrap::{self, Bootstrap};
use crate::{MetricError, ReferenceCount, References, Score, Signature, Statistics};

/// A metric over plain text. A program holds `Box<dyn Metric>`; code that knows its metric calls the richer
/// `corpus_score` of [`Bleu`](crate::Bleu), [`Chrf`](crate::Chrf) or [`Ter`](crate::Ter). Only this crate's metrics
/// implement it, as only they can make a [`Signature`].
pub trait Metric: Send + Sync {
    /// The name that stands before a score.
    fn name(&self) -> String;

    /// Is more better? Not so for TER.
    fn higher_is_better(&self) -> bool {
        true
    }

    /// The signature for so many references.
    fn signature(&self, references: ReferenceCount) -> Signature;

    /// Are the options usable at all?
    ///
    /// # Errors
    /// [`ZeroOrder`](MetricError::ZeroOrder) where no n-grams would be counted.
    fn validate(&self) -> Result<(), MetricError> {
        Ok(())
    }

    /// Can one line be scored within memory?
    ///
    /// # Errors
    /// [`TooManyWords`](MetricError::TooManyWords) by TER, whose memory grows with the square of a line.
    fn check_segment(
        &self,
        _line: usize,
        _hypothesis: &str,
        _references: &[&str],
    ) -> Result<(), MetricError> {
        Ok(())
    }

    /// How many numbers [`segment`](Self::segment) gives.
    fn width(&self) -> usize;

    /// The sufficient statistics of one segment against its references, of which there is at least one.
    fn segment(&self, hypothesis: &str, references: &[&str]) -> Vec<f64>;

    /// The score, on a scale of 100, of summed statistics.
    fn value(&self, statistics: &[f64]) -> f64;

    /// What is printed behind a score of summed statistics.
    fn verbose(&self, _statistics: &[f64]) -> String {
        String::new()
    }

    /// The sufficient statistics of a corpus; resampling tests start here.
    ///
    /// # Errors
    /// Those of [`References::check`], [`Metric::validate`] and [`Metric::check_segment`].
    fn statistics(
        &self,
        hypotheses: &[&str],
        references: &References<'_>,
    ) -> Result<Statistics, MetricError> {
        self.validate()?;
        references.check(hypotheses.len())?;
        let mut statistics = Statistics::new(self.width(), hypotheses.len());
        for (i, hypothesis) in hypotheses.iter().enumerate() {
            self.check_segment(i + 1, hypothesis, references.line(i))?;
            statistics.push(&self.segment(hypothesis, references.line(i)));
        }
        Ok(statistics)
    }

    /// Scores a corpus.
    ///
    /// # Errors
    /// Those of [`Metric::statistics`].
    fn evaluate(
        &self,
        hypotheses: &[&str],
        references: &References<'_>,
    ) -> Result<Score, MetricError> {
        let statistics = self.statistics(hypotheses, references)?;
        Ok(self.score_with(&statistics.sum(), self.signature(references.count())))
    }

    /// Scores a corpus and resamples it for an interval (sacreBLEU's `--confidence`).
    ///
    /// # Errors
    /// Those of [`Metric::statistics`], and [`NoSamples`](MetricError::NoSamples).
    fn evaluate_with_confidence(
        &self,
        hypotheses: &[&str],
        references: &References<'_>,
        bootstrap: Bootstrap,
    ) -> Result<Score, MetricError> {
        let statistics = self.statistics(hypotheses, references)?;
        let scores = bootstrap::resampled(&statistics, bootstrap, |sums| self.value(sums))?;
        let signature =
            self.signature(references.count()).with_bootstrap(bootstrap.samples, bootstrap.seed);
        let confidence = Some(bootstrap::confidence(scores));
        Ok(Score { confidence, ..self.score_with(&statistics.sum(), signature) })
    }

    /// A score of summed statistics, ready to print.
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

/// Borrows every string, for the methods of [`Metric`].
pub fn as_strs<S: AsRef<str>>(texts: &[S]) -> Vec<&str> {
    texts.iter().map(AsRef::as_ref).collect()
}

/// The summed statistics of a corpus.
pub(crate) fn corpus_sums<H: AsRef<str>>(
    metric: &dyn Metric,
    hypotheses: &[H],
    references: &References<'_>,
) -> Result<Vec<f64>, MetricError> {
    Ok(metric.statistics(&as_strs(hypotheses), references)?.sum())
}
