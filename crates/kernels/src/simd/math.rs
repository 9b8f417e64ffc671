//! Functions of one number.

/// The exponential eˣ with a relative error below 3e-7; 0 below −87.33 and 2^127.5 above 88.37. NaN
/// stays NaN.
///
/// The range reduction and the polynomial are from Cephes' `expf` (Moshier, 1989).
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    const LOWEST: f32 = -87.33;
    const HIGHEST: f32 = 88.37;
    // Adding 1.5·2^23 leaves the nearest whole number in the low bits of the mantissa.
    const ROUND: f32 = 12_582_912.0;
    let clamped = if x > HIGHEST { HIGHEST } else { x };
    let clamped = if clamped < LOWEST { LOWEST } else { clamped };
    let rounded = clamped * std::f32::consts::LOG2_E + ROUND;
    let n = rounded - ROUND;
    let r = clamped - n * 0.693_359_4 - n * -2.121_944_4e-4;
    let p = 1.987_569_1e-4 * r + 1.398_2e-3;
    let p = p * r + 8.333_452e-3;
    let p = p * r + 4.166_579_6e-2;
    let p = p * r + 1.666_666_5e-1;
    let p = p * r + 5.0e-1;
    let y = p * (r * r) + r + 1.0;
    let power = rounded.to_bits().wrapping_shl(23).wrapping_add(127 << 23);
    let value = y * f32::from_bits(power);
    if x < LOWEST { 0.0 } else { value }
}

/// The exponential eˣ of a number that is not above 0, for sums with negligible small terms: the
/// relative error is below 3e-7 + 9e-8·|x|, and below −86 the result is a number below 1e-37.
/// NaN stays NaN. It takes two thirds of the time of [`exp`].
#[inline(always)]
pub fn exp_below_zero(x: f32) -> f32 {
    const LOWEST: f32 = -125.0;
    const ROUND: f32 = 12_582_912.0;
    let power = x * std::f32::consts::LOG2_E;
    let power = if power < LOWEST { LOWEST } else { power };
    let rounded = power + ROUND;
    let r = power - (rounded - ROUND);
    // 2^r for r from −0.5 to 0.5, of the least relative error.
    let p = 1.330_026_4e-3 * r + 9.669_708e-3;
    let p = p * r + 5.550_56e-2;
    let p = p * r + 2.402_228_1e-1;
    let p = p * r + std::f32::consts::LN_2;
    let p = p * r + 1.0;
    f32::from_bits(p.to_bits().wrapping_add(rounded.to_bits().wrapping_shl(23)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::vectorised;

    vectorised! {
        fn exp_all(xs: &[f32], out: &mut [f32]) {
            for (o, &x) in out.iter_mut().zip(xs) {
                *o = exp(x);
            }
        }
    }

    #[test]
    fn exp_is_within_3e_7_of_the_exact_value() {
        let xs: Vec<f32> = (-873_000..883_000).map(|i| i as f32 * 1e-4).collect();
        let mut ys = vec![0.0; xs.len()];
        exp_all(&xs, &mut ys);
        for (&x, &y) in xs.iter().zip(&ys) {
            let exact = f64::from(x).exp();
            assert!(
                (f64::from(y) - exact).abs() <= 3e-7 * exact,
                "exp({x}) = {y}, not {exact}"
            );
        }
    }

    #[test]
    fn exp_below_zero_has_the_error_that_it_states() {
        for x in (-860_000..=0).map(|i| i as f32 * 1e-4) {
            let ours = f64::from(exp_below_zero(x));
            let exact = f64::from(x).exp();
            let most = 3e-7 - 9e-8 * f64::from(x);
            assert!(
                (ours / exact - 1.0).abs() <= most,
                "exp({x}) = {ours}, not {exact}"
            );
        }
        assert_eq!(exp_below_zero(0.0), 1.0);
        assert!((0.0..1e-37).contains(&exp_below_zero(-1e9)));
        assert!((0.0..1e-37).contains(&exp_below_zero(f32::NEG_INFINITY)));
        assert!(exp_below_zero(f32::NAN).is_nan());
    }

    #[test]
    fn exp_of_the_extremes_is_zero_large_or_nan() {
        assert_eq!(exp(f32::NEG_INFINITY), 0.0);
        assert_eq!(exp(0.0), 1.0);
        assert!(exp(f32::INFINITY) > 2e38);
        assert!(exp(f32::NAN).is_nan());
    }

    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        let xs: Vec<f32> = (0..1003).map(|i| (i as f32 * 0.37).sin() * 9.0).collect();
        let mut ys = vec![0.0; xs.len()];
        exp_all(&xs, &mut ys);
        assert!(
            xs.iter()
                .zip(&ys)
                .all(|(&x, y)| exp(x).to_bits() == y.to_bits())
        );
    }
}
