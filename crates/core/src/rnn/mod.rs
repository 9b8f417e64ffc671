//! A recurrent baseline for the Transformer: a bidirectional GRU encoder, additive attention and a
//! GRU decoder (Bahdanau et al., 2015).
//!
//! It has the Transformer's embeddings, dropout, loss and initial weights, and [`Rnn`] is a
//! [`Seq2Seq`](crate::Seq2Seq) model too. The recurrences run step by step in plain tensors and are
//! slow: the sequential work of a layer is the paper's argument.
//!
//! ```
//! use burn::tensor::{Device, Int, Tensor};
//! use burnformer_core::rnn::RnnConfig;
//! use burnformer_core::{Mode, Seq2Seq};
//!
//! let device = Device::default();
//! let model = RnnConfig::tiny(100).init(0, &device)?;
//! let source = Tensor::<2, Int>::from_ints([[5, 6, 7, 2]], &device);
//! let target = Tensor::<2, Int>::from_ints([[1, 9, 8]], &device);
//! let logits = model.forward(source, target, Mode::Inference);
//! assert_eq!(logits.dims(), [1, 3, 100]);
//! # Ok::<(), burnformer_core::ConfigError>(())
//! ```

mod decoder;
mod gru;
mod network;

use serde::{Deserialize, Serialize};

use crate::{EmbeddingSharing, SharedEmbeddingsConfig};
pub use gru::Gru;
pub use network::Rnn;

/// The configuration of a recurrent encoder–decoder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RnnConfig {
    /// Number of tokens in the source vocabulary.
    pub source_vocab: usize,
    /// Number of tokens in the target vocabulary; equal to `source_vocab` if all embeddings are
    /// shared.
    pub target_vocab: usize,
    /// Width of the embeddings, and of the readout, which is multiplied by the output embedding.
    pub d_model: usize,
    /// The width of the recurrent state of the decoder and of each direction of the encoder; from 1
    /// to 65,536.
    pub d_hidden: usize,
    /// The inner width of the additive attention; from 1 to 65,536.
    pub d_attention: usize,
    /// Dropout on embeddings and on the readout.
    pub dropout: f64,
    /// The embeddings that share one matrix.
    pub sharing: EmbeddingSharing,
    /// Id of the padding token.
    pub pad: u32,
    /// Id of the token that opens a target, `<s>`.
    pub bos: u32,
    /// Id of the token that closes a sentence, `</s>`.
    pub eos: u32,
}

impl RnnConfig {
    /// The name of the architecture in configurations and model directories.
    pub const ARCHITECTURE: &'static str = "rnn";

    /// A model of the size of [`TransformerConfig::tiny`](crate::TransformerConfig::tiny): the
    /// numbers of parameters differ by at most 1 %.
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

    /// Width of an annotation, which is the encoder state of both directions: 2·d_hidden.
    pub fn annotation(&self) -> usize {
        2 * self.d_hidden
    }

    /// Returns the embeddings of source and target, and the output projection.
    pub(crate) fn embeddings(&self) -> SharedEmbeddingsConfig {
        let vocabularies = [self.source_vocab, self.target_vocab];
        SharedEmbeddingsConfig::new(vocabularies, self.d_model).with_sharing(self.sharing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ConfigError, Seq2SeqConfig, TransformerConfig};

    fn error(change: impl FnOnce(&mut RnnConfig)) -> ConfigError {
        let mut config = RnnConfig::tiny(50);
        change(&mut config);
        config.validate().unwrap_err()
    }

    #[test]
    fn every_error_is_provoked_and_named() {
        assert_eq!(error(|c| c.d_hidden = 0), ConfigError::Zero("d_hidden"));
        let large = error(|c| c.d_attention = 1 << 40);
        assert!(matches!(
            large,
            ConfigError::TooLarge {
                field: "d_attention",
                ..
            }
        ));
        let rate = ConfigError::Rate {
            field: "dropout",
            value: 1.0,
        };
        assert_eq!(error(|c| c.dropout = 1.0), rate);
        assert!(matches!(
            error(|c| c.source_vocab = 40),
            ConfigError::SharedVocabularies { .. }
        ));
        assert!(matches!(
            error(|c| c.eos = 50),
            ConfigError::SpecialIds { .. }
        ));
    }

    #[test]
    fn tiny_is_as_large_as_the_tiny_transformer() {
        let actual = RnnConfig::tiny(6_000).parameter_count() as f64;
        let other = TransformerConfig::tiny(6_000).parameter_count() as f64;
        assert!(
            (actual / other - 1.0).abs() < 0.01,
            "{actual} against {other}"
        );
    }

    /// The number was computed by hand, for one sentence of ten tokens per side over 6,000 pieces:
    /// d 128, states of 176, attention of 128.
    #[test]
    fn flops_equal_a_count_by_hand() {
        let logits = 128 * 6_000;
        let source = 6 * 176 * (128 + 176) + 128 * 352;
        let cell = 528 * (128 + 352 + 176);
        let target = cell + 128 * 176 + 10 * (128 + 352) + 256 * (176 + 352 + 128) + logits;
        let actual = RnnConfig::tiny(6_000).update_flops(1, 10, 10);
        assert_eq!(actual, 6 * 10 * (source + target) as u64);
    }
}
