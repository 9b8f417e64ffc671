//! `config.json` of a `MarianMTModel` or an `M2M100ForConditionalGeneration`.

use std::path::Path;

use burnformer_core::{
    Activation, Conventions, EmbeddingScale, EmbeddingSharing, NormPosition, OutputBias, Sinusoids,
    TransformerConfig,
};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

use crate::error::{InteropError, Result};
use crate::files::parse_json;

pub(super) const CONFIG: &str = "config.json";
pub(super) const GENERATION: &str = "generation_config.json";
pub(super) const SAFETENSORS: &str = "model.safetensors";
/// The tokeniser files.
pub(super) const TEXTS: [&str; 4] = [
    "source.spm",
    "target.spm",
    "vocab.json",
    "target_vocab.json",
];
/// The lists of tokens among them.
pub(super) const VOCABULARIES: [&str; 2] = ["vocab.json", "target_vocab.json"];
/// The tokeniser files in the format of `tokenizers`.
pub(super) const TOKENIZERS: [&str; 3] = [
    "tokenizer.json",
    "source_tokenizer.json",
    "target_tokenizer.json",
];

/// The names of activation functions. Of several names, the first is written.
pub(super) const ACTIVATIONS: [(&str, Activation); 4] = [
    ("relu", Activation::Relu),
    ("gelu", Activation::Gelu),
    ("swish", Activation::Silu),
    ("silu", Activation::Silu),
];

/// The relevant keys of `config.json`, with the defaults of transformers' `MarianConfig`. See
/// [`MarianConfig::parse`] for the defaults of other classes.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default = "MarianConfig::of_transformers")]
pub(super) struct MarianConfig {
    pub model_type: String,
    pub vocab_size: usize,
    pub decoder_vocab_size: Option<usize>,
    pub d_model: usize,
    pub encoder_layers: usize,
    pub decoder_layers: usize,
    pub encoder_attention_heads: usize,
    pub decoder_attention_heads: usize,
    pub encoder_ffn_dim: usize,
    pub decoder_ffn_dim: usize,
    pub activation_function: String,
    pub dropout: f64,
    pub attention_dropout: f64,
    pub activation_dropout: f64,
    pub scale_embedding: bool,
    pub static_position_embeddings: bool,
    pub normalize_before: bool,
    pub normalize_embedding: bool,
    pub add_final_layer_norm: bool,
    pub max_position_embeddings: usize,
    pub pad_token_id: u32,
    #[serde(deserialize_with = "first_of")]
    pub eos_token_id: u32,
    pub decoder_start_token_id: u32,
    pub share_encoder_decoder_embeddings: bool,
    pub tie_word_embeddings: bool,
}

/// The id, or the first id of a list.
fn first_of<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<u32, D::Error> {
    let value = Value::deserialize(from)?;
    let first = value.get(0).unwrap_or(&value);
    let id = first.as_u64().and_then(|id| u32::try_from(id).ok());
    id.ok_or_else(|| serde::de::Error::custom(format!("eos_token_id {value} is no token id")))
}

impl MarianConfig {
    /// Reads the configuration in `bytes`, the content of `path`. Missing keys have the defaults of
    /// their class in transformers.
    ///
    /// # Errors
    /// Returns [`InteropError::Damaged`] if a value has another type.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Self> {
        let mut keys: Map<String, Value> = parse_json(path, bytes)?;
        if keys.get("model_type") == Some(&json!("m2m_100")) {
            for (key, value) in [
                ("vocab_size", json!(128_112)),
                ("activation_function", json!("relu")),
                ("attention_dropout", json!(0.1)),
                ("scale_embedding", json!(true)),
                ("pad_token_id", json!(1)),
                ("eos_token_id", json!(2)),
                ("decoder_start_token_id", json!(2)),
            ] {
                keys.entry(key).or_insert(value);
            }
        }
        serde_json::from_value(keys.into()).map_err(|error| InteropError::damaged(path, error))
    }

    fn of_transformers() -> Self {
        Self {
            vocab_size: 58_101,
            d_model: 1024,
            encoder_layers: 12,
            decoder_layers: 12,
            encoder_attention_heads: 16,
            decoder_attention_heads: 16,
            encoder_ffn_dim: 4096,
            decoder_ffn_dim: 4096,
            activation_function: "gelu".into(),
            dropout: 0.1,
            static_position_embeddings: true,
            max_position_embeddings: 1024,
            pad_token_id: 58_100,
            eos_token_id: 0,
            decoder_start_token_id: 58_100,
            share_encoder_decoder_embeddings: true,
            tie_word_embeddings: true,
            ..Self::default()
        }
    }

    /// Returns the configuration of the model. `sharing` comes from the weights.
    ///
    /// # Errors
    /// Returns [`InteropError::Unsupported`] for the first key without a counterpart, and
    /// [`InteropError::Config`] if the sizes do not fit together.
    pub fn transformer(&self, path: &Path, sharing: EmbeddingSharing) -> Result<TransformerConfig> {
        let family = self.family(path)?;
        self.check(path, family)?;
        let heads = self.encoder_attention_heads;
        let (norm, sinusoids, position_offset, output_bias) = match family {
            Family::Marian => (
                NormPosition::Post,
                Sinusoids::Halves,
                0,
                OutputBias::PerPiece,
            ),
            Family::M2m100 => {
                // Earlier positions are for padding.
                let offset = self.pad_token_id as usize + 1;
                (
                    NormPosition::Pre,
                    Sinusoids::HalvesToEnd,
                    offset,
                    OutputBias::None,
                )
            }
        };
        let config = TransformerConfig {
            source_vocab: self.vocab_size,
            target_vocab: self.target_vocab(),
            d_ff: self.encoder_ffn_dim,
            encoder_layers: self.encoder_layers,
            decoder_layers: self.decoder_layers,
            dropout: self.dropout,
            attention_dropout: self.attention_dropout,
            activation_dropout: self.activation_dropout,
            norm,
            // PyTorch's default, which MarianMTModel does not change.
            layer_norm_eps: 1e-5,
            activation: self.activation(path)?,
            max_positions: self.max_position_embeddings,
            sharing,
            pad: self.pad_token_id,
            bos: self.decoder_start_token_id,
            eos: self.eos_token_id,
            conventions: Conventions {
                sinusoids,
                position_offset,
                embedding_scale: if self.scale_embedding {
                    EmbeddingScale::SqrtWidth
                } else {
                    EmbeddingScale::One
                },
                output_bias,
                decoder_heads: Some(self.decoder_attention_heads).filter(|&n| n != heads),
                decoder_d_ff: Some(self.decoder_ffn_dim).filter(|&n| n != self.encoder_ffn_dim),
                ..Conventions::default()
            },
            ..TransformerConfig::base(self.vocab_size).with_width(self.d_model, heads)
        };
        let path = path.to_path_buf();
        config
            .validate()
            .map_err(|source| InteropError::Config(path, source))?;
        Ok(config)
    }

    pub fn target_vocab(&self) -> usize {
        self.decoder_vocab_size.unwrap_or(self.vocab_size)
    }

    fn activation(&self, path: &Path) -> Result<Activation> {
        let name = &self.activation_function[..];
        let known = ACTIVATIONS.iter().find(|&&(known, _)| known == name);
        known.map(|&(_, activation)| activation).ok_or_else(|| {
            let what = format!("activation_function {name:?}");
            InteropError::unsupported(path, what, "supported: relu, gelu, swish and silu")
        })
    }

    /// The family of the model's class.
    ///
    /// # Errors
    /// Returns [`InteropError::Unsupported`] for any other class.
    pub fn family(&self, path: &Path) -> Result<Family> {
        match &self.model_type[..] {
            "marian" => Ok(Family::Marian),
            "m2m_100" => Ok(Family::M2m100),
            other => {
                let what = format!("model_type {other:?}");
                let remedy = "supported: marian (OPUS-MT) and m2m_100 (M2M100, NLLB)";
                Err(InteropError::unsupported(path, what, remedy))
            }
        }
    }

    fn check(&self, path: &Path, family: Family) -> Result<()> {
        let other = "MarianMTModel has none of this either: such a file is not one of its own";
        let is_marian = family == Family::Marian;
        let even = [self.encoder_attention_heads, self.decoder_attention_heads]
            .iter()
            .all(|&heads| heads > 0 && self.d_model.is_multiple_of(heads));
        let refused = [
            (
                is_marian && self.normalize_before,
                "normalize_before",
                other,
            ),
            (self.normalize_embedding, "normalize_embedding", other),
            (
                is_marian && self.add_final_layer_norm,
                "add_final_layer_norm",
                other,
            ),
            (!self.static_position_embeddings, "trained positions", other),
            (
                !even,
                "d_model that attention heads do not divide",
                "the file is damaged",
            ),
        ];
        match refused.into_iter().find(|(is, ..)| *is) {
            Some((_, what, remedy)) => Err(InteropError::unsupported(path, what, remedy)),
            None => Ok(()),
        }
    }
}

/// A class of models of transformers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// `MarianMTModel`.
    Marian,
    /// `M2M100ForConditionalGeneration`, also the class of NLLB: norms before sub-layers, positions
    /// from 2 on.
    M2m100,
}
