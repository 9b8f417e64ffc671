//! Sums of products in instructions of x86.

use std::arch::x86_64::*;

use super::fold::LANES;

/// Σ x·y over two slices of equal length, with the bits of
/// [`fold_pairs`](super::fold_pairs)`(xs, ys, |sum, x, y| sum + x * y)`.
///
/// The compiler turns such a loop into narrow vectors with many shuffles, which take three times as
/// long. The wider vectors of AVX-512 save at most a tenth.
///
/// # Safety
/// The processor has these instructions: [`has_avx2`](super::has_avx2).
#[inline]
#[target_feature(enable = "avx2,fma")]
pub fn dot_avx2(xs: &[f32], ys: &[f32]) -> f32 {
    let (xs, xs_rest) = xs.as_chunks::<LANES>();
    let (ys, ys_rest) = ys.as_chunks::<LANES>();
    let mut lanes = [_mm256_setzero_ps(); 2];
    for (x, y) in xs.iter().zip(ys) {
        add_products(&mut lanes, x, y);
    }
    if !xs_rest.is_empty() {
        // A product of zeros changes no sum: none of them is −0.
        add_products(&mut lanes, &filled(xs_rest), &filled(ys_rest));
    }
    halved(_mm256_add_ps(lanes[0], lanes[1]))
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn add_products(lanes: &mut [__m256; 2], xs: &[f32; LANES], ys: &[f32; LANES]) {
    for (half, lanes) in lanes.iter_mut().enumerate() {
        let at = half * LANES / 2;
        let (x, y) = (vector(xs, at), vector(ys, at));
        *lanes = _mm256_add_ps(*lanes, _mm256_mul_ps(x, y));
    }
}

/// Returns the numbers of half a chunk, from `at` on.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn vector(chunk: &[f32; LANES], at: usize) -> __m256 {
    let numbers: [f32; LANES / 2] = std::array::from_fn(|lane| chunk[at + lane]);
    bytemuck::cast(numbers)
}

/// Returns a chunk that begins with `rest` and is filled up with zeros.
#[inline]
fn filled(rest: &[f32]) -> [f32; LANES] {
    let mut chunk = [0.0; LANES];
    chunk[..rest.len()].copy_from_slice(rest);
    chunk
}

/// Returns the sum of the lanes: both halves are added lane by lane, then the halves of the result.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn halved(lanes: __m256) -> f32 {
    let lanes = _mm_add_ps(
        _mm256_castps256_ps128(lanes),
        _mm256_extractf128_ps::<1>(lanes),
    );
    let lanes = _mm_add_ps(lanes, _mm_movehl_ps(lanes, lanes));
    _mm_cvtss_f32(_mm_add_ss(lanes, _mm_movehdup_ps(lanes)))
}

#[cfg(test)]
mod tests {
    use crate::random::RandomKey;
    use crate::simd::{fold_pairs, has_avx2};

    #[test]
    fn the_bits_equal_the_portable_sum() {
        for len in [0, 1, 15, 16, 17, 31, 64, 100] {
            let xs = RandomKey::new(1).normal(len);
            let ys = RandomKey::new(2).normal(len);
            let portable = fold_pairs(&xs, &ys, |sum, x, y| sum + x * y);
            if has_avx2() {
                // SAFETY: `has_avx2` found the instructions.
                let ours = unsafe { super::dot_avx2(&xs, &ys) };
                assert_eq!(ours.to_bits(), portable.to_bits(), "{len}");
            }
        }
    }
}
