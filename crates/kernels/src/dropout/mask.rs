use rayon::prelude::*;

use crate::random::RandomKey;

/// Elements drawn by one task: a fixed number, and a multiple of a block's eight.
const TASK: usize = 16 * 1024;

/// Which elements one dropout drops: a function of `key` and of each element's place alone, so it
/// is drawn again in the backward pass instead of being kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DropoutMask {
    key: RandomKey,
    rate: f64,
}

impl DropoutMask {
    /// The mask of `key` that drops with probability `rate`.
    ///
    /// # Panics
    /// If `rate` is not in `[0, 1)`.
    pub fn new(key: RandomKey, rate: f64) -> Self {
        assert!((0.0..1.0).contains(&rate), "dropout rate {rate} is not in [0, 1)");
        Self { key, rate }
    }

    /// What a kept element is multiplied by, 1 / (1 − rate).
    pub fn keep_value(self) -> f32 {
        (1.0 / (1.0 - self.rate)) as f32
    }

    /// How likely an element is dropped.
    #[cfg(feature = "remote")]
    pub(crate) fn rate(self) -> f64 {
        self.rate
    }

    /// The key that it draws from.
    pub fn key(self) -> RandomKey {
        self.key
    }

    /// An element is dropped if its 16 random bits are below this.
    pub fn drop_threshold(self) -> u32 {
        crate::random::drop_threshold(self.rate)
    }

    /// Writes the factors of the elements `start..start + out.len()`, 0 or the
    /// [`keep_value`](Self::keep_value); those of [`RandomKey::dropout_mask`].
    pub fn fill_at(self, start: usize, out: &mut [f32]) {
        self.key.dropout_mask_at(start, self.rate, self.keep_value(), out);
    }

    /// The factors of the first `count` elements.
    pub(crate) fn factors(self, count: usize) -> Vec<f32> {
        let mut factors = vec![0.0; count];
        let tasks = factors.par_chunks_mut(TASK).enumerate();
        tasks.for_each(|(index, part)| self.fill_at(index * TASK, part));
        factors
    }
}
