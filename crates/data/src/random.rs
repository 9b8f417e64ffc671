//! Random choices as a function of (seed, purpose, epoch), without hidden state.

use chacha20::ChaCha8Rng;
use rand::SeedableRng;

use crate::hash::key_of;

/// A generator for one `purpose` and one epoch. The same arguments always give the same
/// stream, on every machine.
pub(crate) fn generator(purpose: &str, seed: u64, epoch: u64) -> ChaCha8Rng {
    let seed = key_of(&[purpose.as_bytes(), &seed.to_le_bytes(), &epoch.to_le_bytes()]);
    ChaCha8Rng::from_seed(seed)
}

#[cfg(test)]
mod tests {
    use rand::Rng;
    use rand::seq::SliceRandom;

    use super::*;

    fn shuffled(seed: u64, epoch: u64) -> Vec<u32> {
        let mut items: Vec<u32> = (0..100).collect();
        items.shuffle(&mut generator("test", seed, epoch));
        items
    }

    #[test]
    fn the_generator_is_chacha8() {
        // Strombergson's test vectors for ChaCha, 8 rounds, a key of 256 zero bits.
        let mut bytes = [0; 8];
        ChaCha8Rng::from_seed([0; 32]).fill_bytes(&mut bytes);
        assert_eq!(bytes, [0x3e, 0x00, 0xef, 0x2f, 0x89, 0x5f, 0x40, 0xd6]);
    }

    #[test]
    fn a_shuffle_is_a_permutation_that_depends_on_seed_and_epoch_only() {
        let mut sorted = shuffled(1, 0);
        assert_eq!(shuffled(1, 0), shuffled(1, 0));
        assert_ne!(shuffled(1, 0), shuffled(1, 1));
        assert_ne!(shuffled(1, 0), shuffled(2, 0));
        sorted.sort_unstable();
        assert_eq!(sorted, (0..100).collect::<Vec<_>>());
    }
}
