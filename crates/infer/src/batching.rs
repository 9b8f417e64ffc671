use crate::error::InferError;
use crate::settings::check;

/// The number of sentences that go through the model together. It changes speed and memory, but no
/// result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batching {
    /// The largest number of sentences in a batch.
    pub max_sentences: usize,
    /// The largest number of tokens in a batch, padding included. A longer sentence forms a batch
    /// of its own.
    pub max_tokens: usize,
}

impl Default for Batching {
    fn default() -> Self {
        Self { max_sentences: 64, max_tokens: 4096 }
    }
}

impl Batching {
    /// Checks that the settings are in their ranges.
    ///
    /// # Errors
    /// [`InferError::Setting`] if a bound is 0.
    pub fn validate(&self) -> Result<(), InferError> {
        for (name, bound) in
            [("max_sentences", self.max_sentences), ("max_tokens", self.max_tokens)]
        {
            check(bound > 0, name, &bound, "at least 1 is needed")?;
        }
        Ok(())
    }

    /// Divides `indices` into batches of similar `lengths`, which they are indices of, the
    /// longest first: if the memory is too small, that shows at once.
    pub(crate) fn group(&self, mut indices: Vec<usize>, lengths: &[usize]) -> Vec<Vec<usize>> {
        indices.sort_by(|&a, &b| lengths[b].cmp(&lengths[a]).then(a.cmp(&b)));
        let mut batches = Vec::new();
        let mut rest = &indices[..];
        while let Some(&longest) = rest.first() {
            let fitting = (self.max_tokens / lengths[longest].max(1)).max(1);
            let (batch, tail) = rest.split_at(fitting.min(self.max_sentences).min(rest.len()));
            batches.push(batch.to_vec());
            rest = tail;
        }
        batches
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_keep_both_bounds_and_lose_nobody() {
        let lengths: Vec<usize> = (0..100).map(|i| 1 + i * 37 % 50).collect();
        let batching = Batching { max_sentences: 7, max_tokens: 120 };
        let batches = batching.group((0..100).collect(), &lengths);
        for batch in &batches {
            let longest = batch.iter().map(|&index| lengths[index]).max().expect("no empty batch");
            assert!(batch.len() <= 7 && longest * batch.len() <= 120);
        }
        let mut all = batches.concat();
        all.sort();
        assert_eq!(all, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn a_sentence_over_the_bound_goes_alone() {
        let batching = Batching { max_sentences: 8, max_tokens: 10 };
        assert_eq!(batching.group(vec![0, 1, 2], &[3, 50, 4]), [vec![1], vec![2, 0]]);
    }

    #[test]
    fn a_bound_of_zero_is_refused() {
        let bad = Batching { max_tokens: 0, ..Batching::default() };
        assert!(matches!(bad.validate(), Err(InferError::Setting { name: "max_tokens", .. })));
    }
}
