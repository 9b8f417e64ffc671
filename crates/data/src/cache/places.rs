//! Finds the tokens of each sentence in a cache file.

/// The offset of every 64th sentence is stored.
const STRIDE: usize = 64;

/// The length of each sentence, and the offset of every 64th: a little over 4 bytes per sentence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Places {
    lengths: Vec<u32>,
    starts: Vec<u64>,
    total: u64,
}

impl Places {
    /// Appends a sentence of `length` tokens.
    pub fn push(&mut self, length: u32) {
        if self.lengths.len().is_multiple_of(STRIDE) {
            self.starts.push(self.total);
        }
        self.lengths.push(length);
        self.total += u64::from(length);
    }

    /// Number of sentences.
    pub fn sentences(&self) -> usize {
        self.lengths.len()
    }

    /// Number of tokens of a sentence.
    pub fn length(&self, sentence: usize) -> usize {
        self.lengths[sentence] as usize
    }

    /// Number of tokens before a sentence.
    pub fn start(&self, sentence: usize) -> u64 {
        let noted = sentence / STRIDE;
        let between = &self.lengths[noted * STRIDE..sentence];
        self.starts[noted] + between.iter().map(|&length| u64::from(length)).sum::<u64>()
    }

    /// Number of tokens of all sentences.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The length of each sentence.
    pub fn lengths(&self) -> &[u32] {
        &self.lengths
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_starts_where_those_before_it_end() {
        let lengths: Vec<u32> = (0..1000).map(|i| i * 7 % 13).collect();
        let mut places = Places::default();
        lengths.iter().for_each(|&length| places.push(length));
        let mut end = 0;
        for (sentence, &length) in lengths.iter().enumerate() {
            assert_eq!((places.start(sentence), places.length(sentence)), (end, length as usize));
            end += u64::from(length);
        }
        assert_eq!((places.total(), places.sentences()), (end, 1000));
    }
}
