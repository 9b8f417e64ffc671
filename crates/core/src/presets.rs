//! Configurations by name. Each lists only the values that differ from the configuration that it
//! starts from.
//!
//! The second half builds the configurations of the model's parts, and computes their cost.

use burnformer_kernels::Precision;

use crate::config::TransformerConfig;
use crate::conventions::Conventions;
use crate::cost::Cost;
use crate::decoder::DecoderConfig;
use crate::decoder_layer::DecoderLayerConfig;
use crate::encoder::{EncoderConfig, LayerConfig};
use crate::feed_forward::{Activation, PositionWiseFeedForwardConfig};
use crate::multi_head::{MultiHeadAttentionConfig, head};
use crate::norm::{NormKind, NormPosition};
use crate::position::{PositionalEncodingConfig, Positions};
use crate::shared_embeddings::{EmbeddingSharing, SharedEmbeddingsConfig};

impl TransformerConfig {
    /// The paper's base model (Table 3, first row) with one vocabulary of `vocab` tokens for both
    /// languages.
    pub fn base(vocab: usize) -> Self {
        Self {
            source_vocab: vocab,
            target_vocab: vocab,
            d_model: 512,
            heads: 8,
            d_k: 64,
            d_v: 64,
            d_ff: 2048,
            encoder_layers: 6,
            decoder_layers: 6,
            dropout: 0.1,
            attention_dropout: 0.0,
            activation_dropout: 0.0,
            norm: NormPosition::Post,
            norm_kind: NormKind::Layer,
            layer_norm_eps: 1e-5,
            qk_norm: false,
            activation: Activation::Relu,
            positions: Positions::Sinusoidal,
            max_positions: 1024,
            attention_window: None,
            sharing: EmbeddingSharing::All,
            fix_norm: false,
            pad: 0,
            bos: 1,
            eos: 2,
            conventions: Conventions::default(),
        }
    }

    /// The paper's big model (Table 3, last row) with one vocabulary of `vocab` tokens for both
    /// languages.
    pub fn big(vocab: usize) -> Self {
        Self {
            d_ff: 4096,
            dropout: 0.3,
            ..Self::base(vocab).with_width(1024, 16)
        }
    }

    /// A model with 3 + 3 layers of width 256, for corpora of some hundred thousand sentence pairs.
    pub fn small(vocab: usize) -> Self {
        Self {
            d_ff: 1024,
            encoder_layers: 3,
            decoder_layers: 3,
            ..Self::base(vocab).with_width(256, 4)
        }
    }

    /// A model with 2 + 2 layers of width 128, which learns a small corpus on a laptop's CPU in
    /// minutes.
    pub fn tiny(vocab: usize) -> Self {
        Self {
            d_ff: 512,
            encoder_layers: 2,
            decoder_layers: 2,
            ..Self::base(vocab).with_width(128, 4)
        }
    }

    /// Sets the width `d_model` and the number of heads, with d_k = d_v = d_model / heads.
    ///
    /// # Panics
    /// Panics if `heads` does not divide `d_model`.
    pub fn with_width(self, d_model: usize, heads: usize) -> Self {
        let d_head = head(d_model, heads);
        Self {
            d_model,
            heads,
            d_k: d_head,
            d_v: d_head,
            ..self
        }
    }

    /// This configuration with the decoder's own sizes of attention and feed-forward networks,
    /// which some other systems have ([`Conventions`]).
    pub fn of_decoder(&self) -> Self {
        let heads = self.conventions.decoder_heads.unwrap_or(self.heads).max(1);
        let d_ff = self.conventions.decoder_d_ff.unwrap_or(self.d_ff);
        Self {
            heads,
            d_k: self.heads * self.d_k / heads,
            d_v: self.heads * self.d_v / heads,
            d_ff,
            ..self.clone()
        }
    }

    fn attention(&self) -> MultiHeadAttentionConfig {
        MultiHeadAttentionConfig::new(self.d_model, self.heads)
            .with_d_k(Some(self.d_k))
            .with_d_v(Some(self.d_v))
            .with_dropout(self.attention_dropout)
            .with_qk_norm(self.qk_norm.then_some(self.layer_norm_eps))
    }

    /// Returns a layer of either stack.
    fn layer(&self) -> LayerConfig {
        let feed_forward = PositionWiseFeedForwardConfig::new(self.d_model, self.d_ff)
            .with_activation(self.activation)
            .with_dropout(self.activation_dropout);
        LayerConfig::new(self.attention(), feed_forward)
            .with_norm(self.norm)
            .with_norm_kind(self.norm_kind)
            .with_closing(self.conventions.closing_norm)
            .with_dropout(self.dropout)
            .with_epsilon(self.layer_norm_eps)
    }

    /// Returns the embeddings of source and target, and the output projection.
    pub fn embeddings(&self) -> SharedEmbeddingsConfig {
        SharedEmbeddingsConfig::new([self.source_vocab, self.target_vocab], self.d_model)
            .with_sharing(self.sharing)
            .with_fix_norm(self.fix_norm)
            .with_scale(self.conventions.embedding_scale)
            .with_output_bias(self.conventions.output_bias)
    }

    /// Returns the configuration of the encoder stack.
    pub fn encoder(&self) -> EncoderConfig {
        EncoderConfig::new(self.layer(), self.encoder_layers).with_window(self.attention_window)
    }

    /// Returns the configuration of the decoder stack.
    pub fn decoder(&self) -> DecoderConfig {
        let sizes = self.of_decoder();
        let layer = DecoderLayerConfig::new(sizes.layer())
            .with_cross_attention(Some(sizes.attention().with_joint_query_norm(true)))
            .with_history(self.conventions.target_history)
            .with_history_norm(self.conventions.history_norm);
        DecoderConfig::new(layer, self.decoder_layers).with_window(self.attention_window)
    }

    /// Returns the positional encoding of the source, and of the target. They share no learned
    /// vectors.
    pub fn position(&self) -> PositionalEncodingConfig {
        let learned = (self.positions == Positions::Learned).then_some(self.max_positions);
        PositionalEncodingConfig::new(self.d_model)
            .with_learned(learned)
            .with_sinusoids(self.conventions.sinusoids)
            .with_offset(self.conventions.position_offset)
    }

    /// Returns the cost of both stacks for sentences of `source` and `target` tokens, per position
    /// of the source and of the target. Embeddings and logits are not counted.
    pub fn cost(&self, source: usize, target: usize, precision: Precision) -> [Cost; 2] {
        let [at_target, at_source] = self.decoder().cost([source, target], precision);
        [
            self.encoder().cost(source, precision) + at_source,
            at_target,
        ]
    }

    /// Returns the number of trained values in the model, computed without building it.
    pub fn parameter_count(&self) -> usize {
        let [encoder, decoder] = self.cost(1, 1, Precision::Float32);
        let cost = encoder + decoder + self.position().cost() * 2 + self.embeddings().cost();
        cost.parameters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base() -> TransformerConfig {
        TransformerConfig::base(37_000)
    }

    /// Checks the parameters in millions against the `printed` number.
    fn near(config: TransformerConfig, printed: f64) {
        let count = config.parameter_count() as f64 / 1e6;
        assert!(
            (count - printed).abs() <= 0.07 * printed,
            "{count} against {printed}"
        );
    }

    /// Parameters in millions as Table 3 prints them. Its exact vocabulary is not given ("about
    /// 37,000" pieces): its rows are some 2 million above ours, hence the tolerance.
    #[test]
    fn parameter_counts_match_table_3() {
        near(base(), 65.0);
        near(TransformerConfig::big(37_000), 213.0);
        near(TransformerConfig { d_k: 16, ..base() }, 58.0);
        near(TransformerConfig { d_k: 32, ..base() }, 60.0);
        for (layers, printed) in [(2, 36.0), (4, 50.0), (8, 80.0)] {
            near(
                TransformerConfig {
                    encoder_layers: layers,
                    decoder_layers: layers,
                    ..base()
                },
                printed,
            );
        }
        near(base().with_width(256, 8), 28.0);
        near(base().with_width(1024, 8), 168.0);
        near(
            TransformerConfig {
                d_ff: 1024,
                ..base()
            },
            53.0,
        );
        near(
            TransformerConfig {
                d_ff: 4096,
                ..base()
            },
            90.0,
        );
        for heads in [1, 4, 16, 32] {
            near(base().with_width(512, heads), 65.0);
        }
        near(
            TransformerConfig {
                dropout: 0.2,
                ..base()
            },
            65.0,
        );
        near(
            TransformerConfig {
                positions: Positions::Learned,
                ..base()
            },
            65.0,
        );
    }
}
