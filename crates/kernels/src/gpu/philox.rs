//! Dropout on GPUs, drawn from Philox-4x32-10 (Salmon et al., 2011) with the bits that the CPU
//! draws.
//!
//! A kernel receives the key and the rate as a [`Draw`]. It finds the index of an element
//! ([`element_index()`]), draws the block that decides about the element ([`words_of_block()`]) and
//! takes the element's factor from the block ([`dropout_factor()`]).

// `#[cube]` gives each function a module of its name, which has no documentation.
#![allow(missing_docs)]

use cubecl::prelude::*;

use crate::random::philox::{MULTIPLIERS, WEYL};

/// Adjacent elements that one block of Philox decides about.
pub const ELEMENTS_PER_BLOCK: usize = 8;

/// The random key and the rate of a [`DropoutMask`](crate::DropoutMask); a launch takes it as a
/// `DrawLaunch`.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub struct Draw {
    /// The first word of [`RandomKey::words`](crate::RandomKey::words).
    pub key_0: u32,
    /// The second word of the key.
    pub key_1: u32,
    /// [`DropoutMask::drop_threshold`](crate::DropoutMask::drop_threshold).
    pub threshold: u32,
    /// [`DropoutMask::keep_value`](crate::DropoutMask::keep_value).
    pub keep: f32,
}

/// The four words of one block. Each word decides about two elements, its low half about the first
/// of them.
#[derive(CubeType, Clone, Copy)]
pub struct Words {
    a: u32,
    b: u32,
    c: u32,
    d: u32,
}

/// The index of an element among all that a mask decides about, in two words: it may be 2³² or
/// more, and not every device has integers of 64 bits.
#[derive(CubeType, Clone, Copy)]
pub struct ElementIndex {
    low: u32,
    high: u32,
}

/// The index of element `column` of row `row` in a matrix with rows of `width` elements: row·width
/// + column.
#[cube]
pub fn element_index(row: u32, width: u32, column: u32) -> ElementIndex {
    let product = row * width;
    let low = product + column;
    let carry = select(low < product, 1u32, 0u32);
    ElementIndex { low, high: u32::mul_hi(row, width) + carry }
}

/// The position of the element among those of its block, below [`ELEMENTS_PER_BLOCK`].
#[cube]
pub fn index_in_block(index: &ElementIndex) -> u32 {
    index.low % ELEMENTS_PER_BLOCK as u32
}

/// The words of the block that decides about element `index`. The counter is the number of the
/// block, index / [`ELEMENTS_PER_BLOCK`].
#[cube]
pub fn words_of_block(index: &ElementIndex, draw: &Draw) -> Words {
    let (mut k0, mut k1) = (draw.key_0, draw.key_1);
    let mut c0 = (index.low >> 3) | (index.high << 29);
    let mut c1 = index.high >> 3;
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

/// The factor of element `which` of the block, below [`ELEMENTS_PER_BLOCK`]: 0 if its 16 random
/// bits are below the threshold, otherwise the factor of kept elements.
#[cube]
pub fn dropout_factor(words: &Words, which: u32, draw: &Draw) -> f32 {
    let first = select(which < 2, words.a, words.b);
    let second = select(which < 6, words.c, words.d);
    let word = select(which < 4, first, second);
    let half = select(which & 1 == 0, word & 0xffff, word >> 16);
    select(half < draw.threshold, 0.0, draw.keep)
}
