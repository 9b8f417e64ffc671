//! A sample of the pairs of a corpus, by which another text learns how many of its pairs are in it.
//!
//! It is collected while the corpus is tokenised, and kept beside the tokens in the cache
//! (`pairs-….sample`).

use burnformer_text::visible;

use crate::hash::{Key, key_of};

/// The largest number of pairs in a sample: 8 MiB.
const MAX_PAIRS: usize = 1 << 20;
/// The number of bytes of a pair in a file.
const PAIR_BYTES: usize = 8;

/// The pairs of a corpus with the smallest hashes: all pairs of a small corpus, and a part of a
/// large one that depends on nothing but its pairs.
///
/// A pair of another text with a hash below [the largest](Self::covers) is in the corpus exactly if
/// it is in the sample. How often the corpus has a pair makes no difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairSample {
    /// The hashes; the first ones are sorted and differ.
    hashes: Vec<u64>,
    /// The largest number of pairs.
    most: usize,
    /// If true, pairs with large hashes were left out.
    is_part: bool,
}

impl Default for PairSample {
    /// Returns the sample of an empty corpus.
    fn default() -> Self {
        Self::with_most(MAX_PAIRS)
    }
}

impl PairSample {
    fn with_most(most: usize) -> Self {
        Self {
            hashes: Vec::new(),
            most,
            is_part: false,
        }
    }

    /// Adds a pair. Call [`finish`](Self::finish) after the last one.
    pub(crate) fn add(&mut self, source: &str, target: &str) {
        self.hashes.push(hash(source, target));
        if self.hashes.len() >= 2 * self.most {
            self.finish();
        }
    }

    /// Sorts the pairs, and leaves out those that are too many.
    pub(crate) fn finish(&mut self) {
        self.hashes.sort_unstable();
        self.hashes.dedup();
        self.is_part |= self.hashes.len() > self.most;
        self.hashes.truncate(self.most);
    }

    /// Returns whether the sample tells if the corpus has this pair.
    pub fn covers(&self, source: &str, target: &str) -> bool {
        let largest = self.hashes.last().filter(|_| self.is_part);
        largest.is_none_or(|&largest| hash(source, target) <= largest)
    }

    /// Returns whether the sample has this pair.
    pub fn contains(&self, source: &str, target: &str) -> bool {
        self.hashes.binary_search(&hash(source, target)).is_ok()
    }

    /// Returns the sample as bytes of a file: a checksum, whether it is a part, and the hashes.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut body = vec![u8::from(self.is_part)];
        body.extend(self.hashes.iter().flat_map(|hash| hash.to_le_bytes()));
        let mut bytes = key_of(&[&body]).to_vec();
        bytes.extend(body);
        bytes
    }

    /// Returns the sample in `bytes`, unless they are damaged.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (checksum, body) = bytes.split_at_checked(size_of::<Key>())?;
        let (is_part, hashes) = body.split_first()?;
        if key_of(&[body])[..] != *checksum {
            return None;
        }
        let (hashes, _) = hashes.as_chunks::<PAIR_BYTES>();
        Some(Self {
            hashes: hashes
                .iter()
                .map(|&hash| u64::from_le_bytes(hash))
                .collect(),
            is_part: *is_part == 1,
            ..Self::default()
        })
    }
}

/// Returns the first bytes of a SHA-256 of the texts without their invisible characters.
fn hash(source: &str, target: &str) -> u64 {
    let [source, target] = [source, target].map(visible);
    let key = key_of(&[source.as_bytes(), target.as_bytes()]);
    u64::from_le_bytes(std::array::from_fn(|i| key[i]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a sample of at most `most` of the pairs with these numbers.
    fn sample(most: usize, numbers: impl Iterator<Item = usize>) -> PairSample {
        let mut sample = PairSample::with_most(most);
        for number in numbers {
            sample.add(&format!("Quelle {number}"), &format!("source {number}"));
        }
        sample.finish();
        sample
    }

    fn is_in(sample: &PairSample, number: usize) -> Option<bool> {
        let [source, target] = [format!("Quelle {number}"), format!("source {number}")];
        let covers = sample.covers(&source, &target);
        covers.then(|| sample.contains(&source, &target))
    }

    #[test]
    fn a_small_corpus_is_known_whole() {
        let sample = sample(1000, (0..1000).chain(0..1000));
        let found: Vec<_> = (0..1100).map(|number| is_in(&sample, number)).collect();
        let expected: Vec<_> = (0..1100).map(|number| Some(number < 1000)).collect();
        assert_eq!(found, expected);
        assert!(sample.contains("Quel\u{ad}le 7", "source 7\u{200b}"));
        assert!(!PairSample::default().contains("", ""));
    }

    #[test]
    fn what_a_sample_tells_of_a_large_corpus_is_true() {
        // Every pair occurs once to thrice.
        let numbers = (0..20_000).chain(0..13_000).chain(0..7_000);
        let sample = sample(1000, numbers);
        assert_eq!(sample.hashes.len(), 1000);
        let told: Vec<_> = (0..40_000)
            .filter_map(|number| Some((number, is_in(&sample, number)?)))
            .collect();
        assert!(
            told.iter()
                .all(|&(number, is_in)| is_in == (number < 20_000))
        );
        // A twentieth of 40,000 pairs, of which half are in the corpus.
        assert!((1800..2200).contains(&told.len()), "{}", told.len());
        assert_eq!(told.iter().filter(|it| it.1).count(), 1000);
    }

    #[test]
    fn a_sample_does_not_depend_on_the_order_and_comes_back_from_its_bytes() {
        for most in [10, 5000, 6000] {
            let one = sample(most, 0..5000);
            assert_eq!(one, sample(most, (0..5000).rev()));
            let bytes = one.to_bytes();
            let read = PairSample::from_bytes(&bytes).unwrap();
            assert_eq!((&read.hashes, read.is_part), (&one.hashes, one.is_part));
            for at in [0, 31, 32, 40, bytes.len() - 1] {
                let mut bad = bytes.clone();
                bad[at] ^= 1;
                assert_eq!(PairSample::from_bytes(&bad), None, "byte {at}");
            }
            assert_eq!(PairSample::from_bytes(&bytes[..bytes.len() - 1]), None);
            assert_eq!(PairSample::from_bytes(&bytes[..7]), None);
        }
    }
}
