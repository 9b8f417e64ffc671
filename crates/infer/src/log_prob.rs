//! Softmax of a row of logits, on the host.

use burnformer_kernels::log_sum_exp;

/// Softmax of a row of logits, in place; all NaN if [`log_sum_exp`] is not finite.
pub(crate) fn softmax(logits: &mut [f32]) {
    let normaliser = log_sum_exp(logits) as f32;
    logits.iter_mut().for_each(|x| *x = exp(*x - normaliser));
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
    fn softmax_sums_to_one() {
        let mut row: Vec<f32> = (0..100).map(|i| i as f32 / 7.0).collect();
        softmax(&mut row);
        assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        assert!((row[99] / row[98] - (1.0f32 / 7.0).exp()).abs() < 1e-5);
    }
}
