//! The section `[model]`: the configuration of a model, except for the values that the tokeniser
//! determines.

use std::path::Path;
use std::sync::Arc;

use burnformer_core::rnn::RnnConfig;
use burnformer_core::{
    Activation, Conventions, EmbeddingSharing, ModelConfig, NormKind, NormPosition, Positions,
    Seq2SeqConfig, TransformerConfig,
};
use burnformer_data::SpecialIds;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use super::ConfigFileError;
use super::error::Result;

/// The key that chooses the architecture.
const ARCHITECTURE: &str = "architecture";
/// The table of the sizes that only the recurrent baseline has.
const RNN: &str = "rnn";
/// The keys of the section that the recurrent baseline has too.
const SHARED_WITH_RNN: [&str; 3] = ["d_model", "dropout", "sharing"];
/// The keys that say nothing of the weights.
const RATES: [&str; 3] = ["dropout", "attention_dropout", "activation_dropout"];

/// The architecture of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Architecture {
    /// The encoder–decoder Transformer of *Attention Is All You Need*.
    Transformer,
    /// The recurrent baseline: a GRU encoder and decoder with additive attention.
    Rnn,
}

impl Architecture {
    /// The name in configurations and model directories.
    pub fn name(self) -> &'static str {
        match self {
            Self::Transformer => TransformerConfig::ARCHITECTURE,
            Self::Rnn => RnnConfig::ARCHITECTURE,
        }
    }
}

/// The sizes that only the recurrent baseline has (Bahdanau et al., 2015).
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct RnnSizes {
    /// The width of the recurrent state of the decoder and of each direction of the encoder; from 1
    /// to 65,536.
    pub d_hidden: usize,
    /// The inner width of the additive attention; from 1 to 65,536.
    pub d_attention: usize,
}

impl Default for RnnSizes {
    fn default() -> Self {
        Self {
            d_hidden: 176,
            d_attention: 128,
        }
    }
}

/// The shape of the model, without what the tokeniser decides.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct ModelSettings {
    /// The kind of model. The recurrent baseline uses `model.d_model`, `model.dropout`,
    /// `model.sharing` and the section `model.rnn`, and refuses the other keys of `model`, which it
    /// has no part for; `--preset rnn` starts from one.
    pub architecture: Architecture,
    /// The width of the model, d_model in the paper (§3.1): the number of features of every
    /// position between layers; from 1 to 65,536, even with sinusoidal positions. Quality, memory
    /// and time grow with it.
    pub d_model: usize,
    /// The number of attention heads, h in the paper (§3.2.2); from 1 to 4,096. It must divide
    /// `model.d_model`, unless `model.d_k` and `model.d_v` are set.
    pub heads: usize,
    /// The width of each head's queries and keys, d_k in the paper (§3.2.1; Table 3, rows B). 0
    /// stands for `model.d_model / model.heads`, which is the paper's choice.
    pub d_k: usize,
    /// The width of each head's values, d_v in the paper (§3.2.2). 0 stands for `model.d_model /
    /// model.heads`, which is the paper's choice.
    pub d_v: usize,
    /// The inner width of the feed-forward networks, d_ff in the paper (§3.3), which is four times
    /// the width of the model there; from 1 to 65,536.
    pub d_ff: usize,
    /// The number of layers of the encoder, N in the paper (§3.1); from 1 to 1,024.
    pub encoder_layers: usize,
    /// The number of layers of the decoder, N in the paper (§3.1); from 1 to 1,024. Translation
    /// runs through the decoder once per token, so that fewer layers here speed it up most.
    pub decoder_layers: usize,
    /// The dropout rate on each sub-layer's output and on the sums of embeddings and positions,
    /// P_drop in the paper (§5.4); from 0 to below 1. Raise it when the validation loss rises while
    /// the training loss falls: 0.3 is usual for corpora below a few hundred thousand pairs.
    pub dropout: f64,
    /// The dropout rate on attention weights, from 0 to below 1; the paper has none.
    pub attention_dropout: f64,
    /// The dropout rate after the activation inside the feed-forward networks, from 0 to below 1;
    /// the paper has none.
    pub activation_dropout: f64,
    /// The position of layer normalisation around each sub-layer (paper §3.1). Take `pre` for deep
    /// models, or where training diverges during the warm-up. A model with `pre` can be exported to
    /// CTranslate2, but not to Hugging Face's `MarianMTModel`, which has `post` alone.
    pub norm: NormPosition,
    /// The formula of these normalisations. No other format can hold `rms` and `scale`.
    pub norm_kind: NormKind,
    /// The number added to the variance in layer normalisation, so that it is never divided by
    /// zero; above 0.
    pub layer_norm_eps: f64,
    /// If true, each head normalises its queries and its keys before they are compared (query–key
    /// normalisation; Henry et al., 2020), by layer normalisation over the width of a head, as
    /// Dehghani et al. (2023) do. The queries of the cross-attention are normalised over all heads
    /// together, as CTranslate2 does, the only other system that can run such a model. The paper
    /// does not normalise them. A model learns more from the same updates, each of which takes a
    /// few per cent longer.
    pub qk_norm: bool,
    /// The activation function of the feed-forward networks (paper §3.3).
    pub activation: Activation,
    /// The positional encoding (paper §3.5).
    pub positions: Positions,
    /// The number of positions that learned positions have a vector for, up to 16,777,216; it must
    /// exceed `data.max_source_len` and `data.max_target_len`. Sinusoidal positions have no such
    /// limit and ignore it.
    pub max_positions: usize,
    /// Self-attention reaches only positions at most this far away, |i − j| ≤ r (restricted
    /// self-attention, paper §4). 0 lets it reach all. With a limit, its cost grows with the length
    /// of a sentence instead of the square of the length, which pays for texts far longer than
    /// sentences. Attention to the source stays full.
    pub attention_window: usize,
    /// The sharing of one matrix among the source embedding, the target embedding and the output
    /// projection (paper §3.4). A separate vocabulary for each side (`tokenizer.train.joint =
    /// false`, or two `tokenizer.files`) needs `target` or `none`.
    pub sharing: EmbeddingSharing,
    /// If true, embeddings and the output projection that shares them have unit length (FixNorm;
    /// Nguyen and Chiang, 2018).
    pub fix_norm: bool,
    /// The sizes that only the recurrent baseline has (Bahdanau et al., 2015).
    pub rnn: RnnSizes,
}

impl Default for ModelSettings {
    fn default() -> Self {
        let base = Self::of_transformer(&TransformerConfig::base(0));
        Self {
            d_k: 0,
            d_v: 0,
            ..base
        }
    }
}

impl ModelSettings {
    /// The largest number of positions per side, `</s>` included, if positions are learned; `None`
    /// if there is no limit.
    pub(crate) fn positions_known(&self) -> Option<usize> {
        let is_learned = self.positions == Positions::Learned;
        (self.architecture == Architecture::Transformer && is_learned).then_some(self.max_positions)
    }

    /// Returns the configuration of a model with the given vocabularies, `[source, target]`, and
    /// special ids.
    pub fn over(
        &self,
        [source_vocab, target_vocab]: [usize; 2],
        SpecialIds { pad, bos, eos }: SpecialIds,
    ) -> ModelConfig {
        if self.architecture == Architecture::Rnn {
            let config = RnnConfig {
                source_vocab,
                target_vocab,
                d_model: self.d_model,
                d_hidden: self.rnn.d_hidden,
                d_attention: self.rnn.d_attention,
                dropout: self.dropout,
                sharing: self.sharing,
                pad,
                bos,
                eos,
            };
            return config.into();
        }
        let head = self.d_model / self.heads.max(1);
        let d_k = if self.d_k == 0 { head } else { self.d_k };
        let d_v = if self.d_v == 0 { head } else { self.d_v };
        let config = TransformerConfig {
            source_vocab,
            target_vocab,
            d_model: self.d_model,
            heads: self.heads,
            d_k,
            d_v,
            d_ff: self.d_ff,
            encoder_layers: self.encoder_layers,
            decoder_layers: self.decoder_layers,
            dropout: self.dropout,
            attention_dropout: self.attention_dropout,
            activation_dropout: self.activation_dropout,
            norm: self.norm,
            norm_kind: self.norm_kind,
            layer_norm_eps: self.layer_norm_eps,
            qk_norm: self.qk_norm,
            activation: self.activation,
            positions: self.positions,
            max_positions: self.max_positions,
            attention_window: (self.attention_window > 0).then_some(self.attention_window),
            sharing: self.sharing,
            fix_norm: self.fix_norm,
            pad,
            bos,
            eos,
            conventions: Conventions::default(),
        };
        config.into()
    }

    /// The settings of a model of the shape `shape`. Special ids and conventions of other systems,
    /// which have no key here, are left out. `None` if its architecture has no settings.
    pub(super) fn of(shape: &dyn Seq2SeqConfig) -> Option<Self> {
        if let Some(transformer) = shape.downcast_ref() {
            return Some(Self::of_transformer(transformer));
        }
        let &RnnConfig {
            d_model,
            d_hidden,
            d_attention,
            dropout,
            sharing,
            ..
        } = shape.downcast_ref()?;
        let rnn = RnnSizes {
            d_hidden,
            d_attention,
        };
        let architecture = Architecture::Rnn;
        Some(Self {
            architecture,
            d_model,
            dropout,
            sharing,
            rnn,
            ..Self::default()
        })
    }

    fn of_transformer(config: &TransformerConfig) -> Self {
        Self {
            architecture: Architecture::Transformer,
            d_k: config.d_k,
            d_v: config.d_v,
            attention_window: config.attention_window.unwrap_or(0),
            d_model: config.d_model,
            heads: config.heads,
            d_ff: config.d_ff,
            encoder_layers: config.encoder_layers,
            decoder_layers: config.decoder_layers,
            dropout: config.dropout,
            attention_dropout: config.attention_dropout,
            activation_dropout: config.activation_dropout,
            norm: config.norm,
            norm_kind: config.norm_kind,
            layer_norm_eps: config.layer_norm_eps,
            qk_norm: config.qk_norm,
            activation: config.activation,
            positions: config.positions,
            max_positions: config.max_positions,
            sharing: config.sharing,
            fix_norm: config.fix_norm,
            rnn: RnnSizes::default(),
        }
    }

    /// The shape `shape` of one of the architectures, with the rates of dropout of these settings.
    pub(crate) fn with_rates(&self, shape: &ModelConfig) -> ModelConfig {
        let &Self {
            dropout,
            attention_dropout,
            activation_dropout,
            ..
        } = self;
        if let Some(config) = shape.downcast_ref::<TransformerConfig>().cloned() {
            let rates = TransformerConfig {
                dropout,
                attention_dropout,
                activation_dropout,
                ..config
            };
            return rates.into();
        }
        match shape.downcast_ref::<RnnConfig>().cloned() {
            Some(config) => RnnConfig { dropout, ..config }.into(),
            None => Arc::clone(shape),
        }
    }

    /// These settings, of the model in `dir`, with the rates of dropout that `given` names.
    ///
    /// # Errors
    /// Returns [`ConfigFileError::OtherModel`] for another key that has another value than the
    /// model.
    pub(super) fn with(&self, given: &Table, dir: &Path) -> Result<Self> {
        let mut table = table(self);
        for (key, value) in given {
            let found = table
                .get_mut(key)
                .expect("the keys of a configuration are known");
            if RATES.contains(&key.as_str()) {
                found.clone_from(value);
                continue;
            }
            if let Some((key, value, found)) = difference(&format!("model.{key}"), value, found) {
                return Err(ConfigFileError::OtherModel {
                    key,
                    value,
                    dir: dir.into(),
                    found,
                });
            }
        }
        Ok(table
            .try_into()
            .expect("the types of a configuration are checked"))
    }

    /// The first key whose value is not the default although the architecture ignores it, as a
    /// dotted path, and that value.
    pub(super) fn without_effect(&self) -> Option<(String, String)> {
        let default = table(&Self::default());
        table(self)
            .iter()
            .find(|(key, value)| self.ignores(key) && default[*key] != **value)
            .map(|(key, value)| (format!("model.{key}"), value.to_string()))
    }

    /// Returns whether the architecture ignores `key`.
    fn ignores(&self, key: &str) -> bool {
        match self.architecture {
            Architecture::Transformer => key == RNN,
            Architecture::Rnn => {
                ![RNN, ARCHITECTURE].contains(&key) && !SHARED_WITH_RNN.contains(&key)
            }
        }
    }
}

/// The settings in the form in which a file has them.
fn table(settings: &impl Serialize) -> Table {
    Table::try_from(settings).expect("a configuration is plain data")
}

/// Returns the first key at or below `key` at which `given` and `model` differ, with both values.
/// A `d_k` or `d_v` of 0 matches any value.
fn difference(key: &str, given: &Value, model: &Value) -> Option<(String, String, String)> {
    match (given, model) {
        (Value::Table(given), Value::Table(model)) => given.iter().find_map(|(name, value)| {
            difference(&format!("{key}.{name}"), value, model.get(name)?)
        }),
        (Value::Integer(0), _) if ["model.d_k", "model.d_v"].contains(&key) => None,
        (Value::Integer(whole), Value::Float(model)) if *whole as f64 == *model => None,
        _ if given == model => None,
        _ => Some((key.into(), given.to_string(), model.to_string())),
    }
}
