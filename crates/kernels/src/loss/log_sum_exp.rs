use crate::simd::{exp, exp_below_zero, fold, max, vectorised};

/// The number of terms that are summed in 32 bits before their sum is added to a sum in 64 bits.
const CHUNK_TERMS: usize = 512;

/// ln Σ eˣ over a row of logits on the host. The log-probability of a token is its logit minus this
/// number.
///
/// The result is not finite if a logit is NaN or +∞, or if all logits are −∞. The terms are summed
/// in a fixed order.
pub fn log_sum_exp(logits: &[f32]) -> f64 {
    let top = highest(logits);
    if !top.is_finite() {
        return f64::NAN;
    }
    let sum: f64 = logits
        .chunks(CHUNK_TERMS)
        .map(|chunk| f64::from(sum_of_exp(chunk, top)))
        .sum();
    f64::from(top) + sum.ln()
}

/// Softmax of a row of logits on the host, in place. All results are NaN if [`log_sum_exp`] is not
/// finite.
///
/// No probability is below e⁻⁸⁷. Compared with the largest probability this is effectively zero,
/// but its logarithm is finite.
pub fn softmax(logits: &mut [f32]) {
    exp_below(logits, log_sum_exp(logits) as f32);
}

vectorised! {
    /// e^(x − top) of numbers that are at most `top`.
    fn exp_below(xs: &mut [f32], top: f32) {
        for x in xs {
            let below = *x - top;
            *x = exp(if below < -87.0 { -87.0 } else { below });
        }
    }

    /// Returns the largest x.
    pub(super) fn highest(xs: &[f32]) -> f32 {
        max(xs)
    }

    /// Σ e^(x − top).
    pub(super) fn sum_of_exp(xs: &[f32], top: f32) -> f32 {
        fold(xs, 0.0, |sum, x| sum + exp_below_zero(x - top), |a, b| a + b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_sum_exp_equals_float64() {
        let logits: Vec<f32> = (0..5003)
            .map(|i| ((i * 7919) % 1000) as f32 / 50.0 - 10.0)
            .collect();
        let expected = logits.iter().map(|&x| f64::from(x).exp()).sum::<f64>().ln();
        assert!((log_sum_exp(&logits) - expected).abs() < 1e-6);
        assert!((log_sum_exp(&[f32::NEG_INFINITY, 2.0]) - 2.0).abs() < 1e-12);
    }

    #[test]
    fn softmax_sums_to_one_and_is_never_zero() {
        let mut row: Vec<f32> = (0..100).map(|i| i as f32 / 7.0).collect();
        row.extend([f32::NEG_INFINITY, -1e9]);
        softmax(&mut row);
        assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        assert!((row[99] / row[98] - (1.0f32 / 7.0).exp()).abs() < 1e-5);
        assert!(
            row[100] == row[101] && (1e-38..1e-37).contains(&row[101]),
            "{}",
            row[101]
        );
        let mut nothing = [1.0, f32::NAN];
        softmax(&mut nothing);
        assert!(nothing.iter().all(|x| x.is_nan()));
    }

    #[test]
    fn nan_and_infinity_give_no_finite_result() {
        assert!(log_sum_exp(&[1.0, f32::NAN]).is_nan());
        assert!(!log_sum_exp(&[f32::INFINITY, 0.0]).is_finite());
        assert!(!log_sum_exp(&[f32::NEG_INFINITY; 3]).is_finite());
        assert!(!log_sum_exp(&[]).is_finite());
    }
}
