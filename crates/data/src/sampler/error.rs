/// A corpus that gives no batch, or not the batches of a saved position.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum SamplerError {
    /// No pair fits the token budget.
    #[error(
        "no sentence pair fits a budget of {budget} tokens (the shortest needs {shortest}); raise the budget"
    )]
    BudgetTooSmall {
        /// The budget: padded tokens per side.
        budget: usize,
        /// Number of tokens that the shortest pair needs.
        shortest: usize,
    },
    /// A saved position does not belong to this corpus and token budget.
    #[error(
        "the saved position is batch {next_batch} of epoch {epoch}, but that epoch has {batches} batches; \
         resume with the corpus, seed and budget of the saved run"
    )]
    StalePosition {
        /// The epoch of the position.
        epoch: u64,
        /// The batch of the position.
        next_batch: u64,
        /// Number of batches in that epoch.
        batches: u64,
    },
}

burnformer_text::debug_as_message!(SamplerError);
