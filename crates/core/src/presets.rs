//! Configurations by name. Each lists only the values that differ from the configuration that it starts from.

use crate::activation::Activation;
use crate::config::TransformerConfig;
use crate::conventions::Conventions;
use crate::multi_head::head;
use crate::position::Positions;
use crate::residual::NormPosition;
use crate::shared_embeddings::EmbeddingSharing;

impl TransformerConfig {
    /// The paper's base model (Table 3, first row) with one vocabulary of `vocab` tokens for both languages.
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
            layer_norm_eps: 1e-5,
            qk_norm: false,
            activation: Activation::Relu,
            positions: Positions::Sinusoidal,
            max_positions: 1024,
            attention_window: None,
            sharing: EmbeddingSharing::All,
            pad: 0,
            bos: 1,
            eos: 2,
            conventions: Conventions::default(),
        }
    }

    /// The paper's big model (Table 3, last row) with one vocabulary of `vocab` tokens for both languages.
    pub fn big(vocab: usize) -> Self {
        Self { d_ff: 4096, dropout: 0.3, ..Self::base(vocab).with_width(1024, 16) }
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

    /// A model with 2 + 2 layers of width 128, which learns a small corpus on a laptop's CPU in minutes.
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
    /// If `heads` does not divide `d_model`.
    pub fn with_width(self, d_model: usize, heads: usize) -> Self {
        let d_head = head(d_model, heads);
        Self { d_model, heads, d_k: d_head, d_v: d_head, ..self }
    }

    /// Table 3, rows A: 1, 4, 16 or 32 `heads` at constant cost.
    pub fn table3_a(vocab: usize, heads: usize) -> Self {
        Self::base(vocab).with_width(512, heads)
    }

    /// Table 3, rows B: keys of width `d_k`, 16 or 32.
    pub fn table3_b(vocab: usize, d_k: usize) -> Self {
        Self { d_k, ..Self::base(vocab) }
    }

    /// Table 3, rows C: 2, 4 or 8 `layers`.
    pub fn table3_c_depth(vocab: usize, layers: usize) -> Self {
        Self { encoder_layers: layers, decoder_layers: layers, ..Self::base(vocab) }
    }

    /// Table 3, rows C: d_model 256 (d_k 32) or 1024 (d_k 128), with eight heads.
    pub fn table3_c_width(vocab: usize, d_model: usize) -> Self {
        Self::base(vocab).with_width(d_model, 8)
    }

    /// Table 3, rows C: feed-forward width `d_ff`, 1024 or 4096.
    pub fn table3_c_feed_forward(vocab: usize, d_ff: usize) -> Self {
        Self { d_ff, ..Self::base(vocab) }
    }

    /// Table 3, rows D: `dropout` 0.0 or 0.2. The rows on label smoothing have the same model and differ in training
    /// only.
    pub fn table3_d(vocab: usize, dropout: f64) -> Self {
        Self { dropout, ..Self::base(vocab) }
    }

    /// Table 3, row E: learned positions instead of sinusoids.
    pub fn table3_e(vocab: usize) -> Self {
        Self { positions: Positions::Learned, ..Self::base(vocab) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parameters in millions as Table 3 prints them. Its exact vocabulary is not given ("about
    /// 37,000" pieces): its rows stand some 2 million above ours, hence the tolerance.
    #[test]
    fn parameter_counts_are_those_of_table_3() {
        let millions = |c: TransformerConfig| c.parameter_count() as f64 / 1e6;
        let near = |c: TransformerConfig, printed: f64| {
            let own = millions(c);
            assert!((own - printed).abs() <= 0.07 * printed, "{own} against {printed}");
        };
        let v = 37_000;
        near(TransformerConfig::base(v), 65.0);
        near(TransformerConfig::big(v), 213.0);
        near(TransformerConfig::table3_b(v, 16), 58.0);
        near(TransformerConfig::table3_b(v, 32), 60.0);
        near(TransformerConfig::table3_c_depth(v, 2), 36.0);
        near(TransformerConfig::table3_c_depth(v, 4), 50.0);
        near(TransformerConfig::table3_c_depth(v, 8), 80.0);
        near(TransformerConfig::table3_c_width(v, 256), 28.0);
        near(TransformerConfig::table3_c_width(v, 1024), 168.0);
        near(TransformerConfig::table3_c_feed_forward(v, 1024), 53.0);
        near(TransformerConfig::table3_c_feed_forward(v, 4096), 90.0);
        for heads in [1, 4, 16, 32] {
            near(TransformerConfig::table3_a(v, heads), 65.0);
        }
        near(TransformerConfig::table3_d(v, 0.2), 65.0);
        near(TransformerConfig::table3_e(v), 65.0);
    }
}
