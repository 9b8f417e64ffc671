use burn::config::Config;
use burn::module::Module;
use burn::tensor::{Bool, Device, Tensor};
use burnformer_kernels::{Precision, RandomKey};

use crate::context::Context;
use crate::cost::Cost;
use crate::decoder_layer::{DecoderBias, DecoderLayer, DecoderLayerConfig, LayerCache};
use crate::encoder::EncodedSource;
use crate::init;
use crate::linear::Linear;
use crate::mask::{look_ahead_mask, position_mask, row_ids};
use crate::multi_head::KeyValues;
use crate::norm::LayerNorm;
use crate::seq2seq::Seq2SeqCache;
use crate::window::Window;

/// The key-value cache of decoding: keys and values of all positions decoded so far, so that each
/// is computed once.
///
/// Each of the `sentences` may have several hypotheses. The rows of a sentence are next to each
/// other, and every sentence has the same number of rows. Keys and values of the source are stored
/// once per sentence, not once per hypothesis.
#[derive(Clone, Debug)]
pub struct DecoderCache {
    pub(crate) layers: Vec<LayerCache>,
    /// `None` if there is no source.
    pub(crate) source_padding: Option<Tensor<4, Bool>>,
    pub(crate) len: usize,
}

impl DecoderCache {
    /// Returns the number of target positions decoded so far.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether nothing has been decoded yet.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl Seq2SeqCache for DecoderCache {
    fn select_rows(&mut self, rows: &[usize]) {
        for layer in &mut self.layers {
            layer.target.select(rows);
            layer.recurrent.select(rows);
        }
    }

    /// Selects the padding mask and the cached keys and values of the source by sentence. Does
    /// nothing if the cache has no source.
    fn select_sentences(&mut self, indices: &[usize]) {
        let Some(padding) = self.source_padding.take() else {
            return;
        };
        let indices = &row_ids(indices, &padding.device());
        self.source_padding = Some(padding.select(0, indices.clone()));
        for KeyValues { key, value } in self.layers.iter_mut().flat_map(|layer| &mut layer.source) {
            *key = key.clone().select(0, indices.clone());
            *value = value.clone().select(0, indices.clone());
        }
    }
}

/// The sizes of a [`Decoder`].
#[derive(Config, Debug)]
pub struct DecoderConfig {
    /// The configuration of each layer.
    pub layer: DecoderLayerConfig,
    /// The number of layers.
    pub layers: usize,
    /// The largest distance to an earlier position that a position sees; `None` if it sees all
    /// earlier positions.
    pub window: Option<usize>,
}

impl DecoderConfig {
    /// Creates a decoder with initial weights from Burn's random numbers of `device`;
    /// `device.seed(…)` repeats them.
    pub fn init(&self, device: &Device) -> Decoder {
        self.init_with_key(init::drawn_key(device), device)
    }

    /// Creates a decoder with initial weights that are a function of `key`.
    pub fn init_with_key(&self, key: RandomKey, device: &Device) -> Decoder {
        Decoder {
            layers: (0..self.layers as u64)
                .map(|n| self.layer.init_with_key(key.fold(n), device))
                .collect(),
            norm: self.layer.layer.closing_norm(device),
            window: self.window,
            is_causal: true,
        }
    }

    /// Returns the cost of the decoder per position of the target, for `lengths` of source and
    /// target, and per position of the source.
    pub fn cost(&self, lengths: [usize; 2], precision: Precision) -> [Cost; 2] {
        let [at_target, at_source] = self.layer.cost(lengths, self.window, precision);
        let closing = self.layer.layer.closing_cost();
        [at_target * self.layers + closing, at_source * self.layers]
    }
}

/// The stack of decoder layers (paper §3.1). In a pre-norm model a last layer normalisation
/// follows.
#[derive(Module, Debug)]
pub struct Decoder {
    /// The layers, in order.
    pub layers: Vec<DecoderLayer>,
    /// The last layer normalisation of a pre-norm model.
    pub norm: Option<LayerNorm>,
    window: Option<usize>,
    /// If false, and without a window, positions also see later positions, so that training sees
    /// the answers: for experiments with the mask (paper §3.2.3).
    #[module(skip)]
    pub is_causal: bool,
}

impl Decoder {
    /// Returns an empty cache for decoding from `source`. The keys and values of the source are
    /// computed here, once.
    pub fn start(&self, source: &EncodedSource) -> DecoderCache {
        DecoderCache {
            layers: self
                .layers
                .iter()
                .map(|layer| layer.start(source.states.clone()))
                .collect(),
            source_padding: Some(source.padding.clone()),
            len: 0,
        }
    }

    /// Returns an empty cache for a decoder-only model, without cross-attention.
    pub fn start_without_source(&self) -> DecoderCache {
        let layers = self
            .layers
            .iter()
            .map(|_| LayerCache::without_source())
            .collect();
        DecoderCache {
            layers,
            source_padding: None,
            len: 0,
        }
    }

    /// Decodes the embedded positions `x`, which follow the positions in `cache`, and adds them to
    /// it. Later positions, positions outside of the decoder's window and the padding of the source
    /// are hidden; `bias` hides further keys, such as the padding of prompts of different lengths,
    /// or adds to the scores.
    ///
    /// # Shapes
    /// - `x`: `[rows, new_len, d_model]` → the same shape
    /// - `bias.target` acts on `[rows, heads, new_len, cache.len() + new_len]`
    /// - `bias.source` acts on `[sentences, heads, rows / sentences · new_len, source_len]`
    ///
    /// # Panics
    /// Panics if `cache` belongs to a decoder of another depth, or if the shapes do not fit
    /// together.
    pub fn forward<'a>(
        &self,
        mut x: Tensor<3>,
        cache: &mut DecoderCache,
        bias: &DecoderBias,
        context: impl Into<Context<'a>>,
    ) -> Tensor<3> {
        let layers = self.layers.len();
        let cached = cache.layers.len();
        assert_eq!(
            layers, cached,
            "the decoder has {layers} layers, the cache has {cached}"
        );
        let new_len = x.dims()[1];
        let context = context.into();
        let bias = self.whole_bias(bias, cache, new_len, &x.device());
        for (n, layer) in self.layers.iter().enumerate() {
            let past = &mut cache.layers[n];
            x = layer.forward(x, past, &bias, context.fold(n as u64));
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

    /// Returns the linear maps of all layers, to be packed or set to a precision.
    pub fn linears_mut(&mut self) -> impl Iterator<Item = &mut Linear> {
        self.layers.iter_mut().flat_map(DecoderLayer::linears_mut)
    }

    /// Returns `bias` with everything hidden that `new_len` new positions after the positions in
    /// `cache` do not see. The cache holds fewer than all earlier positions if there is a window. A
    /// single new position sees everything in the cache and needs no mask.
    fn whole_bias(
        &self,
        bias: &DecoderBias,
        cache: &DecoderCache,
        new_len: usize,
        device: &Device,
    ) -> DecoderBias {
        let past = cache.len;
        let target = match self.window {
            None if new_len == 1 || !self.is_causal => bias.target.clone(),
            None => bias.target.hiding(look_ahead_mask(past, new_len, device)),
            Some(radius) => {
                let window = Window {
                    radius,
                    causal: true,
                };
                let held = past.min(radius);
                let target = bias.target.last_keys(held + new_len);
                if new_len == 1 {
                    target
                } else if past == 0 {
                    target.within(window, new_len, device)
                } else {
                    let mask =
                        position_mask(held, new_len, device, |query, key| window.hides(query, key));
                    target.hiding(mask)
                }
            }
        };
        let source = match &cache.source_padding {
            Some(padding) => bias.source.hiding(padding.clone()),
            None => bias.source.clone(),
        };
        DecoderBias { target, source }
    }
}
