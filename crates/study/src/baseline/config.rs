use std::sync::Arc;

use burn::tensor::Device;
use burnformer_core::cost::Cost;
use burnformer_core::{
    ConfigError, EmbeddingSharing, Model, ModelConfig, Precision, RandomKey, Seq2SeqConfig,
    SharedEmbeddingsConfig, Tokens, check_vocabularies,
};
use serde::{Deserialize, Serialize};

use crate::baseline::network::Rnn;

/// The configuration of a recurrent encoder–decoder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RnnConfig {
    /// Number of tokens in the source vocabulary.
    pub source_vocab: usize,
    /// Number of tokens in the target vocabulary; equal to `source_vocab` if all embeddings are shared.
    pub target_vocab: usize,
    /// Width of the embeddings, and of the readout, which is multiplied by the output embedding.
    pub d_model: usize,
    /// The width of the recurrent state of the decoder and of each direction of the encoder; from 1 to 65,536.
    pub d_hidden: usize,
    /// The inner width of the additive attention; from 1 to 65,536.
    pub d_attention: usize,
    /// Dropout on embeddings and on the readout.
    pub dropout: f64,
    /// Which embeddings are one matrix.
    pub sharing: EmbeddingSharing,
    /// Id of the padding token.
    pub pad: u32,
    /// Id of the token that opens a target, `<s>`.
    pub bos: u32,
    /// Id of the token that closes a sentence, `</s>`.
    pub eos: u32,
}

/// Largest accepted width of a layer.
const WIDEST: usize = 1 << 16;
/// Largest accepted number of rows of an embedding matrix.
const MOST_ROWS: usize = 1 << 24;

impl RnnConfig {
    /// The name of the architecture in configurations and model directories.
    pub const ARCHITECTURE: &'static str = "rnn";

    /// A model whose number of parameters is within 1 % of that of
    /// [`TransformerConfig::tiny`](burnformer_core::TransformerConfig::tiny).
    pub fn tiny(vocab: usize) -> Self {
        Self {
            source_vocab: vocab,
            target_vocab: vocab,
            d_model: 128,
            d_hidden: 176,
            d_attention: 128,
            dropout: 0.1,
            sharing: EmbeddingSharing::All,
            pad: 0,
            bos: 1,
            eos: 2,
        }
    }

    /// Builds the model on `device`, with Xavier-uniform weights, normally distributed embeddings (standard deviation
    /// d_model^−½) and zero biases, all a function of `seed`. Pass `device.autodiff()` to train.
    ///
    /// # Errors
    /// The error of [`validate`](Self::validate).
    pub fn init(&self, seed: u64, device: &Device) -> Result<Rnn, ConfigError> {
        self.validate()?;
        Ok(Rnn::new(self, RandomKey::new(seed), device))
    }

    /// Width of an annotation, which is the encoder state of both directions: 2·d_hidden.
    pub fn annotation(&self) -> usize {
        2 * self.d_hidden
    }

    /// The embeddings of source and target, and the output projection.
    pub(crate) fn embeddings(&self) -> SharedEmbeddingsConfig {
        let vocabularies = [self.source_vocab, self.target_vocab];
        SharedEmbeddingsConfig::new(vocabularies, self.d_model).with_sharing(self.sharing)
    }
}

impl Seq2SeqConfig for RnnConfig {
    fn architecture(&self) -> &'static str {
        Self::ARCHITECTURE
    }

    fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(self).expect("a configuration is plain data")
    }

    fn tokens(&self) -> Tokens {
        let &Self { source_vocab, target_vocab, pad, bos, eos, .. } = self;
        Tokens { source_vocab, target_vocab, pad, bos, eos }
    }

    fn d_model(&self) -> usize {
        self.d_model
    }

    fn parameter_count(&self) -> usize {
        let [encoder, decoder] = self.cost(1, 1, Precision::Float32);
        (encoder + decoder + self.embeddings().cost()).parameters
    }

    fn validate(&self) -> Result<(), ConfigError> {
        let sizes = [
            ("source_vocab", self.source_vocab, MOST_ROWS),
            ("target_vocab", self.target_vocab, MOST_ROWS),
            ("d_model", self.d_model, WIDEST),
            ("d_hidden", self.d_hidden, WIDEST),
            ("d_attention", self.d_attention, WIDEST),
        ];
        for (field, value, limit) in sizes {
            match value {
                0 => return Err(ConfigError::Zero { field }),
                _ if value > limit => return Err(ConfigError::TooLarge { field, value, limit }),
                _ => {}
            }
        }
        if !(0.0..1.0).contains(&self.dropout) {
            return Err(ConfigError::Rate { field: "dropout", value: self.dropout });
        }
        let &Self { source_vocab, target_vocab, pad, bos, eos, .. } = self;
        check_vocabularies(self.sharing, [source_vocab, target_vocab], [pad, bos, eos])
    }

    fn build(&self, seed: u64, device: &Device) -> Result<Model, ConfigError> {
        Ok(self.init(seed, device)?.into())
    }

    /// A unit keeps the inputs of its gates, four values per gate, and their gradients. An annotation keeps its keys
    /// and its gradient. Attention keeps one weight per source position.
    fn cost(&self, source: usize, _target: usize, _precision: Precision) -> [Cost; 2] {
        let &Self { d_model, d_hidden, d_attention, .. } = self;
        let (annotation, unit) = (self.annotation(), 13 * d_hidden);
        let gru = |input: usize| 3 * d_hidden * (input + d_hidden);
        let biases = 6 * d_hidden;
        let readout = d_hidden + annotation + d_model;
        let encoder = Cost {
            parameters: 2 * (gru(d_model) + biases),
            multiplications: 2 * gru(d_model) + d_attention * annotation,
            kept_values: 2 * d_model + 2 * unit + 2 * annotation + 2 * d_attention,
        };
        let initial = d_hidden * (d_hidden + 1);
        let attention = d_attention * (d_hidden + annotation + 2);
        let decoder = Cost {
            parameters: initial
                + attention
                + gru(d_model + annotation)
                + biases
                + 2 * d_model * (readout + 1),
            multiplications: gru(d_model + annotation)
                + d_attention * d_hidden
                + source * (d_attention + annotation)
                + 2 * d_model * readout,
            kept_values: 8 * d_model
                + unit
                + 2 * annotation
                + 2 * d_attention
                + source
                + 2 * readout,
        };
        [encoder, decoder]
    }
}

impl From<RnnConfig> for ModelConfig {
    fn from(config: RnnConfig) -> Self {
        Arc::new(config)
    }
}

#[cfg(test)]
mod tests {
    use burnformer_core::TransformerConfig;

    use super::*;

    fn error(change: impl FnOnce(&mut RnnConfig)) -> ConfigError {
        let mut config = RnnConfig::tiny(50);
        change(&mut config);
        config.validate().unwrap_err()
    }

    #[test]
    fn every_error_is_provoked_and_named() {
        assert_eq!(error(|c| c.d_hidden = 0), ConfigError::Zero { field: "d_hidden" });
        let large = error(|c| c.d_attention = 1 << 40);
        assert!(matches!(large, ConfigError::TooLarge { field: "d_attention", .. }));
        let rate = ConfigError::Rate { field: "dropout", value: 1.0 };
        assert_eq!(error(|c| c.dropout = 1.0), rate);
        assert!(matches!(error(|c| c.source_vocab = 40), ConfigError::SharedVocabularies { .. }));
        assert!(matches!(error(|c| c.eos = 50), ConfigError::SpecialIds { .. }));
    }

    #[test]
    fn tiny_is_as_large_as_the_tiny_transformer() {
        let own = RnnConfig::tiny(6_000).parameter_count() as f64;
        let other = TransformerConfig::tiny(6_000).parameter_count() as f64;
        assert!((own / other - 1.0).abs() < 0.01, "{own} against {other}");
    }

    /// By hand, for one sentence of ten tokens per side over 6,000 pieces: d 128, states of 176, attention of 128.
    #[test]
    fn the_counts_are_those_by_hand() {
        let logits = 128 * 6_000;
        let source = 6 * 176 * (128 + 176) + 128 * 352;
        let cell = 528 * (128 + 352 + 176);
        let target = cell + 128 * 176 + 10 * (128 + 352) + 256 * (176 + 352 + 128) + logits;
        let own = RnnConfig::tiny(6_000).update_flops(1, 10, 10);
        assert_eq!(own, 6 * 10 * (source + target) as u64);
    }
}
