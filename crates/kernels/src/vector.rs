//! Arithmetic on `f32` slices that the compiler turns into vector instructions.
//!
//! The code is portable; [`vectorised!`] compiles a function once more for each instruction set
//! worth having and picks one at run time. Sums run over [`LANES`] fixed lanes and no product is
//! contracted with a sum, so every instruction set gives the same bits.

/// How many partial results a reduction keeps.
pub const LANES: usize = 16;

/// Declares functions compiled for AVX-512, for AVX2 and portably, chosen at run time.
#[doc(hidden)]
#[macro_export]
macro_rules! vectorised {
    ($($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block)*) => {$(
        $(#[$meta])*
        $vis fn $name($($arg: $ty),*) $(-> $ret)? {
            #[inline(always)]
            fn portable($($arg: $ty),*) $(-> $ret)? $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
                fn avx512($($arg: $ty),*) $(-> $ret)? { portable($($arg),*) }

                #[target_feature(enable = "avx2,fma")]
                fn avx2($($arg: $ty),*) $(-> $ret)? { portable($($arg),*) }

                if $crate::internal::vector::has_avx512() {
                    // SAFETY: the processor has every feature the function was compiled for.
                    return unsafe { avx512($($arg),*) };
                }
                if $crate::internal::vector::has_avx2() {
                    // SAFETY: as above.
                    return unsafe { avx2($($arg),*) };
                }
            }
            portable($($arg),*)
        }
    )*};
}
pub use crate::vectorised;

/// Whether the processor has the AVX-512 instructions for which [`vectorised!`] compiles.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn has_avx512() -> bool {
    std::is_x86_feature_detected!("avx512f")
        && std::is_x86_feature_detected!("avx512bw")
        && std::is_x86_feature_detected!("avx512dq")
        && std::is_x86_feature_detected!("avx512vl")
        && has_avx2()
}

/// Whether the processor has AVX2 and fused multiply-add.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn has_avx2() -> bool {
    std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma")
}

/// eˣ with a relative error below 3e-7; 0 below −87.33 and 2^127.5 above 88.37. NaN stays NaN.
///
/// The range reduction and the polynomial are those of Cephes' `expf` (Moshier, 1989).
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

/// 1 / (1 + e⁻ˣ).
#[inline(always)]
pub fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

/// tanh x with a relative error below 5e-7; NaN stays NaN.
///
/// Near 0, where the exponential form cancels, the polynomial of Cephes' `tanhf` (Moshier, 1989).
#[inline(always)]
pub fn tanh(x: f32) -> f32 {
    let size = x.abs();
    let square = x * x;
    let p = -5.704_988_7e-3 * square + 2.063_909e-2;
    let p = p * square - 5.373_971_6e-2;
    let p = p * square + 1.333_144_2e-1;
    let p = p * square - 3.333_328e-1;
    let near = p * square * x + x;
    let far = (1.0 - 2.0 / (exp(2.0 * size) + 1.0)).copysign(x);
    if size < 0.625 { near } else { far }
}

/// Folds `xs` lane by lane with `step`, the lanes then with `join` in a fixed order.
#[inline(always)]
pub fn fold(
    xs: &[f32],
    start: f32,
    step: impl Fn(f32, f32) -> f32,
    join: impl Fn(f32, f32) -> f32,
) -> f32 {
    let mut lanes = [start; LANES];
    let mut chunks = xs.chunks_exact(LANES);
    for chunk in &mut chunks {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            *lane = step(*lane, x);
        }
    }
    for (lane, &x) in lanes.iter_mut().zip(chunks.remainder()) {
        *lane = step(*lane, x);
    }
    halve(lanes, join)
}

/// As [`fold`] over pairs of two slices of one length.
#[inline(always)]
pub fn fold_pairs(xs: &[f32], ys: &[f32], step: impl Fn(f32, f32, f32) -> f32) -> f32 {
    let mut lanes = [0.0f32; LANES];
    let (mut xs, mut ys) = (xs.chunks_exact(LANES), ys.chunks_exact(LANES));
    for (x, y) in (&mut xs).zip(&mut ys) {
        for ((lane, &x), &y) in lanes.iter_mut().zip(x).zip(y) {
            *lane = step(*lane, x, y);
        }
    }
    for ((lane, &x), &y) in lanes.iter_mut().zip(xs.remainder()).zip(ys.remainder()) {
        *lane = step(*lane, x, y);
    }
    halve(lanes, |a, b| a + b)
}

#[inline(always)]
fn halve(mut lanes: [f32; LANES], join: impl Fn(f32, f32) -> f32) -> f32 {
    let mut width = LANES / 2;
    while width > 0 {
        for i in 0..width {
            lanes[i] = join(lanes[i], lanes[i + width]);
        }
        width /= 2;
    }
    lanes[0]
}

/// Σ x.
#[inline(always)]
pub fn sum(xs: &[f32]) -> f32 {
    fold(xs, 0.0, |a, x| a + x, |a, b| a + b)
}

/// The largest x, −∞ of nothing; NaN is passed over.
#[inline(always)]
pub fn max(xs: &[f32]) -> f32 {
    let larger = |a: f32, x: f32| if x > a { x } else { a };
    fold(xs, f32::NEG_INFINITY, larger, larger)
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert!((f64::from(y) - exact).abs() <= 3e-7 * exact, "exp({x}) = {y}, not {exact}");
        }
    }

    #[test]
    fn exp_of_the_extremes_is_zero_large_or_nan() {
        assert_eq!(exp(f32::NEG_INFINITY), 0.0);
        assert_eq!(exp(0.0), 1.0);
        assert!(exp(f32::INFINITY) > 2e38);
        assert!(exp(f32::NAN).is_nan());
    }

    #[test]
    fn tanh_and_sigmoid_are_near_the_exact_values() {
        for i in -200_000..200_000 {
            let x = i as f32 * 1e-4;
            let (exact, wide) = (f64::from(x).tanh(), f64::from(x));
            let own = f64::from(tanh(x));
            assert!((own - exact).abs() <= 5e-7 * exact.abs(), "tanh({x}) = {own}, not {exact}");
            let (own, exact) = (f64::from(sigmoid(x)), 1.0 / (1.0 + (-wide).exp()));
            assert!((own - exact).abs() <= 5e-7 * exact, "sigmoid({x}) = {own}, not {exact}");
        }
        assert_eq!([tanh(1e9), tanh(-1e9), sigmoid(1e9)], [1.0, -1.0, 1.0]);
        assert!(sigmoid(-1e9) < 1e-37 && tanh(f32::NAN).is_nan() && sigmoid(f32::NAN).is_nan());
    }

    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        let xs: Vec<f32> = (0..1003).map(|i| (i as f32 * 0.37).sin() * 9.0).collect();
        let mut ys = vec![0.0; xs.len()];
        exp_all(&xs, &mut ys);
        assert!(xs.iter().zip(&ys).all(|(&x, y)| exp(x).to_bits() == y.to_bits()));
    }

    #[test]
    fn reductions_cover_the_tail() {
        let xs: Vec<f32> = (1..=37).map(|i| i as f32).collect();
        assert_eq!(sum(&xs), 703.0);
        assert_eq!(max(&xs), 37.0);
        assert_eq!(fold_pairs(&xs, &xs, |a, x, y| a + x * y), 17_575.0);
    }
}
