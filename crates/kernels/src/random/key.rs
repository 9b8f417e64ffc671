use std::convert::Infallible;

use rand::distr::StandardUniform;
use rand::rand_core::utils::fill_bytes_via_next_word;
use rand::{RngExt, TryRng};
use rand_distr::StandardNormal;

use super::philox::numbered_blocks;

/// A key of the counter-based random generator Philox-4x32-10 (Salmon et al., 2011).
///
/// Every random choice of a run is a function of the seed, the update and the position in the
/// model: a key is made from the seed, then folded with the number of the update and with each
/// index on the way down, as in JAX. Nothing is drawn from hidden state: resuming, another order of
/// the work and another number of threads change nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RandomKey(u64);

impl RandomKey {
    /// Returns the key of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(mix(seed ^ 0x6275_726e_666f_726d))
    }

    /// Returns the key of `index` below this key. Different indices give unrelated streams of
    /// random numbers.
    pub fn fold(self, index: u64) -> Self {
        Self(mix(self.0 ^ mix(index.wrapping_add(0x9e37_79b9_7f4a_7c15))))
    }

    /// Returns the two words of the key, as Philox takes them.
    pub fn words(self) -> [u32; 2] {
        [self.0 as u32, (self.0 >> 32) as u32]
    }

    /// Returns the four random words for the counter `index`.
    #[inline]
    pub fn block(self, index: u64) -> [u32; 4] {
        let [block] = numbered_blocks(self.words(), index);
        block
    }

    /// Returns the random words of this key in the order of their counters, as a generator for the
    /// distributions of `rand` and `rand_distr`. Every call starts again with the first word.
    pub fn rng(self) -> PhiloxRng {
        PhiloxRng::new(self.words())
    }

    /// Returns `count` random numbers, uniformly distributed in `[0, 1)`.
    pub fn uniform(self, count: usize) -> Vec<f32> {
        self.rng()
            .sample_iter(StandardUniform)
            .take(count)
            .collect()
    }

    /// Returns `count` random numbers from the standard normal distribution.
    pub fn normal(self, count: usize) -> Vec<f32> {
        self.rng().sample_iter(StandardNormal).take(count).collect()
    }
}

/// The finaliser of SplitMix64, a bijection that spreads every input bit over the word.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The random words of one [`RandomKey`](super::RandomKey), one after the other, as a generator for
/// the `rand` crate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhiloxRng {
    key: [u32; 2],
    next_block: u64,
    block: [u32; 4],
    used: usize,
}

impl PhiloxRng {
    /// Creates a generator that begins with the first random word under `key`.
    pub(super) fn new(key: [u32; 2]) -> Self {
        Self {
            key,
            next_block: 0,
            block: [0; 4],
            used: 4,
        }
    }
}

impl TryRng for PhiloxRng {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        if self.used == self.block.len() {
            [self.block] = numbered_blocks(self.key, self.next_block);
            self.next_block += 1;
            self.used = 0;
        }
        self.used += 1;
        Ok(self.block[self.used - 1])
    }

    /// The first word becomes the upper half, because distributions that need few bits take the
    /// highest ones.
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let upper = u64::from(self.try_next_u32()?);
        Ok(upper << 32 | u64::from(self.try_next_u32()?))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        fill_bytes_via_next_word(bytes, || self.try_next_u32())
    }
}

#[cfg(test)]
mod tests {
    use rand::Rng;

    use super::*;

    #[test]
    fn numbers_depend_on_the_seed_and_the_index() {
        let key = RandomKey::new(7).fold(3);
        assert_eq!(key.uniform(9), RandomKey::new(7).fold(3).uniform(9));
        assert_ne!(key.uniform(9), RandomKey::new(7).fold(4).uniform(9));
        assert_ne!(key.uniform(9), RandomKey::new(8).fold(3).uniform(9));
    }

    #[test]
    fn a_uniform_number_is_the_upper_24_bits_of_a_word() {
        let key = RandomKey::new(6);
        let expected = (0..2)
            .flat_map(|i| key.block(i))
            .map(|w| (w >> 8) as f32 / 16_777_216.0);
        assert_eq!(key.uniform(7), expected.take(7).collect::<Vec<_>>());
    }

    fn mean(x: &[f32]) -> f64 {
        x.iter().map(|&v| f64::from(v)).sum::<f64>() / x.len() as f64
    }

    #[test]
    fn uniform_and_normal_have_their_moments() {
        let n = 200_000;
        let u = RandomKey::new(1).uniform(n);
        assert!((mean(&u) - 0.5).abs() < 2e-3);
        let z = RandomKey::new(2).normal(n);
        let squares: Vec<f32> = z.iter().map(|v| v * v).collect();
        assert!(mean(&z).abs() < 1e-2 && (mean(&squares) - 1.0).abs() < 2e-2);
    }

    #[test]
    fn the_generator_gives_the_words_of_the_blocks_in_order() {
        let key = RandomKey::new(5);
        let words: Vec<u32> = (0..3).flat_map(|i| key.block(i)).collect();
        let mut rng = key.rng();
        assert_eq!((0..12).map(|_| rng.next_u32()).collect::<Vec<_>>(), words);
        let mut rng = key.rng();
        assert_eq!(
            rng.next_u64(),
            u64::from(words[0]) << 32 | u64::from(words[1])
        );
        let mut bytes = [0; 6];
        rng.fill_bytes(&mut bytes);
        assert_eq!(bytes[..4], words[2].to_le_bytes());
        assert_eq!(bytes[4..], words[3].to_le_bytes()[..2]);
    }
}
