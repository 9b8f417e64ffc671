//! Float32 rounded to bfloat16 without instructions for it.

use std::mem::MaybeUninit;

use super::line::{LANES, Line};
use crate::simd::vectorised;

/// Bits of a float32 that are its exponent.
const EXPONENT: u32 = 0x7f80_0000;
/// What makes a NaN a quiet one.
const QUIET: u32 = 0x0040_0000;

/// `x` rounded to the nearest bfloat16, ties to even, in the high half; subnormal numbers become 0, NaN stays NaN.
#[inline(always)]
pub(super) fn rounded(x: f32) -> u32 {
    let bits = x.to_bits();
    let nearest = bits.wrapping_add(0x7fff + ((bits >> 16) & 1));
    let finite = if bits & EXPONENT == 0 { bits & 0x8000_0000 } else { nearest };
    let any = if x.is_nan() { bits | QUIET } else { finite };
    any & 0xffff_0000
}

/// The pair of `low` and `high`.
#[inline(always)]
fn pair(low: f32, high: f32) -> u32 {
    (rounded(low) >> 16) | rounded(high)
}

vectorised! {
    /// See [`round::neighbours`](super::round::neighbours).
    pub(super) fn neighbours(row: &[f32], out: &mut [u32]) {
        let (pairs, last) = row.as_chunks::<2>();
        let (full, rest) = out.split_at_mut(pairs.len());
        for (out, &[low, high]) in full.iter_mut().zip(pairs) {
            *out = pair(low, high);
        }
        rest.fill(0);
        if let ([low], [out, ..]) = (last, rest) {
            *out = pair(*low, 0.0);
        }
    }

    /// See [`round::interleaved`](super::round::interleaved).
    pub(super) fn interleaved(
        low: &[f32],
        high: &[f32],
        stride: usize,
        out: &mut [MaybeUninit<Line>],
    ) {
        let (lows, low_rest) = low.as_chunks::<LANES>();
        let (highs, high_rest) = high.as_chunks::<LANES>();
        for ((low, high), out) in lows.iter().zip(highs).zip(out.iter_mut().step_by(stride)) {
            out.write(Line(std::array::from_fn(|lane| pair(low[lane], high[lane]))));
        }
        if !low_rest.is_empty() {
            let (mut low, mut high) = ([0.0; LANES], [0.0; LANES]);
            low[..low_rest.len()].copy_from_slice(low_rest);
            high[..high_rest.len()].copy_from_slice(high_rest);
            let line = Line(std::array::from_fn(|lane| pair(low[lane], high[lane])));
            out[lows.len() * stride].write(line);
        }
    }
}
