use burnformer_core::TransformerConfig;

/// An estimate, in bytes, of what an update needs at most: weights, gradients and two moments, and
/// what the backward pass keeps of a batch of `budget` padded tokens a side in sentences of `longest`.
///
/// Counted in float32 values kept a position: each attention keeps its input, queries, keys, values,
/// context and weights; each feed-forward network its input and inner layer; each residual connection
/// its two sides; the output keeps the logits and their gradient. (Measured: 0.77 GB where this says
/// 0.85, `small` on Multi30k.)
pub fn worst_batch_bytes(config: &TransformerConfig, budget: usize, longest: usize) -> u64 {
    let longest = longest.clamp(1, budget.max(1));
    let attention = config.d_model + config.heads * (2 * config.d_k + 2 * config.d_v + longest);
    let feed_forward = config.d_model + config.d_ff;
    let residual = 2 * config.d_model;
    let encoder = attention + feed_forward + 2 * residual;
    let decoder = 2 * attention + feed_forward + 3 * residual;
    let layers = config.encoder_layers * encoder + config.decoder_layers * decoder;
    let position = layers + 2 * config.target_vocab;
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
