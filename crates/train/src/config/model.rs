use burnformer_core::{Activation, EmbeddingSharing, NormPosition, Positions, TransformerConfig};
use burnformer_data::special;
use burnformer_models::{Architecture, ModelConfig};
use burnformer_rnn::RnnConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Table;

/// The model's shape: a [`ModelConfig`] without what the tokeniser decides.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelSettings {
    /// The kind of model. The recurrent baseline uses `model.d_model`, `model.dropout`, `model.sharing` and the
    /// section `model.rnn`, and refuses the other keys of `model`, which it has no part for; `--preset rnn`
    /// starts from one.
    pub architecture: Architecture,
    /// The width of the model, d_model in the paper (§3.1): the number of features of every position between
    /// layers; from 1 to 65,536, even with sinusoidal positions. Quality, memory and time grow with it.
    pub d_model: usize,
    /// The number of attention heads, h in the paper (§3.2.2); from 1 to 4,096. It must divide `model.d_model`,
    /// unless `model.d_k` and `model.d_v` are set.
    pub heads: usize,
    /// The width of each head's queries and keys, d_k in the paper (§3.2.1; Table 3, rows B); 0 stands for
    /// `model.d_model / model.heads`, which is the paper's choice.
    pub d_k: usize,
    /// The width of each head's values, d_v in the paper (§3.2.2); 0 stands for `model.d_model / model.heads`,
    /// which is the paper's choice.
    pub d_v: usize,
    /// The inner width of the feed-forward networks, d_ff in the paper (§3.3), which is four times the width of
    /// the model there; from 1 to 65,536.
    pub d_ff: usize,
    /// The number of layers of the encoder, N in the paper (§3.1); from 1 to 1,024.
    pub encoder_layers: usize,
    /// The number of layers of the decoder, N in the paper (§3.1); from 1 to 1,024. Translation runs through
    /// the decoder once per token, so that fewer layers here speed it up most.
    pub decoder_layers: usize,
    /// The dropout rate on each sub-layer's output and on the sums of embeddings and positions, P_drop in the
    /// paper (§5.4); from 0 to below 1. Raise it when the validation loss rises while the training loss falls:
    /// 0.3 is usual for corpora below a few hundred thousand pairs.
    pub dropout: f64,
    /// The dropout rate on attention weights, from 0 to below 1; the paper has none.
    pub attention_dropout: f64,
    /// The dropout rate after the activation inside the feed-forward networks, from 0 to below 1; the paper has
    /// none.
    pub activation_dropout: f64,
    /// The position of layer normalisation around each sub-layer (paper §3.1). Take `pre` for deep models,
    /// or where training diverges during the warm-up.
    pub norm: NormPosition,
    /// The number added to the variance in layer normalisation, so that it is never divided by zero; above 0.
    pub layer_norm_eps: f64,
    /// The activation function of the feed-forward networks (paper §3.3).
    pub activation: Activation,
    /// How the model knows the position of a token (paper §3.5).
    pub positions: Positions,
    /// The number of positions that learned positions have a vector for, up to 16,777,216; it must exceed
    /// `data.max_source_len` and `data.max_target_len`. Sinusoidal positions have no such limit and ignore it.
    pub max_positions: usize,
    /// Self-attention reaches only positions at most this far away, |i − j| ≤ r (restricted self-attention,
    /// paper §4); 0 lets it reach all. Its cost then grows with the length of a sentence instead of the square
    /// of the length, which pays for texts far longer than sentences. Attention to the source stays full.
    pub attention_window: usize,
    /// Which of the source embedding, the target embedding and the output projection are one matrix
    /// (paper §3.4). A separate vocabulary for each side (`tokenizer.train.joint = false`, or two
    /// `tokenizer.files`) needs `target` or `none`.
    pub sharing: EmbeddingSharing,
    /// The sizes that only the recurrent baseline has (Bahdanau et al., 2015).
    pub rnn: RnnSettings,
}

/// The sizes that only the recurrent baseline has.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RnnSettings {
    /// The width of the recurrent state of the decoder and of each direction of the encoder; from 1 to 65,536.
    pub d_hidden: usize,
    /// The inner width of the additive attention; from 1 to 65,536.
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
    /// Most positions of a side, `</s>` among them, where they are learned; `None` where there is no limit.
    pub(crate) fn positions_known(&self) -> Option<usize> {
        let learned =
            self.architecture == Architecture::Transformer && self.positions == Positions::Learned;
        learned.then_some(self.max_positions)
    }

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
