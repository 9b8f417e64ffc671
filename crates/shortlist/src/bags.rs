//! Sentences as sets of counted tokens.

/// The most tokens on a side of a pair; longer pairs are left out, because they are seldom
/// translations of each other sentence by sentence.
pub const LONGEST: usize = 256;

/// A token of a sentence, and the number of its occurrences there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub id: u32,
    pub count: u32,
}

/// Sentences without the order of their tokens.
#[derive(Clone, Debug)]
pub(crate) struct Bags {
    /// The start of each sentence in `tokens`, and the end of the last one.
    starts: Vec<usize>,
    pub tokens: Vec<Entry>,
}

impl Bags {
    pub fn new() -> Self {
        Self { starts: vec![0], tokens: Vec::new() }
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
        self.tokens.extend(counted.map(|same| Entry { id: same[0], count: same.len() as u32 }));
        self.starts.push(self.tokens.len());
    }

    /// Leaves every second sentence, from the first on.
    pub fn halve(&mut self) {
        let mut kept = Self::new();
        for sentence in (0..self.len()).step_by(2) {
            kept.tokens.extend_from_slice(self.sentence(sentence));
            kept.starts.push(kept.tokens.len());
        }
        *self = kept;
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

/// The sentences in which each token occurs.
pub(crate) struct Occurrences {
    /// The start of each token's occurrences in `all`, and the end of the last token's.
    starts: Vec<usize>,
    all: Vec<Occurrence>,
}

/// A sentence in which a token occurs, and the number of its occurrences.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Occurrence {
    pub sentence: u32,
    pub count: u32,
}

impl Occurrences {
    /// The occurrences of the tokens below `vocab` in `bags`.
    pub fn new(bags: &Bags, vocab: usize) -> Self {
        let mut starts = vec![0; vocab + 1];
        bags.tokens.iter().for_each(|token| starts[token.id as usize + 1] += 1);
        for id in 0..vocab {
            starts[id + 1] += starts[id];
        }
        let mut next = starts.clone();
        let mut all = vec![Occurrence::default(); bags.tokens.len()];
        for sentence in 0..bags.len() {
            for token in bags.sentence(sentence) {
                let slot = &mut next[token.id as usize];
                all[*slot] = Occurrence { sentence: sentence as u32, count: token.count };
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
        let of = |id| found.of(id).iter().map(|it| (it.sentence, it.count)).collect::<Vec<_>>();
        assert_eq!((of(3), of(5), of(4)), (vec![(0, 1), (2, 1)], vec![(0, 2)], vec![]));
        bags.halve();
        assert_eq!(bags.len(), 2);
        assert_eq!(pairs(bags.sentence(1)), [(3, 1)]);
    }
}
