use burnformer_data::Batch;

/// The amount of text in an update.
#[derive(Clone, Copy, Debug, Default)]
pub struct UpdateSize {
    /// The number of sentence pairs.
    pub pairs: u64,
    /// The number of tokens of both sides, padding included.
    pub positions: u64,
    /// The number of real tokens of both sides.
    pub real: u64,
    /// The number of real target tokens, the divisor of the loss.
    pub target: u64,
}

impl UpdateSize {
    /// The amount of text in `batches`.
    pub(crate) fn of(batches: &[Batch]) -> Self {
        let sum = |count: fn(&Batch) -> usize| batches.iter().map(count).sum::<usize>() as u64;
        Self {
            pairs: sum(|batch| batch.batch),
            positions: sum(Batch::positions),
            real: sum(|batch| batch.source_tokens + batch.target_tokens),
            target: sum(|batch| batch.target_tokens),
        }
    }
}
