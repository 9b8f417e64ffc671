use burnformer_core::TransformerConfig;

/// An estimate, in bytes, of what an update needs at most: weights, gradients and two moments, and
/// what the backward pass keeps of a batch of `budget` padded tokens a side in sentences of `longest`.
///
/// Counted in float32 values kept a position: each attention keeps its input, queries, keys, values,
/// context and weights; each feed-forward network its input and two inner layers; each residual two;
/// the output keeps the logits and their gradient.
pub fn worst_batch_bytes(config: &TransformerConfig, budget: usize, longest: usize) -> u64 {
    let longest = longest.clamp(1, budget.max(1));
    let attention = |keys: usize| {
        3 * config.d_model
            + config.heads * (2 * config.d_k + 2 * config.d_v)
            + 3 * config.heads * keys
    };
    let feed_forward = 2 * config.d_model + 3 * config.d_ff;
    let residual = 4 * config.d_model;
    let encoder = attention(longest) + feed_forward + 2 * residual;
    let decoder = 2 * attention(longest) + feed_forward + 3 * residual;
    let layers = config.encoder_layers * encoder + config.decoder_layers * decoder;
    let position = layers + 3 * config.target_vocab;
    4 * (4 * config.parameter_count() as u64 + (budget * position) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_grows_with_the_budget_and_the_vocabulary() {
        let bytes = |budget, vocab| worst_batch_bytes(&TransformerConfig::tiny(vocab), budget, 100);
        assert!(bytes(8192, 6000) > bytes(4096, 6000));
        assert!(bytes(4096, 12_000) > bytes(4096, 6000));
    }
}
