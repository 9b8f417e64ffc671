//! Counts n-grams of whole numbers. A number stands for a word, or is the code point of a character.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Multiplicative hashing as in rustc. Texts to be scored are not hostile, and hashing takes most of the time of
/// counting.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct FastHasher(u64);

impl FastHasher {
    fn mix(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}

impl Hasher for FastHasher {
    fn write(&mut self, bytes: &[u8]) {
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            self.mix(u64::from_le_bytes(chunk.try_into().expect("chunks of eight bytes")));
        }
        let mut rest = [0; 8];
        rest[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
        self.mix(u64::from_le_bytes(rest));
    }

    fn write_usize(&mut self, value: usize) {
        self.mix(value as u64);
    }

    // The table chooses its buckets by the low bits, but the product is mixed best in the high bits.
    fn finish(&self) -> u64 {
        self.0.rotate_left(26)
    }
}

pub(crate) type FastMap<K, V> = HashMap<K, V, BuildHasherDefault<FastHasher>>;

/// The number of occurrences of each n-gram, with all orders in one table.
pub(crate) type Counts<'a> = FastMap<&'a [u32], u64>;

/// Assigns a number to every distinct word of a segment and its references.
#[derive(Debug, Default)]
pub(crate) struct Interner<'a>(FastMap<&'a str, u32>);

impl<'a> Interner<'a> {
    /// The number of a word.
    pub(crate) fn id(&mut self, word: &'a str) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry(word).or_insert(next)
    }

    /// The numbers of words.
    pub(crate) fn ids(&mut self, words: impl Iterator<Item = &'a str>) -> Vec<u32> {
        words.map(|word| self.id(word)).collect()
    }
}

/// The number of n-grams of this order in a sequence of length `len`.
pub(crate) fn total(len: usize, order: usize) -> u64 {
    (len + 1).saturating_sub(order) as u64
}

/// Counts the n-grams of the orders 1 to `max_order`.
pub(crate) fn count(tokens: &[u32], max_order: usize) -> Counts<'_> {
    let mut counts = Counts::default();
    counts.reserve(tokens.len() * max_order.min(tokens.len()));
    for order in 1..=max_order.min(tokens.len()) {
        for ngram in tokens.windows(order) {
            *counts.entry(ngram).or_default() += 1;
        }
    }
    counts
}

/// Sets the count of every n-gram in the first table to the larger of both counts.
pub(crate) fn merge_max<'a>(counts: &mut Counts<'a>, other: &Counts<'a>) {
    for (ngram, &count) in other {
        let entry = counts.entry(ngram).or_default();
        *entry = count.max(*entry);
    }
}

/// Clipped matches per order: for every n-gram the smaller of both counts.
pub(crate) fn matches(
    hypothesis: &Counts<'_>,
    reference: &Counts<'_>,
    max_order: usize,
) -> Vec<u64> {
    let mut matches = vec![0; max_order];
    for (ngram, &count) in hypothesis {
        if let Some(&other) = reference.get(ngram) {
            matches[ngram.len() - 1] += count.min(other);
        }
    }
    matches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_are_clipped() {
        // Papineni et al. (2002), example 2: of seven `the`, only the two of the reference count.
        let mut words = Interner::default();
        let hypothesis = words.ids(["the"; 7].into_iter());
        let reference = words.ids(["the", "cat", "is", "on", "the", "mat"].into_iter());
        assert_eq!(matches(&count(&hypothesis, 2), &count(&reference, 2), 2), [2, 0]);
    }

    #[test]
    fn totals_end_at_zero() {
        assert_eq!([1, 2, 3, 4].map(|order| total(2, order)), [2, 1, 0, 0]);
        assert_eq!(total(0, 1), 0);
    }

    #[test]
    fn several_references_give_the_greatest_count() {
        let (one, two) = ([1, 1, 2], [1, 2, 2]);
        let mut counts = count(&one, 1);
        merge_max(&mut counts, &count(&two, 1));
        assert_eq!((counts[&[1][..]], counts[&[2][..]]), (2, 2));
    }
}
