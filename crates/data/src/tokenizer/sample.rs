//! A sample of bounded size from a text of unknown length, taken in one pass. The same text gives
//! the same sample.

use std::collections::BTreeMap;

use chacha20::ChaCha8Rng;
use rand::Rng;

use crate::random::generator;

/// Gives every row a fixed pseudo-random rank and keeps the rows with the lowest ranks, up to the
/// limit.
///
/// A row is a line, or a line and its translation: both sides of a corpus are kept in equal
/// numbers. Ranks do not depend on a row's position in a regular way. Texts can be periodic (two
/// languages in turn, questions and answers, blocks of documents), and a sample of every n-th row
/// could then contain only one kind. Only rank and row number decide, so the same text gives the
/// same sample.
pub(super) struct Sample {
    /// The rows by their ranks. No two rows have the same rank, because it ends in the number of
    /// the row.
    rows: BTreeMap<Rank, Vec<String>>,
    chars: usize,
    limit: usize,
    ranks: ChaCha8Rng,
    seen: u64,
    /// The lowest rank that was dropped so far. No row with this rank or a higher one is accepted
    /// any more, however short it is.
    dropped: Rank,
}

/// A pseudo-random number, and the number of the row.
type Rank = (u64, u64);

fn chars(lines: &[String]) -> usize {
    lines.iter().map(|line| line.chars().count()).sum()
}

impl Sample {
    /// A sample of at most `limit` characters (or one row, if that is longer).
    pub fn new(limit: usize) -> Self {
        let ranks = generator("tokenizer sample", 0, 0);
        let dropped = (u64::MAX, u64::MAX);
        Self { rows: BTreeMap::new(), chars: 0, limit, ranks, seen: 0, dropped }
    }

    /// Offers the next row.
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

    /// The lines of the rows kept, in the order of the text.
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
        assert_eq!(sampled(10, 50), (0..10).map(|i| format!("{i:05}")).collect::<Vec<_>>());
    }

    #[test]
    fn a_long_text_is_sampled_up_to_the_limit_and_over_its_whole_length() {
        let lines = sampled(10_000, 500);
        assert_eq!(lines.len(), 100);
        assert!(lines.is_sorted());
        let tenth = |line: &String| line.parse::<usize>().unwrap() / 1000;
        let mut counts = [0; 10];
        lines.iter().for_each(|line| counts[tenth(line)] += 1);
        // 100 of 10,000 fall into tenths as (10 ± 3); four deviations are allowed.
        assert!(counts.iter().all(|count| (1..=22).contains(count)), "{counts:?}");
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
    fn what_comes_in_turns_is_sampled_evenly() {
        for period in 2..9 {
            let mut sample = Sample::new(10_000);
            (0..10_000).for_each(|i| sample.push(&[&(i % period).to_string().repeat(10)]));
            let lines = sample.into_lines();
            let first = lines.iter().filter(|line| line.starts_with('0')).count();
            let expected = lines.len() as f64 / period as f64;
            assert!((first as f64 - expected).abs() < 4.0 * expected.sqrt(), "{period}: {first}");
        }
    }

    #[test]
    fn one_row_is_always_kept() {
        let mut sample = Sample::new(3);
        ["longer than three", "also longer"].iter().for_each(|line| sample.push(&[line]));
        assert_eq!(sample.into_lines().len(), 1);
    }
}
