use burn::module::Module;
use burn::tensor::{Bool, Device, Tensor};
use burnformer_kernels::{ComputeType, RandomKey};

use crate::config::{NormPosition, TransformerConfig};
use crate::feed_forward::PositionWiseFeedForward;
use crate::multi_head::MultiHeadAttention;
use crate::norm::LayerNorm;
use crate::precision::Precision;
use crate::random::Mode;
use crate::residual::ResidualNorm;
use crate::window::{SelfAttentionMask, Window};

/// One layer of the encoder (paper §3.1): self-attention, then the feed-forward network.
#[derive(Module, Debug)]
pub struct EncoderLayer {
    /// Attention over all positions of the source.
    pub self_attention: MultiHeadAttention,
    /// Layer normalisation of the self-attention.
    pub self_attention_norm: LayerNorm,
    /// The feed-forward network.
    pub feed_forward: PositionWiseFeedForward,
    /// Layer normalisation of the feed-forward network.
    pub feed_forward_norm: LayerNorm,
    residual: ResidualNorm,
}

impl EncoderLayer {
    /// A layer made of two given sub-layers. Each gets the residual connection, dropout and norm position of
    /// `residual`, with a layer normalisation of its own.
    pub fn new(
        self_attention: MultiHeadAttention,
        feed_forward: PositionWiseFeedForward,
        residual: ResidualNorm,
        device: &Device,
    ) -> Self {
        let d_model = self_attention.d_model();
        let norm = || LayerNorm::new(d_model, LayerNorm::EPSILON, device);
        Self {
            self_attention,
            self_attention_norm: norm(),
            feed_forward,
            feed_forward_norm: norm(),
            residual,
        }
    }

    /// Adds `epsilon` to the variance in both layer normalisations instead of [`LayerNorm::EPSILON`].
    pub fn with_epsilon(mut self, epsilon: f64) -> Self {
        self.self_attention_norm = self.self_attention_norm.with_epsilon(epsilon);
        self.feed_forward_norm = self.feed_forward_norm.with_epsilon(epsilon);
        self
    }

    /// A layer with the sizes of `config`; its initial weights are a function of `key`.
    pub fn from_config(config: &TransformerConfig, key: RandomKey, device: &Device) -> Self {
        let norm = || LayerNorm::new(config.d_model, config.layer_norm_eps, device);
        Self {
            self_attention: MultiHeadAttention::from_config(config, key.fold(0), device),
            self_attention_norm: norm(),
            feed_forward: PositionWiseFeedForward::from_config(config, key.fold(1), device),
            feed_forward_norm: norm(),
            residual: ResidualNorm::new(config.norm, config.dropout),
        }
    }

    /// Runs self-attention and the feed-forward network over every position. A position sees the positions that
    /// `mask` does not hide.
    ///
    /// # Shapes
    /// `x`: `[batch, len, d_model]` → the same shape
    pub fn forward(&self, x: Tensor<3>, mask: &SelfAttentionMask, mode: Mode) -> Tensor<3> {
        self.run(x, mask, mode, None)
    }

    /// Computes [`forward`](Self::forward) and appends the attention weights, `[batch, heads, len, len]`, to `record`.
    ///
    /// # Panics
    /// If the mask is one in blocks, which computes no weights outside of the window.
    pub fn forward_recording(
        &self,
        x: Tensor<3>,
        mask: &SelfAttentionMask,
        mode: Mode,
        record: &mut Vec<Tensor<4>>,
    ) -> Tensor<3> {
        self.run(x, mask, mode, Some(record))
    }

    fn run(
        &self,
        x: Tensor<3>,
        mask: &SelfAttentionMask,
        mode: Mode,
        record: Option<&mut Vec<Tensor<4>>>,
    ) -> Tensor<3> {
        let x = self.residual.forward(x, &self.self_attention_norm, mode.fold(0), |x| {
            let memory = self.self_attention.key_values(x.clone());
            self.self_attention.attend_self(x, memory, mask, mode.fold(1), record)
        });
        self.residual.forward(x, &self.feed_forward_norm, mode.fold(2), |x| {
            self.feed_forward.forward(x, mode.fold(3))
        })
    }
}

/// The stack of encoder layers (paper §3.1). In a pre-norm model a last layer normalisation follows.
#[derive(Module, Debug)]
pub struct Encoder {
    /// The layers, in order.
    pub layers: Vec<EncoderLayer>,
    /// The last layer normalisation of a pre-norm model.
    pub norm: Option<LayerNorm>,
    window: Option<usize>,
}

impl Encoder {
    /// A stack of `layers`, followed by `norm` if it is given. A position sees the positions that are at most
    /// `window` away, or all positions if `window` is `None`.
    pub fn new(layers: Vec<EncoderLayer>, norm: Option<LayerNorm>, window: Option<usize>) -> Self {
        Self { layers, norm, window }
    }

    /// An encoder with the sizes of `config`; its initial weights are a function of `key`.
    pub fn from_config(config: &TransformerConfig, key: RandomKey, device: &Device) -> Self {
        let layer = |n| EncoderLayer::from_config(config, key.fold(n), device);
        let layers = (0..config.encoder_layers as u64).map(layer).collect();
        Self::new(layers, closing_norm(config, device), config.attention_window)
    }

    /// Encodes the embedded positions `x`.
    ///
    /// # Shapes
    /// - `x`: `[batch, len, d_model]` → the same shape
    /// - `padding`: `[batch, 1, 1, len]`, `true` hides; `None` hides nothing
    pub fn forward(
        &self,
        x: Tensor<3>,
        padding: Option<&Tensor<4, Bool>>,
        mode: Mode,
    ) -> Tensor<3> {
        self.run(x, padding, mode, None)
    }

    /// Computes [`forward`](Self::forward) and appends the attention weights of each layer, `[batch, heads, len, len]`, to
    /// `record`.
    pub fn forward_recording(
        &self,
        x: Tensor<3>,
        padding: Option<&Tensor<4, Bool>>,
        mode: Mode,
        record: &mut Vec<Tensor<4>>,
    ) -> Tensor<3> {
        self.run(x, padding, mode, Some(record))
    }

    pub(crate) fn run(
        &self,
        mut x: Tensor<3>,
        padding: Option<&Tensor<4, Bool>>,
        mode: Mode,
        mut record: Option<&mut Vec<Tensor<4>>>,
    ) -> Tensor<3> {
        let mask = self.mask(padding, x.dims()[1], &x.device(), record.is_some());
        for (n, layer) in self.layers.iter().enumerate() {
            x = layer.run(x, &mask, mode.fold(n as u64), record.as_deref_mut());
        }
        match &self.norm {
            Some(norm) => norm.forward(x),
            None => x,
        }
    }

    /// Packs the weights for fast inference, see [`Transformer::pack`](crate::Transformer::pack).
    pub fn pack(&mut self, compute: ComputeType) {
        for layer in &mut self.layers {
            layer.self_attention.pack(compute);
            layer.feed_forward.pack(compute);
        }
    }

    /// Sets the type of matrix products, see [`Transformer::set_precision`](crate::Transformer::set_precision).
    pub fn set_precision(&mut self, precision: Precision) {
        for layer in &mut self.layers {
            layer.self_attention.set_precision(precision);
            layer.feed_forward.set_precision(precision);
        }
    }

    /// The mask of padding and window together. If weights are recorded, it is a dense one.
    fn mask(
        &self,
        padding: Option<&Tensor<4, Bool>>,
        len: usize,
        device: &Device,
        recording: bool,
    ) -> SelfAttentionMask {
        let Some(radius) = self.window else {
            return SelfAttentionMask::Dense(padding.cloned());
        };
        let window = Window { radius, causal: false };
        match recording {
            true => SelfAttentionMask::Dense(Some(window.dense_mask(len, padding, device))),
            false => window.mask(len, padding, device),
        }
    }
}

/// The last layer normalisation of a pre-norm stack; `None` in a post-norm model.
pub(crate) fn closing_norm(config: &TransformerConfig, device: &Device) -> Option<LayerNorm> {
    match config.norm {
        NormPosition::Post => None,
        NormPosition::Pre => Some(LayerNorm::new(config.d_model, config.layer_norm_eps, device)),
    }
}
