use burn::module::Module;
use burn::tensor::{Bool, Device, Tensor};
use burnformer_kernels::RandomKey;

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
    /// Norm around the self-attention.
    pub self_attention_norm: LayerNorm,
    /// The feed-forward network.
    pub feed_forward: PositionWiseFeedForward,
    /// Norm around the feed-forward network.
    pub feed_forward_norm: LayerNorm,
    residual: ResidualNorm,
}

impl EncoderLayer {
    /// A layer of two sub-layers that are at hand, each inside the wiring of `residual` with a norm of its own.
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

    /// A layer of `config`.
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

    /// Runs both sub-layers over every position, which sees what `mask` leaves of the others. Pushes the attention
    /// weights onto `record` if there is one.
    ///
    /// # Shapes
    /// `x`: `[batch, len, d_model]` → the same
    pub fn forward(
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

/// The stack of encoder layers, closed by a norm when norms come first.
#[derive(Module, Debug)]
pub struct Encoder {
    /// The layers, in order.
    pub layers: Vec<EncoderLayer>,
    /// The closing norm of a pre-norm stack.
    pub norm: Option<LayerNorm>,
    window: Option<usize>,
}

impl Encoder {
    /// A stack of `layers`, closed by `norm` if there is one, in which a position sees others that are at most
    /// `window` away, or all.
    pub fn new(layers: Vec<EncoderLayer>, norm: Option<LayerNorm>, window: Option<usize>) -> Self {
        Self { layers, norm, window }
    }

    /// The encoder of `config`.
    pub fn from_config(config: &TransformerConfig, key: RandomKey, device: &Device) -> Self {
        let layer = |n| EncoderLayer::from_config(config, key.fold(n), device);
        let layers = (0..config.encoder_layers as u64).map(layer).collect();
        Self::new(layers, closing_norm(config, device), config.attention_window)
    }

    /// Encodes embedded positions.
    ///
    /// # Shapes
    /// - `x`: `[batch, len, d_model]` → the same
    /// - `padding`: `[batch, 1, 1, len]`, `true` hides
    ///
    /// Pushes each layer's attention weights onto `record` if there is one.
    pub fn forward(
        &self,
        mut x: Tensor<3>,
        padding: &Tensor<4, Bool>,
        mode: Mode,
        mut record: Option<&mut Vec<Tensor<4>>>,
    ) -> Tensor<3> {
        let mask = self.mask(padding, x.dims()[1], record.is_some());
        for (n, layer) in self.layers.iter().enumerate() {
            x = layer.forward(x, &mask, mode.fold(n as u64), record.as_deref_mut());
        }
        match &self.norm {
            Some(norm) => norm.forward(x),
            None => x,
        }
    }

    /// Arranges the weights for fast inference, see [`Transformer::pack`](crate::Transformer::pack).
    pub fn pack(&mut self) {
        for layer in &mut self.layers {
            layer.self_attention.pack();
            layer.feed_forward.pack();
        }
    }

    /// Multiplies in `precision` from now on, see [`Transformer::set_precision`](crate::Transformer::set_precision).
    pub fn set_precision(&mut self, precision: Precision) {
        for layer in &mut self.layers {
            layer.self_attention.set_precision(precision);
            layer.feed_forward.set_precision(precision);
        }
    }

    /// What padding and window leave. Weights to be recorded are those of the whole mask.
    fn mask(&self, padding: &Tensor<4, Bool>, len: usize, recording: bool) -> SelfAttentionMask {
        let Some(radius) = self.window else {
            return SelfAttentionMask::Dense(Some(padding.clone()));
        };
        let window = Window { radius, causal: false };
        match recording {
            true => {
                let mask = window.dense_mask(len, Some(padding), &padding.device());
                SelfAttentionMask::Dense(Some(mask))
            }
            false => window.mask(len, Some(padding), &padding.device()),
        }
    }
}

/// The norm that ends a pre-norm stack.
pub(crate) fn closing_norm(config: &TransformerConfig, device: &Device) -> Option<LayerNorm> {
    match config.norm {
        NormPosition::Post => None,
        NormPosition::Pre => Some(LayerNorm::new(config.d_model, config.layer_norm_eps, device)),
    }
}
