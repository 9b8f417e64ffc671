//! The parts of the model that a configuration describes, and what they cost.

use crate::config::TransformerConfig;
use crate::cost::Cost;
use crate::decoder::DecoderConfig;
use crate::decoder_layer::DecoderLayerConfig;
use crate::encoder::{EncoderConfig, EncoderLayerConfig};
use crate::feed_forward::PositionWiseFeedForwardConfig;
use crate::multi_head::MultiHeadAttentionConfig;
use crate::position::{PositionalEncodingConfig, Positions};
use crate::precision::Precision;
use crate::shared_embeddings::SharedEmbeddingsConfig;

impl TransformerConfig {
    /// This configuration with the sizes of the decoder's attentions and feed-forward networks,
    /// where other systems have others there.
    pub fn of_decoder(&self) -> Self {
        let heads = self.conventions.decoder_heads.unwrap_or(self.heads).max(1);
        let d_ff = self.conventions.decoder_d_ff.unwrap_or(self.d_ff);
        let [d_k, d_v] = [self.d_k, self.d_v].map(|d| self.heads * d / heads);
        Self { heads, d_k, d_v, d_ff, ..self.clone() }
    }

    fn attention(&self) -> MultiHeadAttentionConfig {
        MultiHeadAttentionConfig::new(self.d_model, self.heads)
            .with_d_k(Some(self.d_k))
            .with_d_v(Some(self.d_v))
            .with_dropout(self.attention_dropout)
            .with_qk_norm(self.qk_norm.then_some(self.layer_norm_eps))
    }

    fn feed_forward(&self) -> PositionWiseFeedForwardConfig {
        PositionWiseFeedForwardConfig::new(self.d_model, self.d_ff)
            .with_activation(self.activation)
            .with_dropout(self.activation_dropout)
    }

    /// The embeddings of source and target, and the output projection.
    pub fn embeddings(&self) -> SharedEmbeddingsConfig {
        SharedEmbeddingsConfig::new([self.source_vocab, self.target_vocab], self.d_model)
            .with_sharing(self.sharing)
            .with_scale(self.conventions.embedding_scale)
            .with_output_bias(self.conventions.output_bias)
    }

    /// The encoder.
    pub fn encoder(&self) -> EncoderConfig {
        let layer = EncoderLayerConfig::new(self.attention(), self.feed_forward())
            .with_norm(self.norm)
            .with_dropout(self.dropout)
            .with_epsilon(self.layer_norm_eps);
        EncoderConfig::new(layer, self.encoder_layers).with_window(self.attention_window)
    }

    /// The decoder.
    pub fn decoder(&self) -> DecoderConfig {
        let sizes = self.of_decoder();
        let layer = DecoderLayerConfig::new(sizes.attention(), sizes.feed_forward())
            .with_cross_attention(Some(sizes.attention().with_joint_query_norm(true)))
            .with_history(self.conventions.target_history)
            .with_norm(self.norm)
            .with_dropout(self.dropout)
            .with_epsilon(self.layer_norm_eps);
        DecoderConfig::new(layer, self.decoder_layers).with_window(self.attention_window)
    }

    /// The positional encoding of source and target, each with vectors of its own.
    pub fn position(&self) -> PositionalEncodingConfig {
        let learned = (self.positions == Positions::Learned).then_some(self.max_positions);
        PositionalEncodingConfig::new(self.d_model)
            .with_learned(learned)
            .with_sinusoids(self.conventions.sinusoids)
            .with_offset(self.conventions.position_offset)
    }

    /// The cost of both stacks for sentences of `source` and `target` tokens, per position of the
    /// source and of the target. Embeddings and logits are not counted.
    pub fn cost(&self, source: usize, target: usize, precision: Precision) -> [Cost; 2] {
        let [at_target, at_source] = self.decoder().cost([source, target], precision);
        [self.encoder().cost(source, precision) + at_source, at_target]
    }

    /// The number of trained values in the model, computed without building it.
    pub fn parameter_count(&self) -> usize {
        let [encoder, decoder] = self.cost(1, 1, Precision::Float32);
        let cost = encoder + decoder + self.position().cost() * 2 + self.embeddings().cost();
        cost.parameters
    }
}
