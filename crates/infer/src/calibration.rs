use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hypothesis::Hypothesis;

/// The largest number of steps of Newton's method; it converges in about six.
const MAX_STEPS: usize = 100;
/// The largest change of a converged parameter.
const MAX_CONVERGED_CHANGE: f64 = 1e-9;

/// The function from the probability of a translation to the confidence in it:
/// 1 / (1 + e^−(`offset` + `slope` · p)), with p the geometric mean of the token probabilities.
/// Training fits it to the validation text, and `eval-bleu --calibrate` to any other text, so that
/// translations with confidence 0.7 have 70 chrF on average.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Calibration {
    /// The logit of the confidence in a translation of probability 0.
    pub offset: f64,
    /// The increase of that logit from probability 0 to 1.
    pub slope: f64,
}

impl Calibration {
    /// The confidence in `hypothesis`, between 0 and 1.
    pub fn confidence(self, hypothesis: &Hypothesis) -> f64 {
        self.at(probability(hypothesis))
    }

    /// Fits the function to translations of held-out text and their quality between 0 and 1 (chrF /
    /// 100), by logistic regression. Returns `None` if all translations have equal probability or
    /// quality, or if better translations are not more probable.
    pub fn fit<'a>(translations: impl IntoIterator<Item = (&'a Hypothesis, f64)>) -> Option<Self> {
        let points: Vec<[f64; 2]> = translations
            .into_iter()
            .map(|(hypothesis, quality)| [probability(hypothesis), quality.clamp(0.0, 1.0)])
            .collect();
        let mut fitted = Self {
            offset: 0.0,
            slope: 0.0,
        };
        for _ in 0..MAX_STEPS {
            let [offset, slope] = fitted.newton_step(&points)?;
            fitted.offset += offset;
            fitted.slope += slope;
            if offset.abs().max(slope.abs()) < MAX_CONVERGED_CHANGE {
                return (fitted.slope > 0.0).then_some(fitted);
            }
        }
        None
    }

    /// The change of both parameters by a step of Newton's method; `None` if it is undetermined.
    fn newton_step(self, points: &[[f64; 2]]) -> Option<[f64; 2]> {
        let mut gradient = [0.0; 2];
        let mut curvature = [0.0; 3];
        for &[p, quality] in points {
            let estimate = self.at(p);
            let error = quality - estimate;
            let weight = estimate * (1.0 - estimate);
            gradient = [gradient[0] + error, gradient[1] + error * p];
            let [a, b, c] = curvature;
            curvature = [a + weight, b + weight * p, c + weight * p * p];
        }
        let [a, b, c] = curvature;
        let determinant = a * c - b * b;
        let step = [
            c * gradient[0] - b * gradient[1],
            a * gradient[1] - b * gradient[0],
        ];
        (determinant > 1e-9 * a * c).then(|| step.map(|part| part / determinant))
    }

    fn at(self, p: f64) -> f64 {
        1.0 / (1.0 + (-(self.offset + self.slope * p)).exp())
    }
}

/// The geometric mean of the probabilities of the tokens; 1 for none.
pub(crate) fn probability(hypothesis: &Hypothesis) -> f64 {
    let log_probs = hypothesis.log_probs.iter().map(|&log| f64::from(log));
    (log_probs.sum::<f64>() / hypothesis.log_probs.len().max(1) as f64).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hypothesis(probability: f32) -> Hypothesis {
        Hypothesis {
            log_probs: vec![probability.ln(); 3],
            ..Hypothesis::default()
        }
    }

    /// A fit to 40 translations with the quality of `truth`.
    fn fitted(truth: Calibration) -> Option<Calibration> {
        let all: Vec<_> = (1..=40).map(|i| hypothesis(i as f32 / 40.0)).collect();
        Calibration::fit(
            all.iter()
                .map(|hypothesis| (hypothesis, truth.confidence(hypothesis))),
        )
    }

    #[test]
    fn a_fit_finds_the_parameters_of_its_points() {
        let truth = Calibration {
            offset: -4.0,
            slope: 6.2,
        };
        let found = fitted(truth).unwrap();
        assert!((found.offset - truth.offset).abs() < 1e-4, "{found:?}");
        assert!((found.slope - truth.slope).abs() < 1e-4, "{found:?}");
    }

    #[test]
    fn the_mean_confidence_is_the_mean_quality() {
        let all: Vec<_> = (1..=9)
            .map(|i| {
                (
                    hypothesis(i as f32 / 10.0),
                    f64::from(i % 4) / 4.0 + 0.02 * f64::from(i),
                )
            })
            .collect();
        let found = Calibration::fit(
            all.iter()
                .map(|(hypothesis, quality)| (hypothesis, *quality)),
        )
        .unwrap();
        let mean = |values: Vec<f64>| values.iter().sum::<f64>() / 9.0;
        let confidence = mean(
            all.iter()
                .map(|(hypothesis, _)| found.confidence(hypothesis))
                .collect(),
        );
        let quality = mean(
            all.iter()
                .map(|(_, quality)| quality.clamp(0.0, 1.0))
                .collect(),
        );
        assert!(
            (confidence - quality).abs() < 1e-9,
            "{confidence} {quality}"
        );
    }

    #[test]
    fn uninformative_points_give_no_calibration() {
        let same = [hypothesis(0.5), hypothesis(0.5)];
        assert_eq!(Calibration::fit(same.iter().zip([0.2, 0.9])), None);
        assert_eq!(Calibration::fit([]), None);
        assert_eq!(
            fitted(Calibration {
                offset: 1.0,
                slope: -2.0
            }),
            None,
            "better, not more probable"
        );
        let apart = [hypothesis(0.1), hypothesis(0.9)];
        assert_eq!(
            Calibration::fit(apart.iter().zip([0.0, 1.0])),
            None,
            "no finite slope"
        );
    }
}
