//! The sentences before a sentence in its document, which stand in front of it in an example.
//!
//! An example is the concatenation of Tiedemann and Scherrer 2017
//! (<https://arxiv.org/abs/1708.05943>): the previous sources, each with a separator behind it, and
//! the source; likewise the targets. With one previous source this is their "2+1", with one
//! previous source and target their "2+2". Tokens that name languages stand behind the context, at
//! the beginning of the sentence.
//!
//! Training and translation compose an example by the same two functions,
//! [`ContextSettings::fitting`] and [`joined`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The numbers of previous sentences in an example, and the lengths to which they are added.
/// Lengths are in tokens, without `</s>` and the tokens that name languages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct ContextSettings {
    /// The number of previous sources in front of a source.
    pub source: usize,
    /// The number of previous targets in front of a target; at most `source`.
    pub target: usize,
    /// The length of the longest source with its context.
    pub longest_source: usize,
    /// The length of the longest target with its context.
    pub longest_target: usize,
}

impl ContextSettings {
    /// Returns the numbers of previous sources and of previous targets that fit in front of a pair
    /// of `lengths` tokens. `previous` gives the lengths of the pairs before it in its document,
    /// the nearest first.
    ///
    /// An example that would be too long loses its oldest context first. A previous source and its
    /// target stand in an example together or not at all, as far as the settings ask for both.
    pub fn fitting(
        &self,
        previous: impl IntoIterator<Item = [usize; 2]>,
        lengths: [usize; 2],
    ) -> [usize; 2] {
        let mut counts = [0; 2];
        let [mut source, mut target] = lengths;
        for previous in previous.into_iter().take(self.source) {
            let has_target = counts[0] < self.target;
            // A separator stands behind each sentence.
            source += previous[0] + 1;
            if has_target {
                target += previous[1] + 1;
            }
            if source > self.longest_source || has_target && target > self.longest_target {
                break;
            }
            counts[0] += 1;
            counts[1] += usize::from(has_target);
        }
        counts
    }
}

/// Returns the ids of the sentences `previous`, the oldest first, each with `separator` behind it.
pub fn joined<S: AsRef<[u32]>>(previous: impl IntoIterator<Item = S>, separator: u32) -> Vec<u32> {
    let mut ids = Vec::new();
    for sentence in previous {
        ids.extend_from_slice(sentence.as_ref());
        ids.push(separator);
    }
    ids
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(source: usize, target: usize, longest: usize) -> ContextSettings {
        ContextSettings {
            source,
            target,
            longest_source: longest,
            longest_target: longest,
        }
    }

    #[test]
    fn the_oldest_context_is_left_out_first() {
        let previous = [[2, 2], [3, 3], [4, 4]];
        let fitting = |longest| settings(3, 3, longest).fitting(previous, [5, 5]);
        // 5 and (2 + 1), (3 + 1), (4 + 1).
        assert_eq!(fitting(7), [0, 0]);
        assert_eq!(fitting(8), [1, 1]);
        assert_eq!(fitting(11), [1, 1]);
        assert_eq!(fitting(12), [2, 2]);
        assert_eq!(fitting(17), [3, 3]);
        assert_eq!(settings(2, 1, 99).fitting(previous, [5, 5]), [2, 1]);
        assert_eq!(settings(2, 0, 99).fitting([[1, 1]], [5, 5]), [1, 0]);
    }

    /// A short sentence behind a long one does not take its place.
    #[test]
    fn no_sentence_is_left_out_between_others() {
        let fitting = settings(2, 2, 10).fitting([[9, 9], [1, 1]], [5, 5]);
        assert_eq!(fitting, [0, 0]);
    }

    #[test]
    fn a_source_and_its_target_are_added_together() {
        for previous in [[9, 1], [1, 9]] {
            assert_eq!(settings(1, 1, 10).fitting([previous], [5, 5]), [0, 0]);
        }
        assert_eq!(settings(1, 0, 10).fitting([[1, 9]], [5, 5]), [1, 0]);
    }

    #[test]
    fn a_separator_stands_behind_each_sentence() {
        assert_eq!(joined([vec![5, 6], vec![7]], 4), [5, 6, 4, 7, 4]);
        assert!(joined(Vec::<Vec<u32>>::new(), 4).is_empty());
    }
}
