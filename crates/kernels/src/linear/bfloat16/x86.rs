//! Rounding, and sums of products, by the instructions AVX-512 BF16 of x86.

use std::arch::x86_64::*;
use std::mem::MaybeUninit;

use super::line::{LANES, Line};
use super::portable;
use super::sums::Sums;

/// Whether the processor has these instructions.
#[inline]
pub(super) fn is_available() -> bool {
    std::is_x86_feature_detected!("avx512bf16") && crate::simd::has_avx512()
}

/// [`portable::neighbours`] by `vcvtne2ps2bf16`.
///
/// # Safety
/// The processor has the instructions.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma")]
pub(super) unsafe fn neighbours(row: &[f32], out: &mut [u32]) {
    let (lines, rest) = row.as_chunks::<{ 2 * LANES }>();
    let full = lines.len() * LANES;
    for (line, out) in lines.iter().zip(out.chunks_exact_mut(LANES)) {
        // SAFETY: `line` is two vectors, `out` one.
        unsafe {
            let low = _mm512_loadu_ps(line.as_ptr());
            let high = _mm512_loadu_ps(line.as_ptr().add(LANES));
            let pairs: __m512i = std::mem::transmute(_mm512_cvtne2ps_pbh(high, low));
            _mm512_storeu_si512(out.as_mut_ptr().cast(), pairs);
        }
    }
    portable::neighbours(rest, &mut out[full..]);
}

/// [`portable::interleaved`] by `vcvtne2ps2bf16`.
///
/// # Safety
/// The processor has the instructions.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma")]
pub(super) unsafe fn interleaved(
    low: &[f32],
    high: &[f32],
    stride: usize,
    out: &mut [MaybeUninit<Line>],
) {
    let (lows, low_rest) = low.as_chunks::<LANES>();
    let (highs, high_rest) = high.as_chunks::<LANES>();
    // All of the low numbers lie before the high ones.
    let order: [u16; 2 * LANES] = std::array::from_fn(|i| (i / 2 + i % 2 * LANES) as u16);
    // SAFETY: each of `low` and `high` is a vector, and `out` is a line, at whose alignment it is stored.
    unsafe {
        let order = _mm512_loadu_si512(order.as_ptr().cast());
        for ((low, high), out) in lows.iter().zip(highs).zip(out.iter_mut().step_by(stride)) {
            let low = _mm512_loadu_ps(low.as_ptr());
            let high = _mm512_loadu_ps(high.as_ptr());
            let pairs: __m512i = std::mem::transmute(_mm512_cvtne2ps_pbh(high, low));
            let pairs = _mm512_permutexvar_epi16(order, pairs);
            _mm512_store_si512(out.as_mut_ptr().cast(), pairs);
        }
    }
    if !low_rest.is_empty() {
        portable::interleaved(low_rest, high_rest, stride, &mut out[lows.len() * stride..]);
    }
}

// SAFETY: 16 numbers of 32 bits; what the intrinsics demand, the trait does.
unsafe impl Sums for __m512 {
    type Line = __m512bh;
    #[inline(always)]
    unsafe fn zero() -> Self {
        unsafe { _mm512_setzero_ps() }
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        unsafe { _mm512_loadu_ps(from) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        unsafe { _mm512_storeu_ps(to, self) }
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        unsafe { _mm512_add_ps(self, other) }
    }
    /// Of two equal numbers and of NaN, this maximum gives the second: −0 and NaN stay.
    #[inline(always)]
    unsafe fn or_zero(self) -> Self {
        unsafe { _mm512_max_ps(_mm512_setzero_ps(), self) }
    }
    #[inline(always)]
    unsafe fn load_line(from: *const Line) -> __m512bh {
        unsafe { from.cast::<__m512bh>().read() }
    }
    #[inline(always)]
    unsafe fn add_products(self, pair: u32, line: __m512bh) -> Self {
        unsafe {
            let pairs: __m512bh = std::mem::transmute(_mm512_set1_epi32(pair as i32));
            _mm512_dpbf16_ps(self, pairs, line)
        }
    }
}
