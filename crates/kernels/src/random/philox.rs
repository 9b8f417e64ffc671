//! Philox-4x32-10 (Salmon et al., 2011), one block at a time and sixteen at once.

use crate::simd::vectorised;

/// The number of blocks that are drawn together.
const WIDE: usize = 16;
pub(crate) const MULTIPLIERS: [u32; 2] = [0xd251_1f53, 0xcd9e_8d57];
pub(crate) const WEYL: [u32; 2] = [0x9e37_79b9, 0xbb67_ae85];

/// The block of `counter` under `key`.
#[inline]
pub(super) fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let a = u64::from(counter[0]) * u64::from(MULTIPLIERS[0]);
        let b = u64::from(counter[2]) * u64::from(MULTIPLIERS[1]);
        counter = [
            (b >> 32) as u32 ^ counter[1] ^ key[0],
            b as u32,
            (a >> 32) as u32 ^ counter[3] ^ key[1],
            a as u32,
        ];
        key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
    }
    counter
}

/// The four random words with the number `index` under `key`.
#[inline]
pub(super) fn numbered_block(key: [u32; 2], index: u64) -> [u32; 4] {
    philox([index as u32, (index >> 32) as u32, 0, 0], key)
}

vectorised! {
    /// Writes factors of dropout, beginning with block `first`. Each element takes 16 random bits
    /// and becomes 0 if they are below `threshold`, otherwise `keep`.
    pub(super) fn mask(key: [u32; 2], first: u64, threshold: u32, keep: f32, out: &mut [f32]) {
        let mut first = first;
        let mut groups = out.chunks_exact_mut(8 * WIDE);
        for group in &mut groups {
            write_mask(&wide(key, first), threshold, keep, group);
            first += WIDE as u64;
        }
        let tail = groups.into_remainder();
        if !tail.is_empty() {
            write_mask(&wide(key, first), threshold, keep, tail);
        }
    }
}

#[inline(always)]
fn write_mask(words: &[u32; 4 * WIDE], threshold: u32, keep: f32, out: &mut [f32]) {
    let halves: &[u16; 8 * WIDE] = bytemuck::cast_ref(words);
    for (value, &bits) in out.iter_mut().zip(halves) {
        *value = if u32::from(bits) < threshold { 0.0 } else { keep };
    }
}

/// The words of the blocks `first..first + WIDE`, block by block, low half first in memory.
///
/// Each word sits in a 64-bit lane, whose upper half is ignored: the vector multiplication wants
/// its 32-bit factors so, and nothing has to be moved between rounds.
#[inline(always)]
fn wide(mut key: [u32; 2], first: u64) -> [u32; 4 * WIDE] {
    const LOW: u64 = 0xffff_ffff;
    let mut c0: [u64; WIDE] = std::array::from_fn(|i| first.wrapping_add(i as u64));
    let mut c1 = c0.map(|counter| counter >> 32);
    let (mut c2, mut c3) = ([0u64; WIDE], [0u64; WIDE]);
    for _ in 0..10 {
        for i in 0..WIDE {
            let a = (c0[i] & LOW) * u64::from(MULTIPLIERS[0]);
            let b = (c2[i] & LOW) * u64::from(MULTIPLIERS[1]);
            c0[i] = (b >> 32) ^ c1[i] ^ u64::from(key[0]);
            c1[i] = b;
            c2[i] = (a >> 32) ^ c3[i] ^ u64::from(key[1]);
            c3[i] = a;
        }
        key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
    }
    let mut words = [0; 4 * WIDE];
    for i in 0..WIDE {
        let block = [c0[i] as u32, c1[i] as u32, c2[i] as u32, c3[i] as u32];
        words[4 * i..4 * i + 4].copy_from_slice(&block.map(swap_halves_on_big_endian));
    }
    words
}

#[inline(always)]
fn swap_halves_on_big_endian(word: u32) -> u32 {
    if cfg!(target_endian = "big") { word.rotate_left(16) } else { word }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn philox_gives_the_published_test_vectors() {
        // Known answers of Random123's kat_vectors for philox4x32-10.
        assert_eq!(philox([0; 4], [0; 2]), [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]);
        assert_eq!(
            philox([u32::MAX; 4], [u32::MAX; 2]),
            [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]
        );
    }

    #[test]
    fn sixteen_blocks_at_once_are_the_single_blocks_also_past_32_bits() {
        for first in [0, 77, u64::from(u32::MAX) - 5] {
            let words = wide([3, 4], first);
            for (i, block) in words.chunks(4).enumerate() {
                let counter = first + i as u64;
                let single = philox([counter as u32, (counter >> 32) as u32, 0, 0], [3, 4]);
                assert_eq!(block, single.map(swap_halves_on_big_endian));
            }
        }
    }
}
