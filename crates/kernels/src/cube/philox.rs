//! Philox-4x32-10 (Salmon et al., 2011) as [`crate::random::philox`] has it, and dropout's factors from its words.

use cubecl::prelude::*;

use crate::random::philox::{MULTIPLIERS, WEYL};

/// Elements that one block of Philox decides.
pub(super) const ELEMENTS: usize = 8;

/// One block's words, each of which decides two elements, its low half first.
#[derive(CubeType, Clone, Copy)]
pub(super) struct Words {
    a: u32,
    b: u32,
    c: u32,
    d: u32,
}

/// The number of an element among all that a mask decides about, in two words: there may be 2³² and more, and not every
/// device counts in 64 bits.
#[derive(CubeType, Clone, Copy)]
pub(super) struct Place {
    low: u32,
    high: u32,
}

/// The place of element `column` in row `row` of rows of `width`: row·width + column.
#[cube]
pub(super) fn element(row: u32, width: u32, column: u32) -> Place {
    let product = row * width;
    let low = product + column;
    let carry = select(low < product, 1u32, 0u32);
    Place { low, high: u32::mul_hi(row, width) + carry }
}

/// Which of its block's elements stands at `place`.
#[cube]
pub(super) fn within(place: &Place) -> u32 {
    place.low % ELEMENTS as u32
}

/// The words of the block that decides about `place`; its number, place / [`ELEMENTS`], is the counter.
#[cube]
pub(super) fn words(place: &Place, key_0: u32, key_1: u32) -> Words {
    let (mut k0, mut k1) = (key_0, key_1);
    let mut c0 = (place.low >> 3) | (place.high << 29);
    let mut c1 = place.high >> 3;
    let mut c2 = 0u32;
    let mut c3 = 0u32;
    #[unroll]
    for _ in 0..10 {
        let high_0 = u32::mul_hi(c0, comptime!(MULTIPLIERS[0]));
        let low_0 = c0 * comptime!(MULTIPLIERS[0]);
        let high_1 = u32::mul_hi(c2, comptime!(MULTIPLIERS[1]));
        let low_1 = c2 * comptime!(MULTIPLIERS[1]);
        c0 = high_1 ^ c1 ^ k0;
        c1 = low_1;
        c2 = high_0 ^ c3 ^ k1;
        c3 = low_0;
        k0 += comptime!(WEYL[0]);
        k1 += comptime!(WEYL[1]);
    }
    Words { a: c0, b: c1, c: c2, d: c3 }
}

/// The factor of the block's element `which`, below [`ELEMENTS`].
#[cube]
pub(super) fn factor(words: &Words, which: u32, threshold: u32, keep: f32) -> f32 {
    let first = select(which < 2, words.a, words.b);
    let second = select(which < 6, words.c, words.d);
    let word = select(which < 4, first, second);
    let half = select(which & 1 == 0, word & 0xffff, word >> 16);
    select(half < threshold, 0.0, keep)
}
