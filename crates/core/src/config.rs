use serde::{Deserialize, Serialize};

use crate::conventions::{Conventions, Sinusoids};
use crate::feed_forward::Activation;
use crate::norm::{NormKind, NormPosition};
use crate::position::Positions;
use crate::shared_embeddings::EmbeddingSharing;

/// Every choice that shapes a Transformer. Presets carry the paper's names; change a field with
/// struct update syntax: `TransformerConfig { dropout: 0.3, ..TransformerConfig::base(37_000) }`.
///
/// The section `[model]` of a training configuration has the same fields, with their meaning for
/// users and the values that they can have (`ModelSettings` of `burnformer-train`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransformerConfig {
    /// Pieces in the source vocabulary.
    pub source_vocab: usize,
    /// Pieces in the target vocabulary; equal to `source_vocab` when embeddings share all.
    pub target_vocab: usize,
    /// Width of the model, d_model in the paper (§3.1).
    pub d_model: usize,
    /// Number of attention heads, h in the paper (§3.2.2).
    pub heads: usize,
    /// Width of each head's queries and keys (paper §3.2.1).
    pub d_k: usize,
    /// Width of each head's values (paper §3.2.2).
    pub d_v: usize,
    /// Inner width of the feed-forward networks (paper §3.3).
    pub d_ff: usize,
    /// Number of layers of the encoder, N in the paper (§3.1).
    pub encoder_layers: usize,
    /// Number of layers of the decoder, N in the paper (§3.1).
    pub decoder_layers: usize,
    /// Dropout rate on each sub-layer's output and on embeddings with positions (paper §5.4).
    pub dropout: f64,
    /// Dropout rate on attention weights.
    pub attention_dropout: f64,
    /// Dropout rate after the activation inside the feed-forward networks.
    pub activation_dropout: f64,
    /// Position of layer normalisation around each sub-layer (paper §3.1).
    pub norm: NormPosition,
    /// Formula of the normalisations around sub-layers.
    #[serde(default)]
    pub norm_kind: NormKind,
    /// Number added to the variance in layer normalisation.
    pub layer_norm_eps: f64,
    /// If true, each head normalises its queries and keys; the queries of the cross-attention are
    /// normalised over all heads together.
    #[serde(default)]
    pub qk_norm: bool,
    /// Activation function of the feed-forward networks (paper §3.3).
    pub activation: Activation,
    /// The positional encoding (paper §3.5).
    pub positions: Positions,
    /// Number of positions for which there are learned vectors.
    pub max_positions: usize,
    /// Largest distance |i − j| that self-attention reaches (paper §4); `None` for all.
    pub attention_window: Option<usize>,
    /// Embeddings that are one matrix (paper §3.4).
    pub sharing: EmbeddingSharing,
    /// If true, embeddings have unit length before their factor √d_model, and where the output
    /// projection shares them (FixNorm; Nguyen and Chiang, 2018).
    #[serde(default)]
    pub fix_norm: bool,
    /// Id of padding.
    pub pad: u32,
    /// Id that opens a target.
    pub bos: u32,
    /// Id that closes a sentence.
    pub eos: u32,
    /// The differences from the paper in models of other systems.
    #[serde(default, skip_serializing_if = "Conventions::is_default")]
    pub conventions: Conventions,
}

/// The error for a configuration that does not describe a model.
#[derive(Clone, PartialEq, thiserror::Error)]
pub enum ConfigError {
    /// A size that must be positive is zero.
    #[error("{0} is 0; it must be at least 1")]
    Zero(&'static str),
    /// A size is above the largest accepted value, which is far beyond any published model.
    #[error("{field} is {value}; it must be at most {limit}")]
    TooLarge {
        /// The field's name.
        field: &'static str,
        /// The value of the field.
        value: usize,
        /// The largest accepted value.
        limit: usize,
    },
    /// A dropout rate is outside of `[0, 1)`.
    #[error("{field} is {value}; a rate must be at least 0 and below 1")]
    Rate {
        /// The field's name.
        field: &'static str,
        /// The value of the field.
        value: f64,
    },
    /// Embeddings are shared between vocabularies of different sizes.
    #[error(
        "embeddings are shared but source_vocab is {source_vocab} and target_vocab {target_vocab}; \
         use one joint vocabulary or sharing = \"target\""
    )]
    SharedVocabularies {
        /// Pieces on the source side.
        source_vocab: usize,
        /// Pieces on the target side.
        target_vocab: usize,
    },
    /// The width is odd, but sinusoids come in pairs of sine and cosine.
    #[error("d_model is {0}; sinusoidal positions need an even width")]
    OddWidth(usize),
    /// The width is below two pairs, which [`Sinusoids::HalvesToEnd`] needs.
    #[error("d_model is {0}; sinusoids \"halves_to_end\" need a width of at least 4")]
    NarrowWidth(usize),
    /// A special id is outside the vocabulary, or `eos` equals `pad`.
    #[error(
        "special ids pad {pad}, bos {bos}, eos {eos}: all must lie below both vocabulary sizes, \
         and eos must differ from pad"
    )]
    SpecialIds {
        /// Padding id.
        pad: u32,
        /// Opening id.
        bos: u32,
        /// Closing id.
        eos: u32,
    },
    /// `decoder_heads` does not divide the total width of the encoder's keys or values.
    #[error(
        "decoder_heads is {heads}; it must divide heads · d_k = {keys} and heads · d_v = {values}"
    )]
    DecoderHeads {
        /// Heads of the decoder.
        heads: usize,
        /// The width of all keys.
        keys: usize,
        /// The width of all values.
        values: usize,
    },
    /// The norm's epsilon is not a positive number.
    #[error("layer_norm_eps is {0}; it must be positive")]
    Epsilon(f64),
}

/// The message: a program whose `main` returns the error prints its `Debug` form.
impl std::fmt::Debug for ConfigError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

/// The largest accepted width of a layer, far beyond any published model.
pub const MAX_WIDTH: usize = 1 << 16;
/// Largest number of heads of an attention.
const MAX_HEADS: usize = 1 << 12;
/// Largest number of layers of a stack.
const MAX_LAYERS: usize = 1 << 10;
/// The largest accepted number of rows of an embedding table, for tokens or positions.
pub const MAX_ROWS: usize = 1 << 24;

impl TransformerConfig {
    /// The name of the architecture in configurations and model directories.
    pub const ARCHITECTURE: &'static str = "transformer";

    /// Checks the configuration.
    ///
    /// # Errors
    /// Returns a [`ConfigError`] that names the first invalid field.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.validate_sizes()?;
        self.validate_rates()?;
        if self.positions == Positions::Sinusoidal && !self.d_model.is_multiple_of(2) {
            return Err(ConfigError::OddWidth(self.d_model));
        }
        if self.conventions.sinusoids == Sinusoids::HalvesToEnd && self.d_model < 4 {
            return Err(ConfigError::NarrowWidth(self.d_model));
        }
        let &Self {
            source_vocab,
            target_vocab,
            pad,
            bos,
            eos,
            ..
        } = self;
        check_vocabularies(self.sharing, [source_vocab, target_vocab], [pad, bos, eos])
    }

    /// Checks that all sizes are within their limits. The number of parameters then fits into 64
    /// bits.
    fn validate_sizes(&self) -> Result<(), ConfigError> {
        let sizes = [
            ("source_vocab", self.source_vocab, MAX_ROWS),
            ("target_vocab", self.target_vocab, MAX_ROWS),
            ("d_model", self.d_model, MAX_WIDTH),
            ("heads", self.heads, MAX_HEADS),
            ("d_k", self.d_k, MAX_WIDTH),
            ("d_v", self.d_v, MAX_WIDTH),
            ("d_ff", self.d_ff, MAX_WIDTH),
            ("encoder_layers", self.encoder_layers, MAX_LAYERS),
            ("decoder_layers", self.decoder_layers, MAX_LAYERS),
            ("max_positions", self.max_positions, MAX_ROWS),
        ];
        let Conventions {
            decoder_heads,
            decoder_d_ff,
            ..
        } = self.conventions;
        let decoder_sizes = [
            (
                "decoder_heads",
                decoder_heads.unwrap_or(self.heads),
                MAX_HEADS,
            ),
            ("decoder_d_ff", decoder_d_ff.unwrap_or(self.d_ff), MAX_WIDTH),
        ];
        check_sizes(sizes.into_iter().chain(decoder_sizes))?;
        let distances = [
            ("position_offset", self.conventions.position_offset),
            ("attention_window", self.attention_window.unwrap_or(0)),
        ];
        if let Some((field, value)) = distances.into_iter().find(|(_, value)| *value > MAX_ROWS) {
            return Err(ConfigError::TooLarge {
                field,
                value,
                limit: MAX_ROWS,
            });
        }
        let keys = self.heads * self.d_k;
        let values = self.heads * self.d_v;
        let heads = decoder_heads.unwrap_or(self.heads);
        if !keys.is_multiple_of(heads) || !values.is_multiple_of(heads) {
            return Err(ConfigError::DecoderHeads {
                heads,
                keys,
                values,
            });
        }
        Ok(())
    }

    fn validate_rates(&self) -> Result<(), ConfigError> {
        let rates = [
            ("dropout", self.dropout),
            ("attention_dropout", self.attention_dropout),
            ("activation_dropout", self.activation_dropout),
        ];
        for (field, value) in rates {
            if !(0.0..1.0).contains(&value) {
                return Err(ConfigError::Rate { field, value });
            }
        }
        if !self.layer_norm_eps.is_finite() || self.layer_norm_eps <= 0.0 {
            return Err(ConfigError::Epsilon(self.layer_norm_eps));
        }
        Ok(())
    }
}

/// Checks sizes of any architecture: the name of each field, its value, and its largest accepted
/// value.
///
/// # Errors
/// Returns [`ConfigError::Zero`] or [`ConfigError::TooLarge`] for the first value that is 0 or
/// above its limit.
pub fn check_sizes(
    sizes: impl IntoIterator<Item = (&'static str, usize, usize)>,
) -> Result<(), ConfigError> {
    for (field, value, limit) in sizes {
        if value == 0 {
            return Err(ConfigError::Zero(field));
        }
        if value > limit {
            return Err(ConfigError::TooLarge {
                field,
                value,
                limit,
            });
        }
    }
    Ok(())
}

/// Checks the vocabularies of a model of any architecture: shared embeddings need vocabularies of
/// one size, and special ids must be inside the vocabularies.
///
/// # Errors
/// Returns [`ConfigError::SharedVocabularies`] if vocabularies of different sizes share a matrix,
/// and [`ConfigError::SpecialIds`] if an id is outside of a vocabulary, or if `eos` equals `pad`.
/// `bos` may equal `pad`, as in Marian's models, or `eos`, as in M2M100: the first input of the
/// decoder is never hidden, and `bos` is never predicted unless it equals `eos`.
pub fn check_vocabularies(
    sharing: EmbeddingSharing,
    [source_vocab, target_vocab]: [usize; 2],
    [pad, bos, eos]: [u32; 3],
) -> Result<(), ConfigError> {
    if sharing == EmbeddingSharing::All && source_vocab != target_vocab {
        return Err(ConfigError::SharedVocabularies {
            source_vocab,
            target_vocab,
        });
    }
    let vocab = source_vocab.min(target_vocab);
    let inside = [pad, bos, eos].iter().all(|&id| (id as usize) < vocab);
    if !inside || pad == eos {
        return Err(ConfigError::SpecialIds { pad, bos, eos });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(change: impl FnOnce(&mut TransformerConfig)) -> ConfigError {
        let mut config = TransformerConfig::tiny(50);
        change(&mut config);
        config.validate().unwrap_err()
    }

    #[test]
    fn every_error_is_provoked_and_named() {
        assert_eq!(error(|c| c.heads = 0), ConfigError::Zero("heads"));
        let large = error(|c| c.d_ff = 1 << 40);
        assert!(matches!(large, ConfigError::TooLarge { field: "d_ff", .. }));
        assert!(matches!(
            error(|c| c.layer_norm_eps = f64::INFINITY),
            ConfigError::Epsilon(..)
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
        assert_eq!(error(|c| c.d_model = 33), ConfigError::OddWidth(33));
        assert!(matches!(
            error(|c| c.eos = 50),
            ConfigError::SpecialIds { .. }
        ));
        assert!(matches!(
            error(|c| c.eos = c.pad),
            ConfigError::SpecialIds { .. }
        ));
        assert!(matches!(
            error(|c| c.layer_norm_eps = f64::NAN),
            ConfigError::Epsilon(..)
        ));
        let far = error(|c| c.conventions.position_offset = usize::MAX);
        assert!(matches!(
            far,
            ConfigError::TooLarge {
                field: "position_offset",
                ..
            }
        ));
        let heads = error(|c| c.conventions.decoder_heads = Some(3));
        assert!(matches!(heads, ConfigError::DecoderHeads { heads: 3, .. }));
        let zero = error(|c| c.conventions.decoder_heads = Some(0));
        assert_eq!(zero, ConfigError::Zero("decoder_heads"));
        let large = error(|c| c.conventions.decoder_d_ff = Some(1 << 40));
        assert!(matches!(
            large,
            ConfigError::TooLarge {
                field: "decoder_d_ff",
                ..
            }
        ));
        let narrow = error(|c| {
            c.d_model = 2;
            c.conventions.sinusoids = Sinusoids::HalvesToEnd;
        });
        assert_eq!(narrow, ConfigError::NarrowWidth(2));
    }

    #[test]
    fn default_conventions_are_not_written() {
        let paper = TransformerConfig::tiny(50);
        let json = serde_json::to_value(&paper).unwrap();
        assert!(json.get("conventions").is_none(), "{json}");
        assert_eq!(
            serde_json::from_value::<TransformerConfig>(json).unwrap(),
            paper
        );
        let conventions = Conventions {
            position_offset: 2,
            ..Conventions::default()
        };
        let other = TransformerConfig {
            conventions,
            ..paper
        };
        let json = serde_json::to_value(&other).unwrap();
        assert_eq!(
            serde_json::from_value::<TransformerConfig>(json.clone()).unwrap(),
            other
        );
        // Equal stacks leave none in the conventions either.
        assert!(json["conventions"].get("decoder_heads").is_none(), "{json}");
        let conventions = Conventions {
            decoder_d_ff: Some(8),
            ..conventions
        };
        let third = TransformerConfig {
            conventions,
            ..other
        };
        let json = serde_json::to_value(&third).unwrap();
        assert_eq!(
            serde_json::from_value::<TransformerConfig>(json).unwrap(),
            third
        );
    }

    #[test]
    fn bos_may_equal_pad_or_eos_and_eos_may_not_equal_pad() {
        let ids =
            |pad, bos, eos| check_vocabularies(EmbeddingSharing::All, [9, 9], [pad, bos, eos]);
        assert_eq!(ids(8, 8, 0), Ok(()));
        assert_eq!(ids(8, 0, 0), Ok(()));
        assert!(ids(0, 8, 0).is_err() && ids(9, 1, 0).is_err());
    }
}
