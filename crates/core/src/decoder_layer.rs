use burn::config::Config;
use burn::module::Module;
use burn::tensor::{Device, Tensor};
use burnformer_kernels::{KvCache, Precision, RandomKey};

use crate::attention::AttentionBias;
use crate::context::{AttentionKind, Context};
use crate::conventions::{HistoryNorm, TargetHistory};
use crate::cost::Cost;
use crate::encoder::LayerConfig;
use crate::feed_forward::PositionWiseFeedForward;
use crate::init;
use crate::linear::Linear;
use crate::multi_head::{AttentionSource, KeyValues, MultiHeadAttention, MultiHeadAttentionConfig};
use crate::norm::{LayerNorm, ResidualNorm};
use crate::ssru::{Ssru, SsruState};

/// The sub-layers of a [`DecoderLayer`], and the norm and dropout of their residual connections.
///
/// ```
/// use burn::tensor::Device;
/// use burnformer_core::{
///     DecoderLayerConfig, LayerConfig, MultiHeadAttentionConfig, PositionWiseFeedForwardConfig,
/// };
///
/// let attention = MultiHeadAttentionConfig::new(64, 4);
/// // A layer of a language model; `with_cross_attention(Some(attention.clone()))` makes one of a
/// // translation model.
/// let network = PositionWiseFeedForwardConfig::new(64, 256);
/// let config = DecoderLayerConfig::new(LayerConfig::new(attention, network));
/// assert!(config.init(&Device::default()).cross_attention.is_none());
/// ```
#[derive(Config, Debug)]
pub struct DecoderLayerConfig {
    /// The self-attention over the target and the feed-forward network.
    pub layer: LayerConfig,
    /// The attention to the encoded source; `None` in a decoder-only model.
    pub cross_attention: Option<MultiHeadAttentionConfig>,
    /// The layer over the target before a position: self-attention, or another one instead.
    #[config(default = "TargetHistory::SelfAttention")]
    pub history: TargetHistory,
    /// The input of keys and values of a pre-norm self-attention while it translates.
    #[config(default = "HistoryNorm::Always")]
    pub history_norm: HistoryNorm,
}

impl DecoderLayerConfig {
    /// Creates a layer with initial weights from Burn's random numbers of `device`;
    /// `device.seed(…)` repeats them.
    pub fn init(&self, device: &Device) -> DecoderLayer {
        self.init_with_key(init::drawn_key(device), device)
    }

    /// Creates a layer with initial weights that are a function of `key`.
    pub fn init_with_key(&self, key: RandomKey, device: &Device) -> DecoderLayer {
        let LayerConfig {
            self_attention,
            feed_forward,
            ..
        } = &self.layer;
        let norm = self.layer.layer_norm();
        let cross = self.cross_attention.as_ref();
        DecoderLayer {
            self_attention: match self.history {
                TargetHistory::SelfAttention => {
                    let attention = self_attention.init_with_key(key.fold(0), device);
                    TargetSublayer::SelfAttention(attention)
                }
                TargetHistory::Ssru => {
                    TargetSublayer::Ssru(Ssru::new(self_attention.d_model, key.fold(3), device))
                }
            },
            self_attention_norm: norm.init(device),
            cross_attention: cross.map(|cross| cross.init_with_key(key.fold(1), device)),
            cross_attention_norm: cross.map(|_| norm.init(device)),
            feed_forward: feed_forward.init_with_key(key.fold(2), device),
            feed_forward_norm: norm.init(device),
            residual: ResidualNorm::new(self.layer.norm, self.layer.dropout),
            history_norm: self.history_norm,
        }
    }

    /// Returns the cost of the layer per position of the target, for `source` and `target`
    /// positions, and its cost per position of the source: the projections of keys and values.
    pub fn cost(
        &self,
        [source, target]: [usize; 2],
        window: Option<usize>,
        precision: Precision,
    ) -> [Cost; 2] {
        let LayerConfig {
            self_attention,
            feed_forward,
            ..
        } = &self.layer;
        let history = match self.history {
            TargetHistory::SelfAttention => self_attention.cost(target, window, precision),
            TargetHistory::Ssru => Ssru::cost(self_attention.d_model),
        };
        let residual = ResidualNorm::cost(&self.layer.layer_norm());
        let target_cost = history + feed_forward.cost() + residual * 2;
        let Some(cross) = &self.cross_attention else {
            return [target_cost, Cost::default()];
        };
        let whole = cross.cost(source, None, precision);
        let multiplications = cross.key_value_cost().multiplications;
        let at_target = Cost {
            multiplications: whole.multiplications - multiplications,
            ..whole
        };
        let at_source = Cost {
            multiplications,
            ..Cost::default()
        };
        [target_cost + at_target + residual, at_source]
    }
}

/// One layer of the decoder (paper §3.1): masked self-attention, cross-attention to the encoder's
/// output, and the feed-forward network. A layer of a decoder-only model, such as a language model,
/// has no cross-attention.
#[derive(Module, Debug)]
pub struct DecoderLayer {
    /// The sub-layer over the target positions so far.
    pub self_attention: TargetSublayer,
    /// Layer normalisation of the self-attention, or of the recurrent unit.
    pub self_attention_norm: LayerNorm,
    /// Cross-attention over the encoded source; `None` in a decoder-only model.
    pub cross_attention: Option<MultiHeadAttention>,
    /// Layer normalisation of the cross-attention, if there is one.
    pub cross_attention_norm: Option<LayerNorm>,
    /// The feed-forward network.
    pub feed_forward: PositionWiseFeedForward,
    /// Layer normalisation of the feed-forward network.
    pub feed_forward_norm: LayerNorm,
    residual: ResidualNorm,
    #[module(skip)]
    history_norm: HistoryNorm,
}

/// The sub-layer of a decoder layer over the target positions so far.
#[derive(Module, Debug)]
#[allow(clippy::large_enum_variant)] // A model has a handful of them, and nearly all hold the larger one.
pub enum TargetSublayer {
    /// Masked self-attention, as in the paper.
    SelfAttention(MultiHeadAttention),
    /// A recurrent unit.
    Ssru(Ssru),
}

impl TargetSublayer {
    /// Computes the new positions `x`, which follow the positions in `cache`, and adds them to it.
    /// With `before_norm`, the cache gets the keys and values of this tensor instead, which
    /// attention sees from the second position on ([`HistoryNorm::FirstToken`]).
    fn forward(
        &self,
        x: Tensor<3>,
        before_norm: Option<Tensor<3>>,
        cache: &mut LayerCache,
        bias: &AttentionBias,
        context: Context<'_>,
    ) -> Tensor<3> {
        match self {
            Self::SelfAttention(attention) => {
                let is_first = cache.target.is_empty();
                let input = before_norm.clone().unwrap_or_else(|| x.clone());
                let KeyValues { key, value } = attention.key_values(input);
                cache.target.append(key, value);
                let source = match before_norm {
                    Some(_) if is_first => {
                        AttentionSource::KeyValues(attention.key_values(x.clone()))
                    }
                    _ => AttentionSource::Cache(&cache.target),
                };
                attention.attend(attention.queries(x), source, bias, context)
            }
            Self::Ssru(unit) => unit.forward(x, &mut cache.recurrent),
        }
    }

    /// Returns the linear maps, to be packed or set to a precision.
    pub fn linears_mut(&mut self) -> impl Iterator<Item = &mut Linear> {
        let (attention, unit) = match self {
            Self::SelfAttention(attention) => (Some(attention), None),
            Self::Ssru(unit) => (None, Some(unit)),
        };
        let attention_linears = attention
            .into_iter()
            .flat_map(MultiHeadAttention::linears_mut);
        attention_linears.chain(unit.into_iter().flat_map(Ssru::linears_mut))
    }
}

/// The biases of both attentions of a decoder.
#[derive(Clone, Debug, Default)]
pub struct DecoderBias {
    /// The bias of the attention to the target so far.
    pub target: AttentionBias,
    /// The bias of the attention to the source.
    pub source: AttentionBias,
}

/// The keys and values that one decoder layer keeps between decoding steps.
#[derive(Clone, Debug)]
pub struct LayerCache {
    /// Keys and values of the target so far; with an attention window, only of the positions within
    /// it.
    pub target: KvCache,
    /// The state of the recurrent unit, if the layer has one instead of self-attention.
    pub recurrent: SsruState,
    /// Keys and values of the source, `[sentences, source_len, heads·d]`; `None` in a layer without
    /// cross-attention.
    pub source: Option<KeyValues>,
}

impl LayerCache {
    /// Creates an empty cache of a layer without cross-attention.
    pub fn without_source() -> Self {
        Self {
            target: KvCache::new(),
            recurrent: SsruState::default(),
            source: None,
        }
    }
}

impl DecoderLayer {
    /// Returns an empty cache for decoding from the encoded source `memory`,
    /// `[sentences, source_len, d_model]`. A layer without cross-attention ignores `memory`.
    pub fn start(&self, memory: Tensor<3>) -> LayerCache {
        let source = self
            .cross_attention
            .as_ref()
            .map(|attention| attention.key_values(memory));
        LayerCache {
            source,
            ..LayerCache::without_source()
        }
    }

    /// Computes the new target positions `x` and adds their keys and values to `cache`. In training
    /// the cache is empty and `x` is the whole target.
    ///
    /// # Shapes
    /// - `x`: `[rows, new_len, d_model]` → the same shape; every sentence has the same number of
    ///   rows
    /// - `bias.target` acts on `[rows, heads, new_len, past + new_len]`, keys in the cache and
    ///   among the new positions; a window in blocks needs an empty cache. The layer hides no later
    ///   positions by itself
    /// - `bias.source` acts on `[sentences, heads, rows / sentences · new_len, source_len]`
    ///
    /// # Panics
    /// Panics if the layer has cross-attention and `cache` has no source, or if the shapes do not
    /// fit together.
    pub fn forward<'a>(
        &self,
        x: Tensor<3>,
        cache: &mut LayerCache,
        bias: &DecoderBias,
        context: impl Into<Context<'a>>,
    ) -> Tensor<3> {
        let context = context.into();
        let mode = context.mode;
        let [_, new_len, _] = x.dims();
        let is_step = new_len == 1 && self.history_norm == HistoryNorm::FirstToken;
        let before_norm = is_step.then(|| x.clone());
        let x = self
            .residual
            .forward(x, &self.self_attention_norm, context.fold(0), |x| {
                self.self_attention
                    .forward(x, before_norm, cache, &bias.target, context.fold(1))
            });
        let x = match (&self.cross_attention, &self.cross_attention_norm) {
            (Some(attention), Some(norm)) => self.residual.forward(x, norm, context.fold(2), |x| {
                let memory = cache.source.clone().expect("the cache has a source");
                let context = Context {
                    kind: AttentionKind::Cross,
                    ..context.fold(3)
                };
                attend_source(attention, x, memory, &bias.source, context)
            }),
            _ => x,
        };
        self.residual
            .forward(x, &self.feed_forward_norm, context.fold(4), |x| {
                self.feed_forward.forward(x, mode.fold(5))
            })
    }

    /// Returns the linear maps of all sub-layers, to be packed or set to a precision.
    pub fn linears_mut(&mut self) -> impl Iterator<Item = &mut Linear> {
        let cross = self
            .cross_attention
            .iter_mut()
            .flat_map(MultiHeadAttention::linears_mut);
        self.self_attention
            .linears_mut()
            .chain(cross)
            .chain(self.feed_forward.linears_mut())
    }
}

/// Cross-attention of target positions `x` (`[rows, new_len, d_model]`) to the source in `memory`.
fn attend_source(
    attention: &MultiHeadAttention,
    x: Tensor<3>,
    memory: KeyValues,
    bias: &AttentionBias,
    context: Context<'_>,
) -> Tensor<3> {
    let [rows, new_len, d_model] = x.dims();
    // All hypotheses of a sentence attend to the same source, so they become further queries of one
    // row.
    let [sentences, ..] = memory.key.dims();
    let grouped = x.reshape([sentences, rows / sentences * new_len, d_model]);
    let query = attention.queries(grouped);
    let source = AttentionSource::KeyValues(memory);
    attention
        .attend(query, source, bias, context)
        .reshape([rows, new_len, d_model])
}
