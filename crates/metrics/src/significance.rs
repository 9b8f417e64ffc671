//! Two paired significance tests, equal to sacreBLEU's. They tell whether a difference between two
//! systems on the same lines is due to chance.

use crate::bootstrap::{self, Bootstrap, check};
use crate::numpy_rng::NumpyRng;
use crate::{Confidence, Metric, Result, Statistics};

/// Default trials of [`approximate_randomization`]: 10,000 with seed 12345, as in sacreBLEU.
pub const RANDOMIZATION: Bootstrap = Bootstrap {
    samples: 10_000,
    seed: 12345,
};

/// The result of a paired significance test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairedResult {
    /// The baseline's score.
    pub baseline: f64,
    /// The system's score.
    pub system: f64,
    /// The probability of a difference of at least this size if both systems were equally good.
    pub p_value: f64,
    /// Mean and confidence interval of the baseline, if the test resamples.
    pub baseline_confidence: Option<Confidence>,
    /// Mean and confidence interval of the system, if the test resamples.
    pub system_confidence: Option<Confidence>,
}

/// Paired bootstrap resampling (Koehn, 2004): both systems are scored on the same resamples
/// (sacreBLEU's `--paired-bs`).
///
/// # Errors
/// Returns [`UnequalSystems`](crate::MetricError::UnequalSystems) if the systems have different
/// numbers of lines, [`NoSamples`](crate::MetricError::NoSamples) if no samples are asked for, and
/// [`EmptyCorpus`](crate::MetricError::EmptyCorpus) if there is no line.
pub fn paired_bootstrap(
    metric: &dyn Metric,
    baseline: &Statistics,
    system: &Statistics,
    bootstrap: Bootstrap,
) -> Result<PairedResult> {
    check(baseline, system, bootstrap)?;
    let baseline_scores = bootstrap::resampled(baseline, bootstrap, |sums| metric.value(sums))?;
    let system_scores = bootstrap::resampled(system, bootstrap, |sums| metric.value(sums))?;
    let differences: Vec<f64> = baseline_scores
        .iter()
        .zip(&system_scores)
        .map(|(a, b)| (b - a).abs())
        .collect();
    let mean = differences.iter().sum::<f64>() / differences.len() as f64;
    let a = metric.value(&baseline.sum());
    let b = metric.value(&system.sum());
    Ok(PairedResult {
        baseline: a,
        system: b,
        p_value: p_value(
            differences.iter().map(|difference| difference - mean),
            (a - b).abs(),
        ),
        baseline_confidence: Some(bootstrap::confidence(baseline_scores)),
        system_confidence: Some(bootstrap::confidence(system_scores)),
    })
}

/// Approximate randomisation (Riezler and Maxwell, 2005): each trial exchanges the outputs of the
/// two systems on random lines (sacreBLEU's `--paired-ar`).
///
/// # Errors
/// Returns [`UnequalSystems`](crate::MetricError::UnequalSystems) if the systems have different
/// numbers of lines, [`NoSamples`](crate::MetricError::NoSamples) if no samples are asked for, and
/// [`EmptyCorpus`](crate::MetricError::EmptyCorpus) if there is no line.
pub fn approximate_randomization(
    metric: &dyn Metric,
    baseline: &Statistics,
    system: &Statistics,
    trials: Bootstrap,
) -> Result<PairedResult> {
    check(baseline, system, trials)?;
    let a = metric.value(&baseline.sum());
    let b = metric.value(&system.sum());
    let mut bits = NumpyRng::new(trials.seed).bits();
    let differences = (0..trials.samples).map(|_| {
        let [one, other] = swapped(baseline, system, &mut bits);
        (metric.value(&one) - metric.value(&other)).abs()
    });
    let p_value = p_value(differences, (a - b).abs());
    Ok(PairedResult {
        baseline: a,
        system: b,
        p_value,
        baseline_confidence: None,
        system_confidence: None,
    })
}

/// Returns the sums of two systems after exchanging random lines; each line is used once.
fn swapped(
    baseline: &Statistics,
    system: &Statistics,
    bits: &mut impl Iterator<Item = bool>,
) -> [Vec<f64>; 2] {
    let mut sums = [baseline.sum_of([]), system.sum_of([])];
    for (segment, stays) in (0..baseline.len()).zip(bits) {
        let index = usize::from(!stays);
        baseline.add_row(segment, &mut sums[index]);
        system.add_row(segment, &mut sums[1 - index]);
    }
    sums
}

/// Returns the share of trials with a larger difference than the real one. Both counts are
/// increased by one, so it is never 0.
fn p_value(differences: impl ExactSizeIterator<Item = f64>, real: f64) -> f64 {
    let trials = differences.len();
    let greater = differences.filter(|&difference| difference > real).count();
    (greater + 1) as f64 / (trials + 1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MetricError, References, Ter};

    fn statistics(hypotheses: &[&str]) -> Statistics {
        let references = [vec!["a b c"; hypotheses.len()]];
        Ter::default()
            .statistics(hypotheses, &References::new(&references))
            .unwrap()
    }

    #[test]
    fn a_system_does_not_differ_from_itself() {
        let same = statistics(&["a b", "c", "a b c"]);
        let ter = Ter::default();
        let bootstrapped = paired_bootstrap(&ter, &same, &same, Bootstrap::default()).unwrap();
        assert_eq!(bootstrapped.p_value, 1.0 / 1001.0); // sacreBLEU says the same of two equal systems
        assert_eq!(bootstrapped.baseline, bootstrapped.system);
    }

    #[test]
    fn systems_of_unequal_length_are_an_error() {
        let two = statistics(&["a", "b"]);
        let three = statistics(&["a", "b", "c"]);
        let error = Err(MetricError::UnequalSystems {
            baseline: 2,
            system: 3,
        });
        assert_eq!(
            paired_bootstrap(&Ter::default(), &two, &three, Bootstrap::default()),
            error
        );
        assert_eq!(
            approximate_randomization(&Ter::default(), &two, &three, RANDOMIZATION),
            error
        );
    }

    #[test]
    fn a_test_without_trials_is_an_error() {
        let one = statistics(&["a"]);
        let none = Bootstrap {
            samples: 0,
            seed: 1,
        };
        assert_eq!(
            approximate_randomization(&Ter::default(), &one, &one, none),
            Err(MetricError::NoSamples)
        );
    }
}
