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
        let mut size = Self::default();
        for batch in batches {
            size.pairs += batch.batch as u64;
            size.positions += batch.positions() as u64;
            size.real += (batch.source_tokens + batch.target_tokens) as u64;
            size.target += batch.target_tokens as u64;
        }
        size
    }
}
