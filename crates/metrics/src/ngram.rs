//! Counts n-grams of whole numbers. A number stands for a word, or is the code point of a
//! character.

// Texts to be scored are not hostile, and hashing takes most of the time of counting.
use rustc_hash::FxHashMap;

/// The number of occurrences of each n-gram, with all orders in one table.
pub(crate) type Counts<'a> = FxHashMap<&'a [u32], u64>;

/// Assigns a number to every distinct word of a segment and its references.
#[derive(Debug, Default)]
pub(crate) struct Interner<'a>(FxHashMap<&'a str, u32>);

impl<'a> Interner<'a> {
    /// Returns the numbers of words.
    pub(crate) fn ids(&mut self, words: impl Iterator<Item = &'a str>) -> Vec<u32> {
        words
            .map(|word| {
                let next = self.0.len() as u32;
                *self.0.entry(word).or_insert(next)
            })
            .collect()
    }
}

/// Returns the number of n-grams of this order in a sequence of length `len`.
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
        assert_eq!(
            matches(&count(&hypothesis, 2), &count(&reference, 2), 2),
            [2, 0]
        );
    }

    #[test]
    fn totals_end_at_zero() {
        assert_eq!([1, 2, 3, 4].map(|order| total(2, order)), [2, 1, 0, 0]);
        assert_eq!(total(0, 1), 0);
    }

    #[test]
    fn several_references_give_the_greatest_count() {
        let mut counts = count(&[1, 1, 2], 1);
        merge_max(&mut counts, &count(&[1, 2, 2], 1));
        assert_eq!((counts[&[1][..]], counts[&[2][..]]), (2, 2));
    }
}
