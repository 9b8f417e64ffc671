//! Trains a tokeniser from lines of text.
//!
//! The lines are read once. A sample of bounded size is taken from a text of unknown length, and
//! the same text gives the same sample.
//!
//! The words of the sample are counted. The rarest characters are left to bytes.

use std::collections::{BTreeMap, HashMap};

use burnformer_text::visible;
use chacha20::ChaCha8Rng;
use rand::Rng;
use rayon::prelude::*;

use super::layout::{document, empty, fixed_tokens, parse};
use super::settings::{FIXED_TOKENS, MAX_PIECE_CHARS, TokenizerSettings};
use super::{Tokenizer, TokenizerError, bpe, pipeline};
use crate::error::Result;
use crate::hash::generator;

/// Collects text and trains a [`Tokenizer`] on it. Memory is bounded by
/// [`TokenizerSettings::max_training_chars`].
pub struct TokenizerTrainer {
    settings: TokenizerSettings,
    /// The special tokens behind the pieces.
    special: Vec<String>,
    sample: Sample,
}

impl TokenizerTrainer {
    /// Creates a trainer that has no text yet.
    ///
    /// # Errors
    /// Returns the errors of [`TokenizerSettings::validate`].
    pub fn new(settings: TokenizerSettings) -> Result<Self> {
        settings.validate()?;
        Ok(Self {
            sample: Sample::new(settings.max_training_chars),
            special: Vec::new(),
            settings,
        })
    }

    /// Adds special `tokens` to the vocabulary, which keeps the size of the settings: tokens that
    /// name languages, such as `>>de<<` or `__de__`, or the
    /// [separator](crate::special::SEPARATOR_TOKEN) of sentences. No text is encoded as one, and
    /// decoding leaves them out.
    ///
    /// # Errors
    /// Returns [`TokenizerError::VocabularyTooSmall`] if the vocabulary has no room for them.
    pub fn with_special_tokens(self, tokens: Vec<String>) -> Result<Self> {
        let asked = self.settings.vocab_size;
        let needed = FIXED_TOKENS + tokens.len() + 1;
        if asked < needed {
            return Err(TokenizerError::VocabularyTooSmall { asked, needed }.into());
        }
        Ok(Self {
            special: tokens,
            ..self
        })
    }

    /// Adds one line of text. If the text is longer than the limit, the number of the line decides
    /// whether it is sampled.
    pub fn feed(&mut self, line: &str) {
        self.sample.push(&[&visible(line)]);
    }

    /// Adds a line and its translation. They are sampled together: a joint tokeniser learns from
    /// the same number of lines on both sides.
    pub fn feed_pair(&mut self, source: &str, target: &str) {
        self.sample.push(&[&visible(source), &visible(target)]);
    }

    /// Trains the tokeniser. The same lines and settings give the same `tokenizer.json`, byte for
    /// byte, on any number of threads.
    ///
    /// # Errors
    /// Returns an error if there is no text, if the vocabulary is too small for the alphabet or too
    /// large for the text, or if the trainer fails.
    pub fn train(self) -> Result<Tokenizer> {
        let settings = &self.settings;
        let pipeline = empty(settings)?;
        let special = &self.special;
        let pieces = settings.vocab_size - special.len();
        let room = pieces - FIXED_TOKENS;
        let words = count_words(
            &pipeline,
            &self.sample.into_lines(),
            settings.character_coverage,
            room,
        )?;
        let learnt = bpe::learn(
            &words.counts,
            fixed_tokens(),
            &words.alphabet,
            pieces,
            MAX_PIECE_CHARS,
        );
        let asked = settings.vocab_size;
        let possible = learnt.tokens.len() + special.len();
        if possible < asked && !settings.allow_smaller {
            return Err(TokenizerError::VocabularyTooLarge { asked, possible }.into());
        }
        let json = document(&learnt.tokens, &learnt.merges, special, settings);
        Ok(Tokenizer {
            writes_normalizer: true,
            ..Tokenizer::from_hugging_face(parse(json)?)
        })
    }
}

impl Tokenizer {
    /// Trains a tokeniser on `lines`, which are streamed.
    ///
    /// # Errors
    /// Returns the errors of [`TokenizerTrainer::train`].
    pub fn train<S: AsRef<str>>(
        lines: impl IntoIterator<Item = S>,
        settings: &TokenizerSettings,
    ) -> Result<Self> {
        let mut trainer = TokenizerTrainer::new(settings.clone())?;
        lines
            .into_iter()
            .for_each(|line| trainer.feed(line.as_ref()));
        trainer.train()
    }
}

/// Words in ascending order with their counts, and the characters that get a token, in ascending
/// order.
struct Words {
    pub counts: Vec<(String, u64)>,
    pub alphabet: Vec<char>,
}

/// Counts the words in `lines`, as the normaliser and the splitter of `pipeline` define them.
///
/// The alphabet consists of the most frequent characters that cover the share `coverage` of the
/// text, at most `max_alphabet` of them.
fn count_words(
    pipeline: &tokenizers::Tokenizer,
    lines: &[String],
    coverage: f64,
    max_alphabet: usize,
) -> Result<Words> {
    let parts: Vec<_> = lines
        .par_chunks(4096)
        .map(|chunk| count_chunk(pipeline, chunk))
        .collect::<Result<_>>()?;
    let counts = summed(parts.into_iter().flatten());
    let alphabet = alphabet(&counts, coverage, max_alphabet);
    if alphabet.is_empty() {
        return Err(TokenizerError::NoTrainingText.into());
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
        let normalized = pipeline::normalized(tokenizer, line).map_err(TokenizerError::training)?;
        for word in pipeline::words(tokenizer, &normalized).map_err(TokenizerError::training)? {
            *counts.entry(word).or_default() += 1;
        }
    }
    Ok(counts)
}

/// Returns the sums of the counts of each word, in ascending order of the words.
fn summed(counts: impl Iterator<Item = (String, u64)>) -> Vec<(String, u64)> {
    let mut sums: HashMap<String, u64> = HashMap::new();
    for (word, count) in counts {
        *sums.entry(word).or_default() += count;
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_unstable();
    sums
}

/// Returns the most frequent characters that together reach `coverage` of the text. Ties are in the
/// order of code points.
fn alphabet(words: &[(String, u64)], coverage: f64, most: usize) -> Vec<char> {
    let mut counts: HashMap<char, u64> = HashMap::new();
    for (word, count) in words {
        word.chars()
            .for_each(|c| *counts.entry(c).or_default() += count);
    }
    let total: u64 = counts.values().sum();
    let mut by_count: Vec<_> = counts.into_iter().collect();
    by_count.sort_unstable_by_key(|&(c, count)| (std::cmp::Reverse(count), c));
    let mut covered = 0;
    let frequent = by_count.into_iter().take_while(|&(_, count)| {
        let is_needed = (covered as f64) < coverage * total as f64;
        covered += count;
        is_needed
    });
    let mut alphabet: Vec<char> = frequent.map(|(c, _)| c).take(most).collect();
    alphabet.sort_unstable();
    alphabet
}

/// Divides words at characters outside of the alphabet, because no piece can contain them.
fn restrict(words: &[(String, u64)], alphabet: &[char]) -> Vec<(String, u64)> {
    summed(words.iter().flat_map(|(word, count)| {
        let parts = word
            .split(|c| alphabet.binary_search(&c).is_err())
            .filter(|part| !part.is_empty());
        parts.map(|part| (part.to_owned(), *count))
    }))
}

/// Gives every row a fixed pseudo-random rank and keeps the rows with the lowest ranks, up to the
/// limit.
///
/// A row is a line, or a line and its translation: both sides of a corpus are kept in equal
/// numbers. Ranks do not depend on a row's position in a regular way. Texts can be periodic (two
/// languages in turn, questions and answers, blocks of documents), and a sample of every n-th row
/// could then contain only one kind. Only rank and row number decide, so the same text gives the
/// same sample.
struct Sample {
    /// The rows by their ranks. No two rows have the same rank, because it ends in the number of
    /// the row.
    rows: BTreeMap<Rank, Vec<String>>,
    chars: usize,
    limit: usize,
    ranks: ChaCha8Rng,
    seen: u64,
    /// The lowest rank that was dropped so far. A row with this rank or a higher one is not
    /// accepted, however short it is.
    dropped: Rank,
}

/// A pseudo-random number, and the number of the row.
type Rank = (u64, u64);

fn chars(lines: &[String]) -> usize {
    lines.iter().map(|line| line.chars().count()).sum()
}

impl Sample {
    /// Creates a sample of at most `limit` characters (or one row, if that is longer).
    pub fn new(limit: usize) -> Self {
        let ranks = generator("tokenizer sample", 0, 0);
        let dropped = (u64::MAX, u64::MAX);
        Self {
            rows: BTreeMap::new(),
            chars: 0,
            limit,
            ranks,
            seen: 0,
            dropped,
        }
    }

    /// Offers the next row, which is kept if its rank is among the lowest.
    pub fn push(&mut self, lines: &[&str]) {
        let rank = (self.ranks.next_u64(), self.seen);
        self.seen += 1;
        if rank >= self.dropped {
            return;
        }
        let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
        self.chars += chars(&lines);
        self.rows.insert(rank, lines);
        while self.chars > self.limit
            && self.rows.len() > 1
            && let Some((highest, lines)) = self.rows.pop_last()
        {
            self.chars -= chars(&lines);
            self.dropped = highest;
        }
    }

    /// Returns the lines of the rows kept, in the order of the text.
    pub fn into_lines(self) -> Vec<String> {
        let mut rows: Vec<_> = self.rows.into_iter().collect();
        rows.sort_unstable_by_key(|((_, number), _)| *number);
        rows.into_iter().flat_map(|(_, lines)| lines).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampled(lines: u64, limit: usize) -> Vec<String> {
        let mut sample = Sample::new(limit);
        (0..lines).for_each(|i| sample.push(&[&format!("{i:05}")]));
        sample.into_lines()
    }

    #[test]
    fn a_short_text_is_kept_whole_and_in_order() {
        assert_eq!(
            sampled(10, 50),
            (0..10).map(|i| format!("{i:05}")).collect::<Vec<_>>()
        );
    }

    #[test]
    fn a_long_text_is_sampled_up_to_the_limit_and_over_its_whole_length() {
        let lines = sampled(10_000, 500);
        assert_eq!(lines.len(), 100);
        assert!(lines.is_sorted());
        let mut counts = [0; 10];
        for line in &lines {
            let tenth = line.parse::<usize>().unwrap() / 1000;
            counts[tenth] += 1;
        }
        // 100 of 10,000 fall into tenths as (10 ± 3); four deviations are allowed.
        assert!(
            counts.iter().all(|count| (1..=22).contains(count)),
            "{counts:?}"
        );
    }

    #[test]
    fn rows_are_kept_or_dropped_as_one() {
        let mut sample = Sample::new(700);
        (0..1000).for_each(|i| sample.push(&[&format!("s{i:03}"), &format!("t{i:03}")]));
        let lines = sample.into_lines();
        assert!(lines.len() > 150, "{}", lines.len());
        for pair in lines.chunks(2) {
            assert_eq!(pair[0].strip_prefix('s'), pair[1].strip_prefix('t'));
        }
    }

    #[test]
    fn alternating_lines_are_sampled_evenly() {
        for period in 2..9 {
            let mut sample = Sample::new(10_000);
            (0..10_000).for_each(|i| sample.push(&[&(i % period).to_string().repeat(10)]));
            let lines = sample.into_lines();
            let first = lines.iter().filter(|line| line.starts_with('0')).count();
            let expected = lines.len() as f64 / period as f64;
            assert!(
                (first as f64 - expected).abs() < 4.0 * expected.sqrt(),
                "{period}: {first}"
            );
        }
    }

    #[test]
    fn one_row_is_always_kept() {
        let mut sample = Sample::new(3);
        ["longer than three", "also longer"]
            .iter()
            .for_each(|line| sample.push(&[line]));
        assert_eq!(sample.into_lines().len(), 1);
    }
}
