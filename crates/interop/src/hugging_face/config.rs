//! `config.json` and `generation_config.json` of a `MarianMTModel`.

use std::path::Path;

use burnformer_core::{
    Activation, Conventions, EmbeddingScale, EmbeddingSharing, NormPosition, OutputBias, Sinusoids,
    TransformerConfig,
};
use burnformer_infer::{AtLimit, BeamRule, LengthPenalty, SearchSettings};
use serde::Deserialize;
use serde_json::Value;

use crate::error::{InteropError, Result};

pub(super) const CONFIG: &str = "config.json";
pub(super) const GENERATION: &str = "generation_config.json";
pub(super) const SAFETENSORS: &str = "model.safetensors";
pub(super) const PYTORCH: &str = "pytorch_model.bin";
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

/// The relevant keys of `config.json`, with the defaults of transformers' `MarianConfig`.
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
    pub eos_token_id: u32,
    pub decoder_start_token_id: u32,
    pub share_encoder_decoder_embeddings: bool,
    pub tie_word_embeddings: bool,
}

impl MarianConfig {
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
            InteropError::unsupported(path, what, "known are relu, gelu, swish and silu")
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
                let known = "known are marian (OPUS-MT) and m2m_100 (M2M100, NLLB)";
                Err(InteropError::unsupported(path, what, known))
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

/// The relevant keys of `generation_config.json`, or of `config.json` in old models. Missing keys have
/// the defaults of transformers' `GenerationConfig`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct GenerationConfig {
    num_beams: Option<usize>,
    max_length: Option<usize>,
    max_new_tokens: Option<usize>,
    min_length: Option<usize>,
    length_penalty: Option<f64>,
    early_stopping: Value,
    no_repeat_ngram_size: Option<usize>,
    bad_words_ids: Option<Vec<Vec<u32>>>,
    suppress_tokens: Option<Vec<u32>>,
    forced_eos_token_id: Value,
}

impl GenerationConfig {
    /// Returns the search settings, and notes on settings without a counterpart.
    ///
    /// # Errors
    /// Returns [`InteropError::Settings`] if a value is out of range for [`SearchSettings`].
    pub fn settings(&self, config: &TransformerConfig) -> Result<(SearchSettings, Vec<String>)> {
        let mut warnings = Vec::new();
        let beam_size = self.num_beams.unwrap_or(1);
        let limit = self
            .max_new_tokens
            .or(self.max_length.map(|length| length.saturating_sub(1)));
        let limit = limit
            .unwrap_or(config.max_positions.saturating_sub(1))
            .max(1);
        let penalty = self.length_penalty.unwrap_or(1.0);
        if penalty < 0.0 {
            warnings.push(format!("length_penalty {penalty} is negative; 0 was taken"));
        }
        if !matches!(self.early_stopping, Value::Null | Value::Bool(false)) {
            let value = &self.early_stopping;
            warnings.push(format!(
                "early_stopping {value} is unknown here; false was taken"
            ));
        }
        let bad = self.bad_words_ids.iter().flatten();
        let (single, several): (Vec<_>, Vec<_>) = bad.partition(|ids| ids.len() == 1);
        if !several.is_empty() {
            warnings.push("bad_words_ids of several tokens were left out".into());
        }
        let suppress = single
            .into_iter()
            .flatten()
            .chain(self.suppress_tokens.iter().flatten());
        let mut suppress: Vec<u32> = suppress
            .copied()
            .filter(|&id| id != config.pad && id != config.bos)
            .collect();
        suppress.sort_unstable();
        suppress.dedup();
        let closes = self.forced_eos_token_id.as_u64() == Some(config.eos.into());
        let settings = SearchSettings {
            beam_size,
            length_penalty: LengthPenalty::Power(penalty.max(0.0)),
            // Lengths in transformers count the start token.
            min_length: self.min_length.unwrap_or(0).saturating_sub(1).min(limit),
            max_length: Some(limit),
            max_length_factor: 0.0,
            max_length_extra: limit,
            no_repeat_ngram: self.no_repeat_ngram_size.unwrap_or(0),
            suppress,
            beam_rule: BeamRule::Transformers,
            at_limit: if closes { AtLimit::Close } else { AtLimit::Cut },
            ..SearchSettings::default()
        };
        settings.validate()?;
        Ok((settings, warnings))
    }
}
