//! Philox-4x32-10 (Salmon et al., 2011), of any number of blocks at once.

use std::array;

use crate::simd::vectorised;

/// The number of blocks that are drawn together.
const BLOCKS_AT_ONCE: usize = 16;
pub(crate) const MULTIPLIERS: [u32; 2] = [0xd251_1f53, 0xcd9e_8d57];
pub(crate) const WEYL: [u32; 2] = [0x9e37_79b9, 0xbb67_ae85];

vectorised! {
    /// Writes factors of dropout, beginning with block `first`. Each element takes 16 random bits
    /// and becomes 0 if they are below `threshold`, otherwise `keep`.
    pub(crate) fn mask(key: [u32; 2], first: u64, threshold: u32, keep: f32, out: &mut [f32]) {
        let mut first = first;
        let mut groups = out.chunks_exact_mut(8 * BLOCKS_AT_ONCE);
        for group in &mut groups {
            write_mask(numbered_blocks(key, first), threshold, keep, group);
            first += BLOCKS_AT_ONCE as u64;
        }
        let tail = groups.into_remainder();
        if !tail.is_empty() {
            write_mask(numbered_blocks(key, first), threshold, keep, tail);
        }
    }
}

#[inline(always)]
fn write_mask(blocks: [[u32; 4]; BLOCKS_AT_ONCE], threshold: u32, keep: f32, out: &mut [f32]) {
    let words = blocks.map(|block| block.map(low_half_first));
    let halves: &[u16; 8 * BLOCKS_AT_ONCE] = bytemuck::cast_ref(&words);
    for (value, &bits) in out.iter_mut().zip(halves) {
        *value = if u32::from(bits) < threshold {
            0.0
        } else {
            keep
        };
    }
}

#[inline(always)]
fn low_half_first(word: u32) -> u32 {
    if cfg!(target_endian = "big") {
        word.rotate_left(16)
    } else {
        word
    }
}

/// Returns the blocks of four random words with the numbers `first..first + N` under `key`.
#[inline(always)]
pub(super) fn numbered_blocks<const N: usize>(key: [u32; 2], first: u64) -> [[u32; 4]; N] {
    let counters: [u64; N] = array::from_fn(|i| first.wrapping_add(i as u64));
    philox(
        [
            counters,
            counters.map(|counter| counter >> 32),
            [0; N],
            [0; N],
        ],
        key,
    )
}

/// Returns the blocks of `N` counters under `key`.
///
/// Each of the four words of a counter is in the lower half of a 64-bit lane, and the upper half is
/// ignored: the vector multiplication needs its 32-bit factors in this layout, and nothing has to
/// be moved between rounds.
#[inline(always)]
fn philox<const N: usize>(counters: [[u64; N]; 4], mut key: [u32; 2]) -> [[u32; 4]; N] {
    const LOW: u64 = 0xffff_ffff;
    let [mut c0, mut c1, mut c2, mut c3] = counters;
    for _ in 0..10 {
        for i in 0..N {
            let a = (c0[i] & LOW) * u64::from(MULTIPLIERS[0]);
            let b = (c2[i] & LOW) * u64::from(MULTIPLIERS[1]);
            c0[i] = (b >> 32) ^ c1[i] ^ u64::from(key[0]);
            c1[i] = b;
            c2[i] = (a >> 32) ^ c3[i] ^ u64::from(key[1]);
            c3[i] = a;
        }
        key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
    }
    array::from_fn(|i| [c0[i], c1[i], c2[i], c3[i]].map(|word| word as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn philox_gives_the_published_test_vectors() {
        // Known answers of Random123's kat_vectors for philox4x32-10.
        assert_eq!(
            philox([[0]; 4], [0; 2]),
            [[0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]]
        );
        assert_eq!(
            philox([[u64::from(u32::MAX)]; 4], [u32::MAX; 2]),
            [[0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]]
        );
    }

    #[test]
    fn sixteen_blocks_at_once_are_the_single_blocks_also_past_32_bits() {
        for first in [0, 77, u64::from(u32::MAX) - 5] {
            let together = numbered_blocks::<BLOCKS_AT_ONCE>([3, 4], first);
            for (i, block) in together.into_iter().enumerate() {
                assert_eq!([block], numbered_blocks::<1>([3, 4], first + i as u64));
            }
        }
    }
}
