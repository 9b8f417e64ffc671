use burnformer_core::{Activation, EmbeddingSharing, NormPosition, Positions, TransformerConfig};
use burnformer_data::special;
use burnformer_models::{Architecture, ModelConfig};
use burnformer_rnn::RnnConfig;
use serde::{Deserialize, Serialize};
use toml::Table;

/// The model's shape: a [`ModelConfig`] without what the tokeniser decides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelSettings {
    /// `transformer`, or `rnn`: the recurrent baseline, of which `d_model`, `dropout`, `sharing` and the
    /// section `rnn` are settings.
    pub architecture: Architecture,
    /// Width of the model.
    pub d_model: usize,
    /// Attention heads.
    pub heads: usize,
    /// Width of a head's queries and keys; 0 for `d_model / heads`.
    pub d_k: usize,
    /// Width of a head's values; 0 for `d_model / heads`.
    pub d_v: usize,
    /// Inner width of the feed-forward networks.
    pub d_ff: usize,
    /// Layers of the encoder.
    pub encoder_layers: usize,
    /// Layers of the decoder.
    pub decoder_layers: usize,
    /// Dropout on each sub-layer's output and on the embedded sums.
    pub dropout: f64,
    /// Dropout on attention weights.
    pub attention_dropout: f64,
    /// Dropout inside the feed-forward networks.
    pub activation_dropout: f64,
    /// `post` (the paper) or `pre`.
    pub norm: NormPosition,
    /// Added to the variance in layer normalisation.
    pub layer_norm_eps: f64,
    /// `relu` (the paper), `gelu` or `silu`.
    pub activation: Activation,
    /// `sinusoidal` (the paper) or `learned`.
    pub positions: Positions,
    /// Places that learned positions know.
    pub max_positions: usize,
    /// Limits self-attention to |i − j| ≤ this; 0 attends everywhere.
    pub attention_window: usize,
    /// `all` (the paper), `target` or `none`; two vocabularies cannot share `all`.
    pub sharing: EmbeddingSharing,
    /// Sizes of the recurrent baseline.
    pub rnn: RnnSettings,
}

/// What only the recurrent baseline has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RnnSettings {
    /// Width of the state of the decoder and of each direction of the encoder.
    pub d_hidden: usize,
    /// Inner width of the additive attention.
    pub d_attention: usize,
}

impl Default for RnnSettings {
    fn default() -> Self {
        let RnnConfig { d_hidden, d_attention, .. } = RnnConfig::tiny(1);
        Self { d_hidden, d_attention }
    }
}

/// The keys of `model` that both architectures have.
const COMMON: [&str; 4] = ["architecture", "d_model", "dropout", "sharing"];
/// The section that only the recurrent baseline has.
const RNN: &str = "rnn";

impl Default for ModelSettings {
    fn default() -> Self {
        let base = TransformerConfig::base(1);
        Self {
            architecture: Architecture::Transformer,
            rnn: RnnSettings::default(),
            d_model: base.d_model,
            heads: base.heads,
            d_k: 0,
            d_v: 0,
            d_ff: base.d_ff,
            encoder_layers: base.encoder_layers,
            decoder_layers: base.decoder_layers,
            dropout: base.dropout,
            attention_dropout: 0.0,
            activation_dropout: 0.0,
            norm: base.norm,
            layer_norm_eps: base.layer_norm_eps,
            activation: base.activation,
            positions: base.positions,
            max_positions: base.max_positions,
            attention_window: 0,
            sharing: base.sharing,
        }
    }
}

impl ModelSettings {
    /// The configuration over vocabularies of these sizes.
    pub fn over(&self, source_vocab: usize, target_vocab: usize) -> ModelConfig {
        match self.architecture {
            Architecture::Transformer => self.transformer(source_vocab, target_vocab).into(),
            Architecture::Rnn => self.rnn(source_vocab, target_vocab).into(),
        }
    }

    /// The first key, dotted, that is set to something, and that something, though the architecture has
    /// no such part.
    pub(super) fn without_effect(&self) -> Option<(String, String)> {
        let table = |settings| Table::try_from(settings).expect("a configuration is plain data");
        let (own, default) = (table(self), table(&Self::default()));
        let common = |key: &str| COMMON.contains(&key);
        let idle = |key: &str| match self.architecture {
            Architecture::Transformer => key == RNN,
            Architecture::Rnn => key != RNN && !common(key),
        };
        let found = own.iter().find(|(key, value)| idle(key) && default[*key] != **value);
        found.map(|(key, value)| (format!("model.{key}"), value.to_string()))
    }

    fn rnn(&self, source_vocab: usize, target_vocab: usize) -> RnnConfig {
        RnnConfig {
            source_vocab,
            target_vocab,
            d_model: self.d_model,
            d_hidden: self.rnn.d_hidden,
            d_attention: self.rnn.d_attention,
            dropout: self.dropout,
            sharing: self.sharing,
            pad: special::PAD,
            bos: special::BOS,
            eos: special::EOS,
        }
    }

    fn transformer(&self, source_vocab: usize, target_vocab: usize) -> TransformerConfig {
        let d_head = self.d_model / self.heads.max(1);
        let or_head = |d: usize| if d == 0 { d_head } else { d };
        TransformerConfig {
            source_vocab,
            target_vocab,
            d_model: self.d_model,
            heads: self.heads,
            d_k: or_head(self.d_k),
            d_v: or_head(self.d_v),
            d_ff: self.d_ff,
            encoder_layers: self.encoder_layers,
            decoder_layers: self.decoder_layers,
            dropout: self.dropout,
            attention_dropout: self.attention_dropout,
            activation_dropout: self.activation_dropout,
            norm: self.norm,
            layer_norm_eps: self.layer_norm_eps,
            activation: self.activation,
            positions: self.positions,
            max_positions: self.max_positions,
            attention_window: (self.attention_window > 0).then_some(self.attention_window),
            sharing: self.sharing,
            pad: special::PAD,
            bos: special::BOS,
            eos: special::EOS,
        }
    }
}
