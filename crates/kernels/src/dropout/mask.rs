use rayon::prelude::*;

use crate::random::RandomKey;

/// The number of elements that one task draws: a multiple of the eight elements of a block.
const TASK: usize = 16 * 1024;

/// One application of dropout (paper §5.4). It drops elements as a function of `key` and of each
/// element's index alone, so that the backward pass draws the factors again and none are kept in
/// memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DropoutMask {
    key: RandomKey,
    rate: f64,
}

impl DropoutMask {
    /// The mask that is drawn from `key` and drops each element with probability `rate`.
    ///
    /// # Panics
    /// If `rate` is not in `[0, 1)`.
    pub fn new(key: RandomKey, rate: f64) -> Self {
        assert!((0.0..1.0).contains(&rate), "dropout rate {rate} is not in [0, 1)");
        Self { key, rate }
    }

    /// The factor of an element that is kept, 1 / (1 − rate).
    pub fn keep_value(self) -> f32 {
        (1.0 / (1.0 - self.rate)) as f32
    }

    /// The random key that the factors are drawn from.
    pub fn key(self) -> RandomKey {
        self.key
    }

    /// The threshold for 16 random bits: an element is dropped if its bits are below it.
    pub fn drop_threshold(self) -> u32 {
        crate::random::drop_threshold(self.rate)
    }

    /// Writes the factors of the elements `start..start + out.len()` to `out`: 0 for a dropped
    /// element, [`keep_value`](Self::keep_value) for another one. They are those of
    /// [`RandomKey::dropout_mask`].
    pub fn fill_at(self, start: usize, out: &mut [f32]) {
        self.key.dropout_mask(start, self.rate, self.keep_value(), out);
    }

    /// The factors of the first `count` elements.
    pub(crate) fn factors(self, count: usize) -> Vec<f32> {
        let mut factors = vec![0.0; count];
        let tasks = factors.par_chunks_mut(TASK).enumerate();
        tasks.for_each(|(index, part)| self.fill_at(index * TASK, part));
        factors
    }
}
