//! The normaliser of a row of logits, on the host.

/// Logits summed in one go; their float32 sum is then added to a float64 one.
const CHUNK: usize = 512;
const LANES: usize = 16;

/// ln Σ exp(x) over a row of logits: a token's log-probability is its logit less this.
///
/// Not finite if a logit is NaN or +∞, or if all are −∞. Sums run in a fixed order.
pub(crate) fn log_sum_exp(logits: &[f32]) -> f64 {
    let top = maximum(logits);
    if !top.is_finite() {
        return f64::NAN;
    }
    let sum: f64 = logits.chunks(CHUNK).map(|chunk| f64::from(sum_exp(chunk, top))).sum();
    f64::from(top) + sum.ln()
}

/// Softmax of a row of logits, in place; all NaN if [`log_sum_exp`] is not finite.
pub(crate) fn softmax(logits: &mut [f32]) {
    let normaliser = log_sum_exp(logits) as f32;
    logits.iter_mut().for_each(|x| *x = exp(*x - normaliser));
}

/// The largest value; NaN counts as −∞ here and spoils the sum instead.
fn maximum(values: &[f32]) -> f32 {
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let chunks = values.chunks_exact(LANES);
    let rest = chunks.remainder().iter().copied();
    for chunk in chunks {
        for (lane, &value) in lanes.iter_mut().zip(chunk) {
            *lane = if value > *lane { value } else { *lane };
        }
    }
    lanes.into_iter().chain(rest).fold(f32::NEG_INFINITY, f32::max)
}

fn sum_exp(values: &[f32], top: f32) -> f32 {
    let mut lanes = [0.0; LANES];
    let chunks = values.chunks_exact(LANES);
    let rest = chunks.remainder();
    for chunk in chunks {
        for (lane, &value) in lanes.iter_mut().zip(chunk) {
            *lane += exp(value - top);
        }
    }
    let rest = rest.iter().map(|&value| exp(value - top));
    lanes.into_iter().chain(rest).sum()
}

/// e^x for x ≤ 0 to 2e-7 relative, without a call or a branch, so that loops over it vectorise (the
/// system's `expf` took most of a decoding step over 37,000 tokens). NaN stays NaN.
///
/// 2^n · e^r with n the integer nearest to x·log₂e and r in ±ln 2 / 2: Taylor's sixth degree.
#[inline(always)]
fn exp(x: f32) -> f32 {
    const ROUND: f32 = 12_582_912.0; // 1.5 · 2^23: adding it leaves the nearest integer in the low bits.
    const LN_2_HIGH: f32 = 0.693_359_4;
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    // Below −87 the result would be subnormal; it is as good as nothing beside the maximum's 1.
    let clamped = if x < -87.0 { -87.0 } else { x };
    let shifted = clamped * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = clamped - n * LN_2_HIGH - n * LN_2_LOW;
    let mut p = 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    let exponent = (shifted.to_bits() << 23).wrapping_add(127 << 23);
    p * f32::from_bits(exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_is_the_libraries_to_a_few_units_in_the_last_place() {
        for i in 0..870_000 {
            let x = -(i as f32) * 1e-4;
            let expected = f64::from(x).exp();
            let error = (f64::from(exp(x)) / expected - 1.0).abs();
            assert!(error < 3e-7, "{x}: {error}");
        }
    }

    #[test]
    fn the_normaliser_is_that_of_float64() {
        let logits: Vec<f32> =
            (0..5003).map(|i| ((i * 7919) % 1000) as f32 / 50.0 - 10.0).collect();
        let expected = logits.iter().map(|&x| f64::from(x).exp()).sum::<f64>().ln();
        assert!((log_sum_exp(&logits) - expected).abs() < 1e-6);
        assert!((log_sum_exp(&[f32::NEG_INFINITY, 2.0]) - 2.0).abs() < 1e-12);
    }

    #[test]
    fn softmax_sums_to_one() {
        let mut row: Vec<f32> = (0..100).map(|i| i as f32 / 7.0).collect();
        softmax(&mut row);
        assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        assert!((row[99] / row[98] - (1.0f32 / 7.0).exp()).abs() < 1e-5);
    }

    #[test]
    fn values_that_are_no_numbers_are_noticed() {
        assert!(log_sum_exp(&[1.0, f32::NAN]).is_nan());
        assert!(!log_sum_exp(&[f32::INFINITY, 0.0]).is_finite());
        assert!(!log_sum_exp(&[f32::NEG_INFINITY; 3]).is_finite());
        assert!(!log_sum_exp(&[]).is_finite());
    }
}
