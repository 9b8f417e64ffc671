use std::convert::Infallible;

use rand::TryRng;
use rand::rand_core::utils::fill_bytes_via_next_word;

use super::philox::numbered_blocks;

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
    /// A generator that begins with the first word of the key whose words are `key`.
    pub(super) fn new(key: [u32; 2]) -> Self {
        Self { key, next_block: 0, block: [0; 4], used: 4 }
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

    use crate::random::RandomKey;

    #[test]
    fn the_generator_gives_the_words_of_the_blocks_in_order() {
        let key = RandomKey::new(5);
        let words: Vec<u32> = (0..3).flat_map(|i| key.block(i)).collect();
        let mut rng = key.rng();
        assert_eq!((0..12).map(|_| rng.next_u32()).collect::<Vec<_>>(), words);
        let mut rng = key.rng();
        assert_eq!(rng.next_u64(), u64::from(words[0]) << 32 | u64::from(words[1]));
        let mut bytes = [0; 6];
        rng.fill_bytes(&mut bytes);
        assert_eq!(bytes[..4], words[2].to_le_bytes());
        assert_eq!(bytes[4..], words[3].to_le_bytes()[..2]);
    }
}
