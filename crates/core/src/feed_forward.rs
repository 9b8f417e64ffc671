use burn::config::Config;
use burn::module::Module;
use burn::tensor::{Device, Tensor};
use burnformer_kernels::RandomKey;

use crate::activation::Activation;
use crate::cost::Cost;
use crate::dropout::Dropout;
use crate::init;
use crate::linear::Linear;
use crate::random::Mode;

/// The sizes of a [`PositionWiseFeedForward`] network.
#[derive(Config, Debug)]
pub struct PositionWiseFeedForwardConfig {
    /// The number of features of a position.
    pub d_model: usize,
    /// The inner width.
    pub d_ff: usize,
    /// The function between the two linear maps.
    #[config(default = "Activation::Relu")]
    pub activation: Activation,
    /// The rate of dropout after the activation function; the paper has no such dropout.
    #[config(default = 0.0)]
    pub dropout: f64,
}

impl PositionWiseFeedForwardConfig {
    /// A network whose initial weights are drawn from Burn's random numbers of `device`:
    /// `device.seed(…)` repeats them.
    pub fn init(&self, device: &Device) -> PositionWiseFeedForward {
        self.init_with_key(init::drawn_key(device), device)
    }

    /// A network whose initial weights are a function of `key`.
    pub fn init_with_key(&self, key: RandomKey, device: &Device) -> PositionWiseFeedForward {
        let &Self { d_model, d_ff, activation, dropout } = self;
        PositionWiseFeedForward {
            inner: Linear::new(d_model, d_ff, key.fold(0), device),
            outer: Linear::new(d_ff, d_model, key.fold(1), device),
            dropout: Dropout::new(dropout),
            activation,
        }
    }

    /// The cost of the network: that of its two maps.
    pub fn cost(&self) -> Cost {
        Linear::cost(self.d_model, self.d_ff, true) + Linear::cost(self.d_ff, self.d_model, true)
    }
}

/// Position-wise feed-forward network (paper §3.3): `FFN(x) = act(x·W₁ + b₁)·W₂ + b₂`. Every
/// position uses the same weights.
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

    /// Both maps, to be packed or set to a precision.
    pub fn linears_mut(&mut self) -> impl Iterator<Item = &mut Linear> {
        [&mut self.inner, &mut self.outer].into_iter()
    }
}
