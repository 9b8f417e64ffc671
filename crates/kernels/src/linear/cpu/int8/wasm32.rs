//! Products in WebAssembly.
//!
//! What relaxed instructions do with numbers above 127 in their second operand depends on the
//! processor: x86 takes them without a sign, ARM with one. Here they are used where they are exact.

use std::arch::wasm32::*;

#[cfg(feature = "relaxed-simd")]
use super::super::tile::Arithmetic;
use super::arithmetic::arithmetic;

arithmetic!(
    /// `i32x4.dot_i16x8_s`, for the numbers with even and with odd indices.
    pub(super) Simd128([i32; 4]),
    |sums, left, weights| {
        let left = u32x4_splat(left);
        let weights = std::mem::transmute::<[i32; 4], v128>(weights);
        let products = i32x4_dot_i16x8(even(left), even(weights));
        let products = i32x4_add(products, i32x4_dot_i16x8(odd(left), odd(weights)));
        std::mem::transmute(i32x4_add(std::mem::transmute::<[i32; 4], v128>(sums), products))
    }
);

/// Returns the 8-bit numbers with even indices, in 16 bits each.
#[inline(always)]
fn even(numbers: v128) -> v128 {
    i16x8_shr(i16x8_shl(numbers, 8), 8)
}

/// Returns the 8-bit numbers with odd indices, in 16 bits each.
#[inline(always)]
fn odd(numbers: v128) -> v128 {
    i16x8_shr(numbers, 8)
}

#[cfg(feature = "relaxed-simd")]
arithmetic!(
    /// `i16x8.relaxed_dot_i8x16_i7x16_s`, which is `vpmaddubsw` on x86. It adds pairs of products
    /// in 16 bits, at most 255·127, which fits.
    pub(super) RelaxedUnsigned([i32; 4]),
    |sums, left, weights| {
        let weights = std::mem::transmute::<[i32; 4], v128>(weights);
        let pairs = i16x8_relaxed_dot_i8x16_i7x16(weights, u32x4_splat(left));
        let products = i32x4_dot_i16x8(pairs, i16x8_splat(1));
        std::mem::transmute(i32x4_add(std::mem::transmute::<[i32; 4], v128>(sums), products))
    }
);

#[cfg(feature = "relaxed-simd")]
arithmetic!(
    /// `i32x4.relaxed_dot_i8x16_i7x16_add_s`, which is `sdot` on ARM.
    pub(super) RelaxedSigned([i32; 4]),
    |sums, left, weights| {
        let weights = std::mem::transmute::<[i32; 4], v128>(weights);
        let sums = std::mem::transmute::<[i32; 4], v128>(sums);
        std::mem::transmute(i32x4_relaxed_dot_i8x16_i7x16_add(weights, u32x4_splat(left), sums))
    }
);

/// Returns whether the products of `A` are exact here for the largest numbers of either sign, if
/// `offset` is added to the left ones.
#[cfg(feature = "relaxed-simd")]
#[target_feature(enable = "relaxed-simd")]
pub(super) fn is_exact<A: Arithmetic<Sums = [i32; 4]>>(offset: i32) -> bool {
    // Two neighbours of one sign sum to at most 127 in a weight.
    let weights = [[63, 64], [-63, -64], [127, -127], [-127, 0], [0, 127_i8]];
    [-127, -1, 1, 127].into_iter().all(|x| {
        weights.into_iter().all(|[a, b]| {
            let left = u32::from_ne_bytes([(x + offset) as u8; 4]);
            let right = [u32::from_ne_bytes([a, b, b, a].map(i8::cast_unsigned)); 4];
            // SAFETY: this function has the instructions, and `right` has a register of words.
            let sums = unsafe { A::add_products([0; 4], left, right.as_ptr()) };
            sums == [2 * (x + offset) * (i32::from(a) + i32::from(b)); 4]
        })
    })
}
