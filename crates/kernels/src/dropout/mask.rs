use rayon::prelude::*;

use crate::random::{RandomKey, philox};

/// The number of elements that one task draws: a multiple of the eight elements of a block.
const TASK_ELEMENTS: usize = 16 * 1024;

/// One application of dropout (paper §5.4). It drops elements as a function of `key` and of each
/// element's index alone. The backward pass draws the factors again, and none are kept in memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DropoutMask {
    key: RandomKey,
    rate: f64,
}

impl DropoutMask {
    /// Returns the mask that is drawn from `key` and drops each element with probability `rate`.
    ///
    /// # Panics
    /// Panics if `rate` is not in `[0, 1)`.
    pub fn new(key: RandomKey, rate: f64) -> Self {
        assert!(
            (0.0..1.0).contains(&rate),
            "dropout rate {rate} is not in [0, 1)"
        );
        Self { key, rate }
    }

    /// Returns the factor of an element that is kept, 1 / (1 − rate).
    pub fn keep_value(self) -> f32 {
        (1.0 / (1.0 - self.rate)) as f32
    }

    /// Returns the random key that the factors are drawn from.
    pub fn key(self) -> RandomKey {
        self.key
    }

    /// Returns the threshold for 16 random bits: an element is dropped if its bits are below it.
    pub fn drop_threshold(self) -> u32 {
        (self.rate * 65536.0).round() as u32
    }

    /// Writes the factors of the elements `start..start + out.len()` to `out`: 0 for a dropped
    /// element, [`keep_value`](Self::keep_value) for another one. They depend on the key and the
    /// element alone, so that tasks can draw their parts independently.
    ///
    /// Each element is decided by 16 random bits, and a block of random words has them for eight
    /// elements. The rate is therefore exact to 1/65536.
    pub fn fill_at(self, start: usize, out: &mut [f32]) {
        let block = (start / 8) as u64;
        let skipped = start % 8;
        if skipped == 0 {
            return self.fill_blocks(block, out);
        }
        let (head, rest) = out.split_at_mut(out.len().min(8 - skipped));
        let mut eight = [0.0; 8];
        self.fill_blocks(block, &mut eight);
        head.copy_from_slice(&eight[skipped..skipped + head.len()]);
        self.fill_blocks(block + 1, rest);
    }

    /// Writes factors to `out`, beginning with block `first`.
    fn fill_blocks(self, first: u64, out: &mut [f32]) {
        let threshold = self.drop_threshold();
        philox::mask(self.key.words(), first, threshold, self.keep_value(), out);
    }

    /// Returns the factors of the first `count` elements.
    pub(crate) fn factors(self, count: usize) -> Vec<f32> {
        let mut factors = vec![0.0; count];
        let tasks = factors.par_chunks_mut(TASK_ELEMENTS).enumerate();
        tasks.for_each(|(index, part)| self.fill_at(index * TASK_ELEMENTS, part));
        factors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropout_drops_its_share() {
        let mask = DropoutMask::new(RandomKey::new(3), 0.2);
        let mut factors = vec![0.0; 100_003];
        mask.fill_at(0, &mut factors);
        let dropped = factors.iter().filter(|&&v| v == 0.0).count() as f64 / factors.len() as f64;
        assert!((dropped - 0.2).abs() < 0.01, "{dropped}");
        assert!(factors.iter().all(|&v| v == 0.0 || v == 1.25));
    }

    /// The definition, one block after another.
    fn plain_mask(mask: DropoutMask, out: &mut [f32]) {
        for (index, eight) in out.chunks_mut(8).enumerate() {
            let words = mask.key.block(index as u64);
            for (index, value) in eight.iter_mut().enumerate() {
                let bits = words[index / 2] >> (16 * (index % 2)) & 0xffff;
                *value = if bits < mask.drop_threshold() {
                    0.0
                } else {
                    mask.keep_value()
                };
            }
        }
    }

    #[test]
    fn the_vectorised_mask_equals_its_definition() {
        let mut fast = vec![0.0; 1037];
        let mut plain = vec![0.0; 1037];
        for rate in [0.0, 0.1, 0.5, 0.999_999] {
            let mask = DropoutMask::new(RandomKey::new(9), rate);
            mask.fill_at(0, &mut fast);
            plain_mask(mask, &mut plain);
            assert_eq!(fast, plain, "rate {rate}");
        }
    }

    #[test]
    fn a_mask_drawn_in_parts_is_the_whole_mask() {
        let mask = DropoutMask::new(RandomKey::new(4), 0.4);
        let mut whole = vec![0.0; 700];
        mask.fill_at(0, &mut whole);
        for (start, len) in [
            (0, 0),
            (0, 700),
            (3, 2),
            (5, 3),
            (8, 128),
            (13, 600),
            (699, 1),
        ] {
            let mut part = vec![0.0; len];
            mask.fill_at(start, &mut part);
            assert_eq!(part, whole[start..start + len], "{start} + {len}");
        }
    }
}
