use burn::module::Module;
use burn::tensor::{Device, Tensor};
use burnformer_kernels::RandomKey;

use crate::activation::Activation;
use crate::config::TransformerConfig;
use crate::dropout::Dropout;
use crate::linear::Linear;
use crate::precision::Precision;
use crate::random::Mode;

/// Position-wise feed-forward network (paper §3.3): `FFN(x) = act(x·W₁ + b₁)·W₂ + b₂`, the same at
/// every position, which makes it two convolutions with kernel size 1.
#[derive(Module, Debug)]
pub struct PositionWiseFeedForward {
    /// `d_model → d_ff`.
    pub inner: Linear,
    /// `d_ff → d_model`.
    pub outer: Linear,
    dropout: Dropout,
    #[module(skip)]
    activation: Activation,
}

impl PositionWiseFeedForward {
    /// The network of `config`'s `d_model`, `d_ff`, `activation` and `activation_dropout`.
    pub fn new(config: &TransformerConfig, key: RandomKey, device: &Device) -> Self {
        Self {
            inner: Linear::new(config.d_model, config.d_ff, key.fold(0), device),
            outer: Linear::new(config.d_ff, config.d_model, key.fold(1), device),
            dropout: Dropout::new(config.activation_dropout),
            activation: config.activation,
        }
    }

    /// # Shapes
    /// `[batch, len, d_model]` → the same.
    pub fn forward(&self, x: Tensor<3>, mode: Mode) -> Tensor<3> {
        let hidden = match self.activation {
            Activation::Relu => self.inner.forward_relu(x),
            other => other.forward(self.inner.forward(x)),
        };
        self.outer.forward(self.dropout.forward(hidden, mode))
    }

    /// Arranges the weights for fast inference, see [`Transformer::pack`](crate::Transformer::pack).
    pub fn pack(&mut self) {
        self.inner.pack();
        self.outer.pack();
    }

    /// Multiplies in `precision` from now on, see [`Transformer::compute_in`](crate::Transformer::compute_in).
    pub fn compute_in(&mut self, precision: Precision) {
        self.inner.compute_in(precision);
        self.outer.compute_in(precision);
    }
}
