//! Rounding, and sums of products, by the instructions AVX-512 BF16 of x86.

use std::arch::x86_64::*;

use super::portable::{self, DEPTH, PairedLhs};
use crate::linear::cpu::panels::{LINE, Slot};
use crate::linear::cpu::tile::{Arithmetic, Scales};

/// Returns whether the processor has these instructions.
#[inline]
pub(super) fn is_available() -> bool {
    std::is_x86_feature_detected!("avx512bf16") && crate::simd::has_avx512()
}

/// [`portable::neighbours`] by `vcvtne2ps2bf16`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma")]
pub(super) fn neighbours(row: &[f32], out: &mut [u32]) {
    let (lines, rest) = row.as_chunks::<{ 2 * LINE }>();
    let full = lines.len() * LINE;
    for (line, out) in lines.iter().zip(out.chunks_exact_mut(LINE)) {
        // SAFETY: `line` is an array of two vectors, `out` a chunk of one, and neither needs an
        // alignment. Both types of a transmutation are 512 bits without a meaning.
        unsafe {
            let low = _mm512_loadu_ps(line.as_ptr());
            let high = _mm512_loadu_ps(line.as_ptr().add(LINE));
            let pairs: __m512i = std::mem::transmute(_mm512_cvtne2ps_pbh(high, low));
            _mm512_storeu_si512(out.as_mut_ptr().cast(), pairs);
        }
    }
    portable::neighbours(rest, &mut out[full..]);
}

/// [`portable::interleaved`] by `vcvtne2ps2bf16`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma")]
pub(super) fn interleaved(rows: PairedLhs, out: &mut [Slot]) {
    let next_line = rows.apart[1];
    // All of the low numbers are stored before the high ones.
    let order: [u16; 2 * LINE] = std::array::from_fn(|i| (i / 2 + i % 2 * LINE) as u16);
    // SAFETY: `order` is an array of 512 bits, and needs no alignment.
    let order = unsafe { _mm512_loadu_si512(order.as_ptr().cast()) };
    for ([low, high], start) in rows.pairs() {
        let out = &mut out[start..];
        let whole = low.len().min(high.len()) / LINE;
        for line in 0..whole {
            let out = &mut out[line * next_line..][..LINE];
            // SAFETY: `low` and `high` have at least `whole` vectors, `out` is a slice of one, and
            // none needs an alignment. Both types of a transmutation are 512 bits without a
            // meaning.
            unsafe {
                let low = _mm512_loadu_ps(low.as_ptr().add(line * LINE));
                let high = _mm512_loadu_ps(high.as_ptr().add(line * LINE));
                let pairs: __m512i = std::mem::transmute(_mm512_cvtne2ps_pbh(high, low));
                let pairs = _mm512_permutexvar_epi16(order, pairs);
                _mm512_storeu_si512(out.as_mut_ptr().cast(), pairs);
            }
        }
        if whole * LINE < low.len() {
            let high = high.get(whole * LINE..).unwrap_or_default();
            portable::interleaved_rows(
                &low[whole * LINE..],
                high,
                next_line,
                &mut out[whole * next_line..],
            );
        }
    }
}

/// Sums of products of pairs by `vdpbf16ps`.
pub(super) struct DotProducts;

// SAFETY: the methods use nothing but the instructions and the words that the trait asks for.
unsafe impl Arithmetic for DotProducts {
    type Sums = __m512;
    type Floats = __m512;
    const STRIDE: Option<usize> = Some(DEPTH);
    #[inline(always)]
    unsafe fn add_products(sums: __m512, left: u32, right: *const u32) -> __m512 {
        // SAFETY: the caller has the instructions, and 16 words at `right`. Both types of a
        // transmutation are 512 bits without a meaning.
        unsafe {
            let left: __m512bh = std::mem::transmute(_mm512_set1_epi32(left as i32));
            let right: __m512bh = std::mem::transmute(_mm512_loadu_si512(right.cast()));
            _mm512_dpbf16_ps(sums, left, right)
        }
    }
    #[inline(always)]
    unsafe fn floats(sums: __m512, _: &Scales, _: usize, _: usize) -> __m512 {
        sums
    }
}
