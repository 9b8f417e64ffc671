//! Bootstrap confidence intervals of one system (Koehn, 2004), with the same resamples as
//! sacreBLEU.

use crate::numpy_rng::NumpyRng;
use crate::{Confidence, MetricError, Result, Statistics};

/// Number of resamples and seed of a resampling test. [`Default`] is sacreBLEU's: 1000 resamples,
/// seed 12345.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bootstrap {
    /// The number of times that the corpus is resampled.
    pub samples: usize,
    /// Seed of the random number generator.
    pub seed: u64,
}

impl Default for Bootstrap {
    fn default() -> Self {
        Self {
            samples: 1000,
            seed: 12345,
        }
    }
}

/// Returns the scores of resampled corpora. A resample has as many segments as the corpus, drawn
/// with replacement, and is scored by its summed statistics.
///
/// # Errors
/// Returns [`NoSamples`](MetricError::NoSamples) if no resamples are asked for, and
/// [`EmptyCorpus`](MetricError::EmptyCorpus) if there is no segment.
pub fn resampled(
    statistics: &Statistics,
    bootstrap: Bootstrap,
    score: impl Fn(&[f64]) -> f64,
) -> Result<Vec<f64>> {
    check(statistics, statistics, bootstrap)?;
    let segments = u32::try_from(statistics.len()).expect("a corpus has fewer than 2^32 lines");
    let mut rng = NumpyRng::new(bootstrap.seed);
    let mut scores = Vec::with_capacity(bootstrap.samples);
    for _ in 0..bootstrap.samples {
        let drawn = (0..segments).map(|_| rng.below(segments) as usize);
        scores.push(score(&statistics.sum_of(drawn)));
    }
    Ok(scores)
}

/// Checks that two systems have the same number of lines, at least one, and that resamples are
/// asked for.
pub(crate) fn check(
    baseline: &Statistics,
    system: &Statistics,
    bootstrap: Bootstrap,
) -> Result<()> {
    let baseline = baseline.len();
    let system = system.len();
    if baseline != system {
        return Err(MetricError::UnequalSystems { baseline, system });
    }
    if baseline == 0 {
        return Err(MetricError::EmptyCorpus);
    }
    if bootstrap.samples == 0 {
        return Err(MetricError::NoSamples);
    }
    Ok(())
}

/// Computes the mean and the 95 % confidence interval of resampled scores. The interval is half the
/// distance between the lowest and the highest score after 1/40 of the scores on either side is
/// left out.
pub fn confidence(mut scores: Vec<f64>) -> Confidence {
    scores.sort_by(f64::total_cmp);
    let lower = scores.len() / 40;
    let upper = scores.len() - lower - 1;
    let mean = scores.iter().sum::<f64>() / scores.len() as f64;
    Confidence {
        mean,
        interval: 0.5 * (scores[upper] - scores[lower]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fortieth_is_left_out_on_either_side() {
        let found = confidence((0..80).rev().map(f64::from).collect());
        assert_eq!(
            found,
            Confidence {
                mean: 39.5,
                interval: 0.5 * (77.0 - 2.0)
            }
        );
    }

    #[test]
    fn no_samples_are_an_error() {
        let mut statistics = Statistics::new(1, 1);
        statistics.push(&[1.0]);
        let none = Bootstrap {
            samples: 0,
            ..Bootstrap::default()
        };
        assert_eq!(
            resampled(&statistics, none, |sums| sums[0]),
            Err(MetricError::NoSamples)
        );
    }

    #[test]
    fn an_empty_corpus_is_an_error() {
        let scores = resampled(&Statistics::new(1, 0), Bootstrap::default(), |sums| sums[0]);
        assert_eq!(scores, Err(MetricError::EmptyCorpus));
    }
}
