//! IBM Model 1: the probability of each target token as a translation of each source token, by
//! expectation maximisation.
//!
//! Sentences are sets of counted tokens.

use rayon::prelude::*;

/// The number of iterations of expectation maximisation, as in fast_align and GIZA++.
const ITERATIONS: usize = 5;
/// The largest number of translation candidates of a source token. It bounds the memory of the
/// tables: at most 260 MB for 32,000 source tokens.
const CANDIDATES: usize = 1000;
/// Minimum probability of a translation candidate.
const MIN_PROBABILITY: f32 = 1e-7;
/// The number of sentences per task of a thread.
const BLOCK: usize = 1024;

/// The probabilities of the translations of a source token.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    /// The ids, in ascending order.
    ids: Vec<u32>,
    probabilities: Vec<f32>,
}

impl Row {
    fn probability(&self, id: u32) -> f32 {
        self.ids
            .binary_search(&id)
            .map_or(0.0, |index| self.probabilities[index])
    }

    /// The translations of at least the probability `threshold`, at most `count`, the most probable
    /// first; equally probable ones by id.
    pub fn best(&self, count: usize, threshold: f64) -> Vec<u32> {
        let all = self.ids.iter().zip(&self.probabilities);
        let mut all: Vec<(f32, u32)> = all
            .map(|(&id, &p)| (p, id))
            .filter(|&(p, _)| f64::from(p) >= threshold)
            .collect();
        all.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        all.into_iter().take(count).map(|(_, id)| id).collect()
    }
}

/// The translations of each token below `source_vocab`, learned from the pairs of `source` and
/// `target`.
pub(crate) fn align(
    source: &Bags,
    target: &Bags,
    [source_vocab, target_vocab]: [usize; 2],
) -> Vec<Row> {
    let pairs = Pairs {
        source,
        target,
        occurrences: Occurrences::new(source, source_vocab),
        nowhere: (0..source.len() as u32)
            .map(|sentence| Occurrence { sentence, count: 1 })
            .collect(),
        target_vocab,
    };
    let mut rows = pairs.candidates(source_vocab);
    for _ in 0..ITERATIONS {
        let shares = pairs.shares(&rows);
        rows = pairs.maximised(&rows, &shares);
    }
    rows.truncate(source_vocab);
    rows
}

struct Pairs<'a> {
    source: &'a Bags,
    target: &'a Bags,
    occurrences: Occurrences,
    /// The occurrences of the empty word, the source of untranslated target tokens: one in each
    /// sentence. Its row is the last one.
    nowhere: Vec<Occurrence>,
    target_vocab: usize,
}

impl Pairs<'_> {
    fn occurrences(&self, row: usize, rows: usize) -> &[Occurrence] {
        if row + 1 == rows {
            &self.nowhere
        } else {
            self.occurrences.of(row)
        }
    }

    /// The target tokens that occur together with each source token. Their initial probabilities
    /// are proportional to the Dice coefficient, which converges faster than equal ones (Moore,
    /// 2004).
    fn candidates(&self, source_vocab: usize) -> Vec<Row> {
        let mut frequencies = vec![0u32; self.target_vocab];
        self.target
            .tokens
            .iter()
            .for_each(|token| frequencies[token.id as usize] += 1);
        (0..=source_vocab)
            .into_par_iter()
            .map_init(
                || Sums::new(self.target_vocab),
                |sums, row| {
                    let occurrences = self.occurrences(row, source_vocab + 1);
                    self.candidates_of(occurrences, &frequencies, sums)
                },
            )
            .collect()
    }

    /// The candidates of a source token with these `occurrences`.
    fn candidates_of(
        &self,
        occurrences: &[Occurrence],
        frequencies: &[u32],
        sums: &mut Sums,
    ) -> Row {
        for occurrence in occurrences {
            let target = self.target.sentence(occurrence.sentence as usize);
            target.iter().for_each(|token| sums.add(token.id, 1.0));
        }
        let total = occurrences.len() as f64;
        let mut all: Vec<(f64, u32)> = sums
            .take()
            .map(|(id, sum)| (sum / (total + f64::from(frequencies[id as usize])), id))
            .collect();
        all.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        all.truncate(CANDIDATES);
        normalised(all.into_iter().map(|(dice, id)| (id, dice)).collect())
    }

    /// For each target token of each pair, the reciprocal of the sum of its probabilities over the
    /// source tokens.
    fn shares(&self, rows: &[Row]) -> Vec<f32> {
        let (empty, rows) = rows.split_last().expect("the row of the empty word");
        let firsts: Vec<usize> = (0..self.target.len()).step_by(BLOCK).collect();
        firsts
            .into_par_iter()
            .map(|first| {
                let mut shares = Vec::new();
                for sentence in first..(first + BLOCK).min(self.target.len()) {
                    for token in self.target.sentence(sentence) {
                        shares.push(self.share(sentence, token.id, empty, rows));
                    }
                }
                shares
            })
            .collect::<Vec<_>>()
            .concat()
    }

    /// The reciprocal of the sum of the probabilities of the target token `id` over the source
    /// tokens of `sentence` and the `empty` word; 0 if the sum is 0.
    #[inline]
    fn share(&self, sentence: usize, id: u32, empty: &Row, rows: &[Row]) -> f32 {
        let source = self.source.sentence(sentence).iter();
        let sum = source.fold(empty.probability(id), |sum, token| {
            sum + token.count as f32 * rows[token.id as usize].probability(id)
        });
        if sum > 0.0 { sum.recip() } else { 0.0 }
    }

    /// The probabilities that maximise the likelihood of the expected translations.
    fn maximised(&self, rows: &[Row], shares: &[f32]) -> Vec<Row> {
        (0..rows.len())
            .into_par_iter()
            .map_init(
                || Sums::new(self.target_vocab),
                |sums, row| {
                    let occurrences = self.occurrences(row, rows.len());
                    self.maximised_row(&rows[row], occurrences, shares, sums)
                },
            )
            .collect()
    }

    /// The new probabilities of a source token with the old ones `row` and these `occurrences`.
    fn maximised_row(
        &self,
        row: &Row,
        occurrences: &[Occurrence],
        shares: &[f32],
        sums: &mut Sums,
    ) -> Row {
        for occurrence in occurrences {
            let range = self.target.range(occurrence.sentence as usize);
            let tokens = self.target.tokens[range.clone()].iter();
            for (token, &share) in tokens.zip(&shares[range]) {
                let count = f64::from(occurrence.count * token.count);
                sums.add(token.id, count * f64::from(share));
            }
        }
        normalised(
            sums.take()
                .map(|(id, sum)| (id, sum * f64::from(row.probability(id))))
                .collect(),
        )
    }
}

/// `weights` by token, divided by their sum, without values below [`MIN_PROBABILITY`].
fn normalised(mut weights: Vec<(u32, f64)>) -> Row {
    weights.sort_unstable_by_key(|&(id, _)| id);
    let sum: f64 = weights.iter().map(|&(_, weight)| weight).sum();
    let kept = weights
        .into_iter()
        .map(|(id, weight)| (id, (weight / sum) as f32));
    let (ids, probabilities) = kept
        .filter(|&(_, probability)| probability > MIN_PROBABILITY)
        .unzip();
    Row { ids, probabilities }
}

/// A sparse sum for each target token.
struct Sums {
    all: Vec<f64>,
    touched: Vec<u32>,
}

impl Sums {
    fn new(vocab: usize) -> Self {
        Self {
            all: vec![0.0; vocab],
            touched: Vec::new(),
        }
    }

    fn add(&mut self, id: u32, value: f64) {
        let sum = &mut self.all[id as usize];
        if *sum == 0.0 {
            self.touched.push(id);
        }
        *sum += value;
    }

    /// Takes the sums other than 0, and resets them.
    fn take(&mut self) -> impl Iterator<Item = (u32, f64)> {
        // A token with only zeros added may be listed twice.
        self.touched.sort_unstable();
        self.touched.dedup();
        let all = &mut self.all;
        self.touched
            .drain(..)
            .map(|id| (id, std::mem::take(&mut all[id as usize])))
    }
}

/// The largest number of tokens per side of a pair. Longer pairs are rarely single sentences and
/// are left out.
pub const MAX_LINE_TOKENS: usize = 256;

/// A token of a sentence, and the number of its occurrences there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub id: u32,
    pub count: u32,
}

/// Sentences as bags of tokens.
#[derive(Clone, Debug)]
pub(crate) struct Bags {
    /// The start of each sentence in `tokens`, and the end of the last one.
    starts: Vec<usize>,
    pub tokens: Vec<Entry>,
}

impl Bags {
    pub fn new() -> Self {
        Self {
            starts: vec![0],
            tokens: Vec::new(),
        }
    }

    /// The number of sentences.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Adds a sentence.
    pub fn push(&mut self, ids: &[u32]) {
        let mut ids = ids.to_vec();
        ids.sort_unstable();
        let counted = ids.chunk_by(|a, b| a == b);
        self.tokens.extend(counted.map(|same| Entry {
            id: same[0],
            count: same.len() as u32,
        }));
        self.starts.push(self.tokens.len());
    }

    /// Keeps every second sentence, beginning with the first.
    pub fn halve(&mut self) {
        let mut kept_table = Self::new();
        for sentence in (0..self.len()).step_by(2) {
            kept_table.tokens.extend_from_slice(self.sentence(sentence));
            kept_table.starts.push(kept_table.tokens.len());
        }
        *self = kept_table;
    }

    /// The tokens of a sentence, in ascending order.
    pub fn sentence(&self, sentence: usize) -> &[Entry] {
        &self.tokens[self.range(sentence)]
    }

    /// The range of a sentence's tokens among all tokens.
    pub fn range(&self, sentence: usize) -> std::ops::Range<usize> {
        self.starts[sentence]..self.starts[sentence + 1]
    }
}

/// The sentences of each token.
pub(crate) struct Occurrences {
    /// The start of each token's occurrences in `all`, and the end of the last token's.
    starts: Vec<usize>,
    all: Vec<Occurrence>,
}

/// A sentence with a token, and the number of its occurrences.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Occurrence {
    pub sentence: u32,
    pub count: u32,
}

impl Occurrences {
    /// The occurrences of the tokens below `vocab` in `bags`.
    pub fn new(bags: &Bags, vocab: usize) -> Self {
        let mut starts = vec![0; vocab + 1];
        bags.tokens
            .iter()
            .for_each(|token| starts[token.id as usize + 1] += 1);
        for id in 0..vocab {
            starts[id + 1] += starts[id];
        }
        let mut next = starts.clone();
        let mut all = vec![Occurrence::default(); bags.tokens.len()];
        for sentence in 0..bags.len() {
            for token in bags.sentence(sentence) {
                let slot = &mut next[token.id as usize];
                all[*slot] = Occurrence {
                    sentence: sentence as u32,
                    count: token.count,
                };
                *slot += 1;
            }
        }
        Self { starts, all }
    }

    /// The occurrences of the token `id`, in the order of the sentences.
    pub fn of(&self, id: usize) -> &[Occurrence] {
        &self.all[self.starts[id]..self.starts[id + 1]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_counted_and_found_again() {
        let mut bags = Bags::new();
        for ids in [&[5, 3, 5][..], &[1], &[3]] {
            bags.push(ids);
        }
        let pairs = |tokens: &[Entry]| tokens.iter().map(|t| (t.id, t.count)).collect::<Vec<_>>();
        assert_eq!(pairs(bags.sentence(0)), [(3, 1), (5, 2)]);
        let found = Occurrences::new(&bags, 6);
        let of = |id| {
            found
                .of(id)
                .iter()
                .map(|it| (it.sentence, it.count))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            (of(3), of(5), of(4)),
            (vec![(0, 1), (2, 1)], vec![(0, 2)], vec![])
        );
        bags.halve();
        assert_eq!(bags.len(), 2);
        assert_eq!(pairs(bags.sentence(1)), [(3, 1)]);
    }
}
