//! Random choices as a function of (seed, purpose, epoch), without hidden state.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

use crate::hash::key_of;

/// A generator for one purpose (`place`) and one epoch. The same arguments always give the same stream.
pub(crate) fn generator(place: &str, seed: u64, epoch: u64) -> ChaCha8Rng {
    ChaCha8Rng::from_seed(key_of(&[place.as_bytes(), &seed.to_le_bytes(), &epoch.to_le_bytes()]))
}

/// A random number below `bound`, which must not be 0. The bias of the multiplication is below 2⁻³² for any corpus.
pub(crate) fn below(rng: &mut ChaCha8Rng, bound: usize) -> usize {
    ((u128::from(rng.next_u64()) * bound as u128) >> 64) as usize
}

/// Shuffles `items` in place (Fisher and Yates).
pub(crate) fn shuffle<T>(rng: &mut ChaCha8Rng, items: &mut [T]) {
    for last in (1..items.len()).rev() {
        items.swap(last, below(rng, last + 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shuffled(seed: u64, epoch: u64) -> Vec<u32> {
        let mut items: Vec<u32> = (0..100).collect();
        shuffle(&mut generator("test", seed, epoch), &mut items);
        items
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
