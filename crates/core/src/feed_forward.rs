use burn::module::Module;
use burn::tensor::{Device, Tensor};
use burnformer_kernels::{ComputeType, RandomKey};

use crate::activation::Activation;
use crate::config::TransformerConfig;
use crate::dropout::Dropout;
use crate::linear::Linear;
use crate::precision::Precision;
use crate::random::Mode;

/// Position-wise feed-forward network (paper §3.3): `FFN(x) = act(x·W₁ + b₁)·W₂ + b₂`. Every position uses the same
/// weights.
#[derive(Module, Debug)]
pub struct PositionWiseFeedForward {
    /// The first linear map, `d_model → d_ff`.
    pub inner: Linear,
    /// The second linear map, `d_ff → d_model`.
    pub outer: Linear,
    dropout: Dropout,
    #[module(skip)]
    activation: Activation,
}

impl PositionWiseFeedForward {
    /// A network over `d_model` features with inner width `d_ff`, without dropout; its initial weights are a function
    /// of `key`.
    pub fn new(
        d_model: usize,
        d_ff: usize,
        activation: Activation,
        key: RandomKey,
        device: &Device,
    ) -> Self {
        Self {
            inner: Linear::new(d_model, d_ff, key.fold(0), device),
            outer: Linear::new(d_ff, d_model, key.fold(1), device),
            dropout: Dropout::new(0.0),
            activation,
        }
    }

    /// A network with the `d_model`, `d_ff`, `activation` and `activation_dropout` of `config`.
    pub fn from_config(config: &TransformerConfig, key: RandomKey, device: &Device) -> Self {
        let &TransformerConfig { d_model, d_ff, activation, activation_dropout, .. } = config;
        Self::new(d_model, d_ff, activation, key, device).with_dropout(activation_dropout)
    }

    /// Sets the rate of dropout after the activation function; the paper has no such dropout.
    pub fn with_dropout(self, rate: f64) -> Self {
        Self { dropout: Dropout::new(rate), ..self }
    }

    /// Applies the network to every position.
    ///
    /// # Shapes
    /// `x`: `[.., d_model]` → the same shape
    pub fn forward<const D: usize>(&self, x: Tensor<D>, mode: Mode) -> Tensor<D> {
        let hidden = match self.activation {
            Activation::Relu => self.inner.forward_relu(x),
            other => other.forward(self.inner.forward(x)),
        };
        self.outer.forward(self.dropout.forward(hidden, mode))
    }

    /// Packs the weights for fast inference, see [`Transformer::pack`](crate::Transformer::pack).
    pub fn pack(&mut self, compute: ComputeType) {
        self.inner.pack(compute);
        self.outer.pack(compute);
    }

    /// Sets the type of matrix products, see [`Transformer::set_precision`](crate::Transformer::set_precision).
    pub fn set_precision(&mut self, precision: Precision) {
        self.inner.set_precision(precision);
        self.outer.set_precision(precision);
    }
}
