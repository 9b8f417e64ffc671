//! The words of a training sample with their counts. The rarest characters are left to bytes.

use std::collections::HashMap;

use rayon::prelude::*;

use super::pipeline;
use crate::error::{DataError, Result};

/// Words in ascending order with their counts, and the characters that get a token, in ascending
/// order.
pub(super) struct Words {
    pub counts: Vec<(String, u64)>,
    pub alphabet: Vec<char>,
}

/// Counts the words in `lines`, as the normaliser and the splitter of `pipeline` define them.
///
/// The alphabet consists of the most frequent characters that cover the share `coverage` of the
/// text, at most `max_alphabet` of them.
pub(super) fn count(
    pipeline: &tokenizers::Tokenizer,
    lines: &[String],
    coverage: f64,
    max_alphabet: usize,
) -> Result<Words> {
    let parts: Vec<_> =
        lines.par_chunks(4096).map(|chunk| count_chunk(pipeline, chunk)).collect::<Result<_>>()?;
    let counts = summed(parts.into_iter().flatten());
    let alphabet = alphabet(&counts, coverage, max_alphabet);
    if alphabet.is_empty() {
        return Err(DataError::NoTrainingText);
    }
    let counts = restrict(&counts, &alphabet);
    Ok(Words { counts, alphabet })
}

fn count_chunk(
    tokenizer: &tokenizers::Tokenizer,
    lines: &[String],
) -> Result<HashMap<String, u64>> {
    let mut counts = HashMap::new();
    for line in lines {
        let normalized = pipeline::normalized(tokenizer, line).map_err(DataError::training)?;
        for word in pipeline::words(tokenizer, &normalized).map_err(DataError::training)? {
            *counts.entry(word).or_default() += 1;
        }
    }
    Ok(counts)
}

/// The sums of the counts of each word, in ascending order of the words.
fn summed(counts: impl Iterator<Item = (String, u64)>) -> Vec<(String, u64)> {
    let mut sums: HashMap<String, u64> = HashMap::new();
    for (word, count) in counts {
        *sums.entry(word).or_default() += count;
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_unstable();
    sums
}

/// The most frequent characters that together reach `coverage` of the text. Ties are in the order
/// of code points.
fn alphabet(words: &[(String, u64)], coverage: f64, most: usize) -> Vec<char> {
    let mut counts: HashMap<char, u64> = HashMap::new();
    for (word, count) in words {
        word.chars().for_each(|c| *counts.entry(c).or_default() += count);
    }
    let total: u64 = counts.values().sum();
    let mut by_count: Vec<_> = counts.into_iter().collect();
    by_count.sort_unstable_by_key(|&(c, count)| (std::cmp::Reverse(count), c));
    let mut covered = 0;
    let frequent = by_count.into_iter().take_while(|&(_, count)| {
        let wanted = (covered as f64) < coverage * total as f64;
        covered += count;
        wanted
    });
    let mut alphabet: Vec<char> = frequent.map(|(c, _)| c).take(most).collect();
    alphabet.sort_unstable();
    alphabet
}

/// Divides words at characters outside of the alphabet, because no piece can contain them.
fn restrict(words: &[(String, u64)], alphabet: &[char]) -> Vec<(String, u64)> {
    let known = |c: char| alphabet.binary_search(&c).is_ok();
    summed(words.iter().flat_map(|(word, count)| {
        let parts = word.split(|c| !known(c)).filter(|part| !part.is_empty());
        parts.map(|part| (part.to_owned(), *count))
    }))
}
