//! How much arithmetic a model needs: matrix products and attention, nothing else.

use crate::config::TransformerConfig;
use crate::model::ModelConfig;
use crate::rnn::RnnConfig;

impl ModelConfig {
    /// Floating point operations of an update over `rows` sentences of `source` and `target` tokens, padding
    /// counted: two for each multiplication of the forward pass, twice as many for the backward pass.
    pub fn update_flops(&self, rows: usize, source: usize, target: usize) -> u64 {
        let [of_source, of_target] = match self {
            Self::Transformer(config) => transformer(config, source, target),
            Self::Rnn(config) => rnn(config, source),
        };
        let logits = self.d_model() * self.target_vocab();
        6 * (rows * (source * of_source + target * (of_target + logits))) as u64
    }
}

/// Multiplications for a source and for a target position but the logits.
fn transformer(config: &TransformerConfig, source: usize, target: usize) -> [usize; 2] {
    let &TransformerConfig { d_model, heads, d_k, d_v, d_ff, .. } = config;
    let width = heads * (d_k + d_v);
    // Queries and output, or keys and values: two of the four projections.
    let pair = d_model * width;
    let seen = |keys: usize| config.attention_window.map_or(keys, |r| keys.min(2 * r + 1));
    let feed_forward = 2 * d_model * d_ff;
    let encoder = 2 * pair + width * seen(source) + feed_forward;
    let decoder = 3 * pair + width * (seen(target) + source) + feed_forward;
    // Each decoder layer projects keys and values of the source.
    [
        config.encoder_layers * encoder + config.decoder_layers * pair,
        config.decoder_layers * decoder,
    ]
}

fn rnn(config: &RnnConfig, source: usize) -> [usize; 2] {
    let &RnnConfig { d_model, d_hidden, d_attention, .. } = config;
    let annotation = config.annotation();
    let encoder = 2 * 3 * d_hidden * (d_model + d_hidden) + d_attention * annotation;
    let cell = 3 * d_hidden * (d_model + annotation + d_hidden);
    let attention = d_attention * d_hidden + source * (d_attention + annotation);
    let readout = 2 * d_model * (d_hidden + annotation + d_model);
    [encoder, cell + attention + readout]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand, for one sentence of ten tokens a side over 6,000 pieces: d 128, d_ff 512, two layers a
    /// stack, 4·32 heads; and d 128, states of 176, attention of 128.
    #[test]
    fn the_counts_are_those_by_hand() {
        let logits = 128 * 6_000;
        let layer = 4 * 128 * 128 + 2 * 128 * 512;
        let source = 2 * (layer + 256 * 10) + 2 * 2 * 128 * 128;
        let target = 2 * (layer + 2 * 128 * 128 + 2 * 256 * 10) + logits;
        let own = ModelConfig::from(TransformerConfig::tiny(6_000)).update_flops(1, 10, 10);
        assert_eq!(own, 6 * 10 * (source + target) as u64);
        let source = 6 * 176 * (128 + 176) + 128 * 352;
        let cell = 528 * (128 + 352 + 176);
        let target = cell + 128 * 176 + 10 * (128 + 352) + 256 * (176 + 352 + 128) + logits;
        let own = ModelConfig::from(RnnConfig::tiny(6_000)).update_flops(1, 10, 10);
        assert_eq!(own, 6 * 10 * (source + target) as u64);
    }
}
