use burn::module::Module;
use burn::tensor::{Bool, Device, Int, Tensor, TensorData};
use burnformer_kernels::{ComputeType, KvCache, RandomKey};

use crate::attention_maps::AttentionMaps;
use crate::config::TransformerConfig;
use crate::conventions::TargetHistory;
use crate::encoder::closing_norm;
use crate::feed_forward::PositionWiseFeedForward;
use crate::mask::{look_ahead_mask, window_mask};
use crate::memory::Memory;
use crate::multi_head::{KeyValues, MultiHeadAttention};
use crate::norm::LayerNorm;
use crate::precision::Precision;
use crate::random::Mode;
use crate::residual::ResidualNorm;
use crate::ssru::{Ssru, SsruState};
use crate::window::{SelfAttentionMask, Window};

/// One layer of the decoder (paper §3.1): masked self-attention, cross-attention to the encoder's output, and the
/// feed-forward network. A layer of a decoder-only model, such as a language model, has no cross-attention.
#[derive(Module, Debug)]
pub struct DecoderLayer {
    /// Self-attention over the target positions so far; `None` where a recurrent unit stands in its place.
    pub self_attention: Option<MultiHeadAttention>,
    /// The recurrent unit over the target positions so far, in the place of self-attention.
    pub ssru: Option<Ssru>,
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

/// The keys and values that one decoder layer keeps between decoding steps.
#[derive(Clone, Debug)]
pub struct LayerCache {
    /// Keys and values of the target so far; with an attention window, only of the positions within it.
    pub target: KvCache,
    /// The state of the recurrent unit, where one stands in the place of self-attention.
    pub recurrent: SsruState,
    /// Keys and values of the source, `[sentences, source_len, heads·d]`; `None` in a layer without cross-attention.
    pub source: Option<KeyValues>,
}

impl LayerCache {
    /// An empty cache of a layer without cross-attention.
    pub fn without_source() -> Self {
        Self { target: KvCache::new(), recurrent: SsruState::default(), source: None }
    }
}

/// The key-value cache of decoding: keys and values of all positions decoded so far, so that each is computed once.
///
/// Each of the `sentences` may have several hypotheses. The rows of a sentence are next to each other, and every
/// sentence has the same number of rows. Keys and values of the source are stored once per sentence, not once per
/// hypothesis.
#[derive(Clone, Debug)]
pub struct DecoderCache {
    pub(crate) layers: Vec<LayerCache>,
    /// `None` if there is no source.
    pub(crate) source_padding: Option<Tensor<4, Bool>>,
    pub(crate) len: usize,
}

impl DecoderCache {
    /// The number of target positions decoded so far.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing has been decoded yet.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Reorders the hypotheses, as beam search needs it: row i continues the hypothesis that was in row `rows[i]`.
    ///
    /// In the new order, too, the rows of a sentence must be next to each other, with the same number for every
    /// sentence.
    pub fn select_rows(&mut self, rows: &[usize]) {
        for layer in &mut self.layers {
            layer.target.select(rows);
            layer.recurrent.select(rows);
        }
    }

    /// Keeps only the sentences `indices`, in that order. [`select_rows`](Self::select_rows) must select the matching
    /// rows. Without a source there is nothing else to select.
    pub fn select_sentences(&mut self, indices: &[usize]) {
        let Some(padding) = self.source_padding.take() else { return };
        let ids: Vec<i32> = indices.iter().map(|&index| index as i32).collect();
        let ids = TensorData::new(ids, [indices.len()]);
        let indices = &Tensor::<1, Int>::from_data(ids, &padding.device());
        self.source_padding = Some(padding.select(0, indices.clone()));
        for layer in &mut self.layers {
            layer.source = layer.source.take().map(|source| source.select(indices));
        }
    }
}

impl DecoderLayer {
    /// A layer of a decoder-only model, made of two given sub-layers. Each gets the residual connection, dropout and norm
    /// position of `residual`, with a layer normalisation of its own.
    pub fn without_cross_attention(
        self_attention: MultiHeadAttention,
        feed_forward: PositionWiseFeedForward,
        residual: ResidualNorm,
        device: &Device,
    ) -> Self {
        let d_model = self_attention.d_model();
        let norm = || LayerNorm::new(d_model, LayerNorm::EPSILON, device);
        Self {
            self_attention: Some(self_attention),
            ssru: None,
            self_attention_norm: norm(),
            cross_attention: None,
            cross_attention_norm: None,
            feed_forward,
            feed_forward_norm: norm(),
            residual,
        }
    }

    /// A layer made of three given sub-layers. Each gets the residual connection, dropout and norm position of
    /// `residual`, with a layer normalisation of its own.
    pub fn new(
        [self_attention, cross_attention]: [MultiHeadAttention; 2],
        feed_forward: PositionWiseFeedForward,
        residual: ResidualNorm,
        device: &Device,
    ) -> Self {
        let norm = LayerNorm::new(self_attention.d_model(), LayerNorm::EPSILON, device);
        Self {
            cross_attention: Some(cross_attention),
            cross_attention_norm: Some(norm),
            ..Self::without_cross_attention(self_attention, feed_forward, residual, device)
        }
    }

    /// A layer with the sizes of `config`; its initial weights are a function of `key`.
    pub fn from_config(config: &TransformerConfig, key: RandomKey, device: &Device) -> Self {
        let config = &config.of_decoder();
        let norm = || LayerNorm::new(config.d_model, config.layer_norm_eps, device);
        let recurrent = config.conventions.target_history == TargetHistory::Ssru;
        let attention = |place| MultiHeadAttention::from_config(config, key.fold(place), device);
        Self {
            self_attention: (!recurrent).then(|| attention(0)),
            ssru: recurrent.then(|| Ssru::new(config.d_model, key.fold(3), device)),
            self_attention_norm: norm(),
            cross_attention: Some(attention(1)),
            cross_attention_norm: Some(norm()),
            feed_forward: PositionWiseFeedForward::from_config(config, key.fold(2), device),
            feed_forward_norm: norm(),
            residual: ResidualNorm::new(config.norm, config.dropout),
        }
    }

    /// Adds `epsilon` to the variance in all layer normalisations instead of [`LayerNorm::EPSILON`].
    pub fn with_epsilon(mut self, epsilon: f64) -> Self {
        self.self_attention_norm = self.self_attention_norm.with_epsilon(epsilon);
        self.cross_attention_norm =
            self.cross_attention_norm.map(|norm| norm.with_epsilon(epsilon));
        self.feed_forward_norm = self.feed_forward_norm.with_epsilon(epsilon);
        self
    }

    /// An empty cache for decoding from the encoded source `memory`, `[sentences, source_len, memory_width]`. A layer
    /// without cross-attention ignores `memory`.
    pub fn start(&self, memory: Tensor<3>) -> LayerCache {
        let source = self.cross_attention.as_ref().map(|attention| attention.key_values(memory));
        LayerCache { source, ..LayerCache::without_source() }
    }

    /// Computes the new target positions `x` and adds their keys and values to `cache`. In training the cache is
    /// empty and `x` is the whole target.
    ///
    /// # Shapes
    /// - `x`: `[rows, new_len, d_model]` → the same shape; every sentence has the same number of rows
    /// - `mask`: `[1, 1, new_len, past + new_len]`, hides keys in the cache and among the new positions
    /// - `source_padding`: `[sentences, 1, 1, source_len]`, `true` hides; `None` hides nothing
    ///
    /// # Panics
    /// If the layer has cross-attention and `cache` has no source.
    pub fn forward(
        &self,
        x: Tensor<3>,
        cache: &mut LayerCache,
        mask: &SelfAttentionMask,
        source_padding: Option<&Tensor<4, Bool>>,
        mode: Mode,
    ) -> Tensor<3> {
        self.run(x, cache, mask, source_padding, mode, None)
    }

    /// Computes [`forward`](Self::forward) and appends the attention weights to `maps`.
    ///
    /// # Panics
    /// As [`forward`](Self::forward), and if the mask is one in blocks, which computes no weights outside of the window.
    pub fn forward_recording(
        &self,
        x: Tensor<3>,
        cache: &mut LayerCache,
        mask: &SelfAttentionMask,
        source_padding: Option<&Tensor<4, Bool>>,
        mode: Mode,
        maps: &mut AttentionMaps,
    ) -> Tensor<3> {
        self.run(x, cache, mask, source_padding, mode, Some(maps))
    }

    fn run(
        &self,
        x: Tensor<3>,
        cache: &mut LayerCache,
        mask: &SelfAttentionMask,
        source_padding: Option<&Tensor<4, Bool>>,
        mode: Mode,
        mut maps: Option<&mut AttentionMaps>,
    ) -> Tensor<3> {
        let x = self.residual.forward(x, &self.self_attention_norm, mode.fold(0), |x| {
            let record = maps.as_deref_mut().map(|maps| &mut maps.decoder_self);
            match (&self.self_attention, &self.ssru) {
                (Some(attention), _) => {
                    attend_target(attention, x, &mut cache.target, mask, mode.fold(1), record)
                }
                (None, Some(ssru)) => ssru.forward(x, &mut cache.recurrent),
                (None, None) => panic!("the layer has neither self-attention nor a recurrent unit"),
            }
        });
        let x = match (&self.cross_attention, &self.cross_attention_norm) {
            (Some(attention), Some(norm)) => self.residual.forward(x, norm, mode.fold(2), |x| {
                let memory = cache.source.clone().expect("the cache has a source");
                let record = maps.map(|maps| &mut maps.cross);
                let mask = source_padding.cloned();
                attend_source(attention, x, memory, mask, mode, record)
            }),
            _ => x,
        };
        self.residual.forward(x, &self.feed_forward_norm, mode.fold(4), |x| {
            self.feed_forward.forward(x, mode.fold(5))
        })
    }
}

/// Self-attention of new target positions `x` to those in `cache`, to which they are added, and to each other.
fn attend_target(
    attention: &MultiHeadAttention,
    x: Tensor<3>,
    cache: &mut KvCache,
    mask: &SelfAttentionMask,
    mode: Mode,
    record: Option<&mut Vec<Tensor<4>>>,
) -> Tensor<3> {
    let new = attention.key_values(x.clone());
    cache.append(new.key.clone(), new.value.clone());
    match mask {
        SelfAttentionMask::Dense(mask) => {
            attention.run_history(x, cache, mask.clone(), mode, record)
        }
        // Blocks are used only for a whole target, so the cache holds no earlier positions.
        SelfAttentionMask::Blocks(_) => attention.attend_self(x, new, mask, mode, record),
    }
}

/// Cross-attention of target positions `x` (`[rows, new_len, d_model]`) to the source in `memory`.
fn attend_source(
    attention: &MultiHeadAttention,
    x: Tensor<3>,
    memory: KeyValues,
    mask: Option<Tensor<4, Bool>>,
    mode: Mode,
    record: Option<&mut Vec<Tensor<4>>>,
) -> Tensor<3> {
    let [rows, new_len, d_model] = x.dims();
    // All hypotheses of a sentence attend to the same source, so they become further queries of one row.
    let [sentences, ..] = memory.key.dims();
    let grouped = x.reshape([sentences, rows / sentences * new_len, d_model]);
    let y = match (new_len, mode, &record) {
        (1, Mode::Inference, None) => attention.attend_step(grouped, memory, mask),
        _ => attention.run(grouped, memory, mask, mode.fold(3), record),
    };
    y.reshape([rows, new_len, d_model])
}

/// The stack of decoder layers (paper §3.1). In a pre-norm model a last layer normalisation follows.
#[derive(Module, Debug)]
pub struct Decoder {
    /// The layers, in order.
    pub layers: Vec<DecoderLayer>,
    /// The last layer normalisation of a pre-norm model.
    pub norm: Option<LayerNorm>,
    window: Option<usize>,
}

impl Decoder {
    /// A stack of `layers`, followed by `norm` if it is given. A position sees the earlier positions that are at most
    /// `window` away, or all earlier positions if `window` is `None`.
    pub fn new(layers: Vec<DecoderLayer>, norm: Option<LayerNorm>, window: Option<usize>) -> Self {
        Self { layers, norm, window }
    }

    /// A decoder with the sizes of `config`; its initial weights are a function of `key`.
    pub fn from_config(config: &TransformerConfig, key: RandomKey, device: &Device) -> Self {
        let layer = |n| DecoderLayer::from_config(config, key.fold(n), device);
        let layers = (0..config.decoder_layers as u64).map(layer).collect();
        Self::new(layers, closing_norm(config, device), config.attention_window)
    }

    /// An empty cache for decoding from `memory`. The keys and values of the source are computed here, once.
    pub fn start(&self, memory: &Memory) -> DecoderCache {
        let start = |layer: &DecoderLayer| layer.start(memory.states.clone());
        DecoderCache {
            layers: self.layers.iter().map(start).collect(),
            source_padding: Some(memory.padding.clone()),
            len: 0,
        }
    }

    /// An empty cache for a decoder-only model, whose layers have no cross-attention.
    pub fn start_without_source(&self) -> DecoderCache {
        let layers = self.layers.iter().map(|_| LayerCache::without_source()).collect();
        DecoderCache { layers, source_padding: None, len: 0 }
    }

    /// Decodes the embedded positions `x`, which follow those in `cache`, and adds them to it.
    ///
    /// # Shapes
    /// `x`: `[rows, new_len, d_model]` → the same shape
    pub fn forward(&self, x: Tensor<3>, cache: &mut DecoderCache, mode: Mode) -> Tensor<3> {
        self.run(x, cache, mode, None)
    }

    /// Computes [`forward`](Self::forward) and appends the attention weights of each layer to `maps`.
    pub fn forward_recording(
        &self,
        x: Tensor<3>,
        cache: &mut DecoderCache,
        mode: Mode,
        maps: &mut AttentionMaps,
    ) -> Tensor<3> {
        self.run(x, cache, mode, Some(maps))
    }

    pub(crate) fn run(
        &self,
        mut x: Tensor<3>,
        cache: &mut DecoderCache,
        mode: Mode,
        mut maps: Option<&mut AttentionMaps>,
    ) -> Tensor<3> {
        let new_len = x.dims()[1];
        let mask = self.mask(cache.len, new_len, &x.device(), maps.is_some());
        for (n, layer) in self.layers.iter().enumerate() {
            let maps = maps.as_deref_mut();
            let (past, padding) = (&mut cache.layers[n], cache.source_padding.as_ref());
            x = layer.run(x, past, &mask, padding, mode.fold(n as u64), maps);
            if let Some(radius) = self.window {
                past.target.keep_last(radius);
            }
        }
        cache.len += new_len;
        match &self.norm {
            Some(norm) => norm.forward(x),
            None => x,
        }
    }

    /// Packs the weights for fast inference, see [`Transformer::pack`](crate::Transformer::pack).
    pub fn pack(&mut self, compute: ComputeType) {
        for layer in &mut self.layers {
            layer.self_attention.iter_mut().for_each(|attention| attention.pack(compute));
            layer.ssru.iter_mut().for_each(|ssru| ssru.pack(compute));
            layer.cross_attention.iter_mut().for_each(|attention| attention.pack(compute));
            layer.feed_forward.pack(compute);
        }
    }

    /// Sets the type of matrix products, see [`Transformer::set_precision`](crate::Transformer::set_precision).
    pub fn set_precision(&mut self, precision: Precision) {
        for layer in &mut self.layers {
            layer.self_attention.iter_mut().for_each(|own| own.set_precision(precision));
            layer.ssru.iter_mut().for_each(|own| own.set_precision(precision));
            layer.cross_attention.iter_mut().for_each(|own| own.set_precision(precision));
            layer.feed_forward.set_precision(precision);
        }
    }

    /// The mask of `new_len` new positions over the cache and each other. The cache holds `past` positions, or
    /// fewer if there is a window. A single new position sees everything in the cache and needs no mask. If weights are
    /// recorded, the mask is a dense one.
    fn mask(
        &self,
        past: usize,
        new_len: usize,
        device: &Device,
        recording: bool,
    ) -> SelfAttentionMask {
        if new_len == 1 {
            return SelfAttentionMask::Dense(None);
        }
        let Some(radius) = self.window else {
            return SelfAttentionMask::Dense(Some(look_ahead_mask(past, new_len, device)));
        };
        if past == 0 && !recording {
            return Window { radius, causal: true }.mask(new_len, None, device);
        }
        let held = past.min(radius);
        let later = look_ahead_mask(held, new_len, device);
        let far = window_mask(held, new_len, radius, device);
        SelfAttentionMask::Dense(Some(later.bool_or(far)))
    }
}
