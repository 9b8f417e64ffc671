use burn::config::Config;
use burn::module::Module;
use burn::tensor::{Bool, Device, Tensor};
use burnformer_kernels::{KvCache, RandomKey};

use crate::attention_maps::AttentionMaps;
use crate::bias::AttentionBias;
use crate::conventions::TargetHistory;
use crate::cost::Cost;
use crate::feed_forward::{PositionWiseFeedForward, PositionWiseFeedForwardConfig};
use crate::init;
use crate::linear::Linear;
use crate::multi_head::{AttentionSource, KeyValues, MultiHeadAttention, MultiHeadAttentionConfig};
use crate::norm::LayerNorm;
use crate::precision::Precision;
use crate::random::Mode;
use crate::residual::{NormPosition, ResidualNorm};
use crate::ssru::{Ssru, SsruState};

/// The sub-layers of a [`DecoderLayer`] and what connects them.
///
/// ```
/// use burn::tensor::Device;
/// use burnformer_core::{DecoderLayerConfig, MultiHeadAttentionConfig, PositionWiseFeedForwardConfig};
///
/// let attention = MultiHeadAttentionConfig::new(64, 4);
/// // A layer of a language model; `with_cross_attention(Some(attention.clone()))` makes one of a translation model.
/// let config = DecoderLayerConfig::new(attention, PositionWiseFeedForwardConfig::new(64, 256));
/// assert!(config.init(&Device::default()).cross_attention.is_none());
/// ```
#[derive(Config, Debug)]
pub struct DecoderLayerConfig {
    /// The self-attention over the target.
    pub self_attention: MultiHeadAttentionConfig,
    /// The feed-forward network.
    pub feed_forward: PositionWiseFeedForwardConfig,
    /// The attention to the encoded source; `None` in a decoder-only model.
    pub cross_attention: Option<MultiHeadAttentionConfig>,
    /// What stands in the place of the self-attention, if it is not the self-attention itself.
    #[config(default = "TargetHistory::SelfAttention")]
    pub history: TargetHistory,
    /// Where layer normalisation stands around each sub-layer.
    #[config(default = "NormPosition::Post")]
    pub norm: NormPosition,
    /// The rate of dropout on the output of each sub-layer.
    #[config(default = 0.0)]
    pub dropout: f64,
    /// The number added to the variance in layer normalisation.
    #[config(default = "LayerNorm::EPSILON")]
    pub epsilon: f64,
}

impl DecoderLayerConfig {
    /// A layer whose initial weights are drawn from Burn's random numbers of `device`:
    /// `device.seed(…)` repeats them.
    pub fn init(&self, device: &Device) -> DecoderLayer {
        self.init_with_key(init::drawn_key(device), device)
    }

    /// A layer whose initial weights are a function of `key`.
    pub fn init_with_key(&self, key: RandomKey, device: &Device) -> DecoderLayer {
        let d_model = self.self_attention.d_model;
        let norm = || LayerNorm::new(d_model, self.epsilon, device);
        let cross = self.cross_attention.as_ref();
        DecoderLayer {
            self_attention: match self.history {
                TargetHistory::SelfAttention => TargetSublayer::SelfAttention(
                    self.self_attention.init_with_key(key.fold(0), device),
                ),
                TargetHistory::Ssru => {
                    TargetSublayer::Ssru(Ssru::new(d_model, key.fold(3), device))
                }
            },
            self_attention_norm: norm(),
            cross_attention: cross.map(|cross| cross.init_with_key(key.fold(1), device)),
            cross_attention_norm: cross.map(|_| norm()),
            feed_forward: self.feed_forward.init_with_key(key.fold(2), device),
            feed_forward_norm: norm(),
            residual: ResidualNorm::new(self.norm, self.dropout),
        }
    }

    /// The cost of the layer per position of the target, for `source` and `target` positions, and
    /// its cost per position of the source: the projections of keys and values.
    pub fn cost(
        &self,
        [source, target]: [usize; 2],
        window: Option<usize>,
        precision: Precision,
    ) -> [Cost; 2] {
        let d_model = self.self_attention.d_model;
        let history = match self.history {
            TargetHistory::SelfAttention => self.self_attention.cost(target, window, precision),
            TargetHistory::Ssru => Ssru::cost(d_model),
        };
        let own = history + self.feed_forward.cost() + 2 * ResidualNorm::cost(d_model);
        let Some(cross) = &self.cross_attention else { return [own, Cost::default()] };
        let (whole, Cost { multiplications, .. }) =
            (cross.cost(source, None, precision), cross.key_value_cost());
        let at_target = Cost { multiplications: whole.multiplications - multiplications, ..whole };
        let at_source = Cost { multiplications, ..Cost::default() };
        [own + at_target + ResidualNorm::cost(d_model), at_source]
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
    /// Layer normalisation of the cross-attention, where there is one.
    pub cross_attention_norm: Option<LayerNorm>,
    /// The feed-forward network.
    pub feed_forward: PositionWiseFeedForward,
    /// Layer normalisation of the feed-forward network.
    pub feed_forward_norm: LayerNorm,
    residual: ResidualNorm,
}

/// The sub-layer by which a decoder layer knows the target positions so far.
#[derive(Module, Debug)]
#[allow(clippy::large_enum_variant)] // A model has a handful of them, and nearly all hold the larger one.
pub enum TargetSublayer {
    /// Masked self-attention, as in the paper.
    SelfAttention(MultiHeadAttention),
    /// A recurrent unit.
    Ssru(Ssru),
}

impl TargetSublayer {
    /// Computes the new positions `x`, which follow those in `cache`, and adds them to it.
    fn forward(
        &self,
        x: Tensor<3>,
        cache: &mut LayerCache,
        bias: &AttentionBias,
        mode: Mode,
        record: Option<&mut Vec<Tensor<4>>>,
    ) -> Tensor<3> {
        match self {
            Self::SelfAttention(attention) => {
                let KeyValues { key, value } = attention.key_values(x.clone());
                cache.target.append(key, value);
                let source = AttentionSource::Cache(&cache.target);
                attention.attend_recording(x, source, bias, mode, record)
            }
            Self::Ssru(unit) => unit.forward(x, &mut cache.recurrent),
        }
    }

    /// The linear maps, to be packed or set to a precision.
    pub fn linears_mut(&mut self) -> impl Iterator<Item = &mut Linear> {
        let (attention, unit) = match self {
            Self::SelfAttention(attention) => (Some(attention), None),
            Self::Ssru(unit) => (None, Some(unit)),
        };
        let of_attention = attention.into_iter().flat_map(MultiHeadAttention::linears_mut);
        of_attention.chain(unit.into_iter().flat_map(Ssru::linears_mut))
    }
}

/// The keys and values that one decoder layer keeps between decoding steps.
#[derive(Clone, Debug)]
pub struct LayerCache {
    /// Keys and values of the target so far; with an attention window, only of the positions within
    /// it.
    pub target: KvCache,
    /// The state of the recurrent unit, where one stands in the place of self-attention.
    pub recurrent: SsruState,
    /// Keys and values of the source, `[sentences, source_len, heads·d]`; `None` in a layer without
    /// cross-attention.
    pub source: Option<KeyValues>,
}

impl LayerCache {
    /// An empty cache of a layer without cross-attention.
    pub fn without_source() -> Self {
        Self { target: KvCache::new(), recurrent: SsruState::default(), source: None }
    }
}

impl DecoderLayer {
    /// An empty cache for decoding from the encoded source `memory`,
    /// `[sentences, source_len, memory_width]`. A layer without cross-attention ignores `memory`.
    pub fn start(&self, memory: Tensor<3>) -> LayerCache {
        let source = self.cross_attention.as_ref().map(|attention| attention.key_values(memory));
        LayerCache { source, ..LayerCache::without_source() }
    }

    /// Computes the new target positions `x` and adds their keys and values to `cache`. In training
    /// the cache is empty and `x` is the whole target.
    ///
    /// # Shapes
    /// - `x`: `[rows, new_len, d_model]` → the same shape; every sentence has the same number of
    ///   rows
    /// - `bias` acts on `[rows, heads, new_len, past + new_len]`, keys in the cache and among the
    ///   new positions; a window in blocks needs an empty cache
    /// - `source_padding`: `[sentences, 1, 1, source_len]`, `true` hides; `None` hides nothing
    ///
    /// # Panics
    /// If the layer has cross-attention and `cache` has no source.
    pub fn forward(
        &self,
        x: Tensor<3>,
        cache: &mut LayerCache,
        bias: &AttentionBias,
        source_padding: Option<&Tensor<4, Bool>>,
        mode: Mode,
    ) -> Tensor<3> {
        self.forward_recording(x, cache, bias, source_padding, mode, None)
    }

    /// Computes [`forward`](Self::forward) and appends the attention weights to `maps` if there are
    /// any.
    ///
    /// # Panics
    /// As [`forward`](Self::forward).
    pub fn forward_recording(
        &self,
        x: Tensor<3>,
        cache: &mut LayerCache,
        bias: &AttentionBias,
        source_padding: Option<&Tensor<4, Bool>>,
        mode: Mode,
        mut maps: Option<&mut AttentionMaps>,
    ) -> Tensor<3> {
        let x = self.residual.forward(x, &self.self_attention_norm, mode.fold(0), |x| {
            let record = maps.as_deref_mut().map(|maps| &mut maps.decoder_self);
            self.self_attention.forward(x, cache, bias, mode.fold(1), record)
        });
        let x = match (&self.cross_attention, &self.cross_attention_norm) {
            (Some(attention), Some(norm)) => self.residual.forward(x, norm, mode.fold(2), |x| {
                let memory = cache.source.clone().expect("the cache has a source");
                let record = maps.map(|maps| &mut maps.cross);
                attend_source(attention, x, memory, source_padding, mode.fold(3), record)
            }),
            _ => x,
        };
        self.residual.forward(x, &self.feed_forward_norm, mode.fold(4), |x| {
            self.feed_forward.forward(x, mode.fold(5))
        })
    }

    /// The linear maps of all sub-layers, to be packed or set to a precision.
    pub fn linears_mut(&mut self) -> impl Iterator<Item = &mut Linear> {
        let cross = self.cross_attention.iter_mut().flat_map(MultiHeadAttention::linears_mut);
        self.self_attention.linears_mut().chain(cross).chain(self.feed_forward.linears_mut())
    }
}

/// Cross-attention of target positions `x` (`[rows, new_len, d_model]`) to the source in `memory`.
fn attend_source(
    attention: &MultiHeadAttention,
    x: Tensor<3>,
    memory: KeyValues,
    padding: Option<&Tensor<4, Bool>>,
    mode: Mode,
    record: Option<&mut Vec<Tensor<4>>>,
) -> Tensor<3> {
    let [rows, new_len, d_model] = x.dims();
    // All hypotheses of a sentence attend to the same source, so they become further queries of one
    // row.
    let [sentences, ..] = memory.key.dims();
    let grouped = x.reshape([sentences, rows / sentences * new_len, d_model]);
    let source = match new_len {
        1 => AttentionSource::Step(memory),
        _ => AttentionSource::KeyValues(memory),
    };
    let y = attention.attend_recording(grouped, source, &padding.cloned().into(), mode, record);
    y.reshape([rows, new_len, d_model])
}
