//! Rounding to bfloat16, and sums of products, without instructions for them.

use std::ops::Range;

use crate::linear::cpu::panels::{LINE, Slot};
use crate::linear::cpu::tile::{Arithmetic, Scales};
use crate::simd::vectorised;

/// The pairs of terms that are added before the next ones.
pub(super) const DEPTH: usize = 128;

/// Bits of a float32 that are its exponent.
const EXPONENT: u32 = 0x7f80_0000;
/// The bit that makes a NaN a quiet one.
const QUIET: u32 = 0x0040_0000;

/// Returns `x` rounded to the nearest bfloat16, ties to even, in the high half; subnormal numbers
/// become 0, NaN stays NaN.
#[inline(always)]
pub(super) fn rounded(x: f32) -> u32 {
    let bits = x.to_bits();
    let nearest = bits.wrapping_add(0x7fff + ((bits >> 16) & 1));
    let finite = if bits & EXPONENT == 0 {
        bits & 0x8000_0000
    } else {
        nearest
    };
    let any = if x.is_nan() { bits | QUIET } else { finite };
    any & 0xffff_0000
}

/// Returns the pair of `low` and `high`.
#[inline(always)]
fn pair(low: f32, high: f32) -> u32 {
    (rounded(low) >> 16) | rounded(high)
}

/// Rows of a matrix, to be paired with their neighbours, and the positions of the words: lines of
/// [`LINE`] words. A line begins `apart[0]` words after the line of the previous pair of rows, and
/// `apart[1]` words after the line of the previous columns. A last row alone is paired with 0, and
/// the last line of a pair is filled up with 0.
#[derive(Clone)]
pub(super) struct PairedLhs<'a> {
    /// Rows of `width` numbers each.
    pub rows: &'a [f32],
    pub width: usize,
    /// The columns that are used.
    pub columns: Range<usize>,
    pub apart: [usize; 2],
}

impl<'a> PairedLhs<'a> {
    /// Returns the numbers in the two rows of each pair, and the start of its lines. A missing
    /// second row is empty.
    pub(super) fn pairs(self) -> impl Iterator<Item = ([&'a [f32]; 2], usize)> {
        let Self {
            rows,
            width,
            columns,
            apart,
        } = self;
        rows.chunks((2 * width).max(1))
            .enumerate()
            .map(move |(index, rows)| {
                let (low, high) = rows.split_at(width);
                let high = high.get(columns.clone()).unwrap_or_default();
                ([&low[columns.clone()], high], index * apart[0])
            })
    }
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
    pub(super) fn interleaved(rows: PairedLhs, out: &mut [Slot]) {
        let next = rows.apart[1];
        for ([low, high], start) in rows.pairs() {
            interleaved_rows(low, high, next, &mut out[start..]);
        }
    }
}

/// One pair of rows of [`interleaved`], with lines `next` words apart.
#[inline(always)]
pub(super) fn interleaved_rows(low: &[f32], high: &[f32], next: usize, out: &mut [Slot]) {
    for (start, line) in (0..low.len()).step_by(LINE).zip(out.chunks_mut(next)) {
        for (column, slot) in (start..).zip(&mut line[..LINE]) {
            slot.write(pair(number(low, column), number(high, column)));
        }
    }
}

/// Returns the number in `column`, or 0 beyond the row.
#[inline(always)]
fn number(row: &[f32], column: usize) -> f32 {
    row.get(column).copied().unwrap_or(0.0)
}

/// Products of pairs in float32.
pub(super) struct Pairs;

// SAFETY: the methods read as many words as the trait asks for, by no special instructions.
unsafe impl Arithmetic for Pairs {
    type Sums = [f32; LINE];
    type Floats = [f32; LINE];
    /// The product of the second numbers is added first.
    #[inline(always)]
    unsafe fn add_products(sums: [f32; LINE], left: u32, right: *const u32) -> [f32; LINE] {
        // SAFETY: the caller has as many words at `right` as the sums have lanes, and they are
        // aligned like words.
        let right = unsafe { right.cast::<[u32; LINE]>().read() };
        std::array::from_fn(|lane| {
            let sum = normal(second(left).mul_add(second(right[lane]), sums[lane]));
            normal(first(left).mul_add(first(right[lane]), sum))
        })
    }
    #[inline(always)]
    unsafe fn floats(sums: [f32; LINE], _: &Scales, _: usize, _: usize) -> [f32; LINE] {
        sums
    }
}

/// Returns the first number of a pair.
#[inline(always)]
fn first(pair: u32) -> f32 {
    f32::from_bits(pair << 16)
}

/// Returns the second number of a pair.
#[inline(always)]
fn second(pair: u32) -> f32 {
    f32::from_bits(pair & 0xffff_0000)
}

/// `x`, or a 0 of its sign if it is subnormal.
#[inline(always)]
fn normal(x: f32) -> f32 {
    let sign = f32::from_bits(x.to_bits() & 0x8000_0000);
    if x.abs() < f32::MIN_POSITIVE { sign } else { x }
}
