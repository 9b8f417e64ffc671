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
use crate::window::{Sight, Window};

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
    /// A layer of `config`.
    pub fn new(config: &TransformerConfig, key: RandomKey, device: &Device) -> Self {
        let norm = || LayerNorm::new(config.d_model, config.layer_norm_eps, device);
        Self {
            self_attention: MultiHeadAttention::new(config, key.fold(0), device),
            self_attention_norm: norm(),
            feed_forward: PositionWiseFeedForward::new(config, key.fold(1), device),
            feed_forward_norm: norm(),
            residual: ResidualNorm::new(config.norm, config.dropout),
        }
    }

    /// # Shapes
    /// - `x`: `[batch, len, d_model]` → the same
    ///
    /// Pushes the attention weights onto `record` if there is one.
    pub fn forward(
        &self,
        x: Tensor<3>,
        sight: &Sight,
        mode: Mode,
        record: Option<&mut Vec<Tensor<4>>>,
    ) -> Tensor<3> {
        let x = self.residual.forward(x, &self.self_attention_norm, mode.fold(0), |x| {
            let memory = self.self_attention.key_values(x.clone());
            self.self_attention.attend_self(x, memory, sight, mode.fold(1), record)
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
    /// The encoder of `config`.
    pub fn new(config: &TransformerConfig, key: RandomKey, device: &Device) -> Self {
        let layers = 0..config.encoder_layers as u64;
        Self {
            layers: layers.map(|n| EncoderLayer::new(config, key.fold(n), device)).collect(),
            norm: closing_norm(config, device),
            window: config.attention_window,
        }
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
        let sight = self.sight(padding, x.dims()[1], record.is_some());
        for (n, layer) in self.layers.iter().enumerate() {
            x = layer.forward(x, &sight, mode.fold(n as u64), record.as_deref_mut());
        }
        match &self.norm {
            Some(norm) => norm.forward(x),
            None => x,
        }
    }

    pub(crate) fn pack(&mut self) {
        for layer in &mut self.layers {
            layer.self_attention.pack();
            layer.feed_forward.pack();
        }
    }

    pub(crate) fn compute_in(&mut self, precision: Precision) {
        for layer in &mut self.layers {
            layer.self_attention.compute_in(precision);
            layer.feed_forward.compute_in(precision);
        }
    }

    /// Weights to be recorded are those of the whole mask.
    fn sight(&self, padding: &Tensor<4, Bool>, len: usize, recording: bool) -> Sight {
        let Some(radius) = self.window else {
            return Sight::Masked(Some(padding.clone()));
        };
        let window = Window { radius, causal: false };
        match recording {
            true => Sight::Masked(Some(window.mask(len, Some(padding), &padding.device()))),
            false => window.sight(len, Some(padding), &padding.device()),
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
