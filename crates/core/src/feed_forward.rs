use std::f64::consts::FRAC_1_SQRT_2;

use burn::config::Config;
use burn::module::Module;
use burn::tensor::{Device, Tensor, activation};
use burnformer_kernels::{RandomKey, is_fused_on, silu};
use serde::{Deserialize, Serialize};

use crate::context::Mode;
use crate::cost::Cost;
use crate::dropout::Dropout;
use crate::init;
use crate::linear::{Linear, LinearConfig};

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
    /// If true, a third map gates the network, `act(x·W_g)·(x·W₁)·W₂` (Shazeer, 2020): SwiGLU with
    /// [`Activation::Silu`], GEGLU with [`Activation::Gelu`]. The paper has none.
    #[config(default = false)]
    pub gated: bool,
    /// If true, the maps have a bias.
    #[config(default = true)]
    pub bias: bool,
}

impl PositionWiseFeedForwardConfig {
    /// Creates a network with initial weights from Burn's random numbers of `device`;
    /// `device.seed(…)` repeats them.
    pub fn init(&self, device: &Device) -> PositionWiseFeedForward {
        self.init_with_key(init::drawn_key(device), device)
    }

    /// Creates a network with initial weights that are a function of `key`.
    pub fn init_with_key(&self, key: RandomKey, device: &Device) -> PositionWiseFeedForward {
        let [inner, outer] = self.projections();
        PositionWiseFeedForward {
            inner: inner.init_with_key(key.fold(0), device),
            outer: outer.init_with_key(key.fold(1), device),
            gate: self.gated.then(|| inner.init_with_key(key.fold(2), device)),
            dropout: Dropout::new(self.dropout),
            activation: self.activation,
        }
    }

    /// Returns the cost of the network, which is the cost of its linear maps.
    pub fn cost(&self) -> Cost {
        let [inner, outer] = self.projections();
        // The other functions keep their input for the backward pass.
        let activations = match self.activation {
            Activation::Relu => 0,
            Activation::Gelu | Activation::Silu => self.d_ff,
        };
        let function = Cost {
            activations,
            ..Cost::default()
        };
        inner.cost() * (1 + usize::from(self.gated)) + function + outer.cost()
    }

    /// Returns the projections to the inner width and back.
    fn projections(&self) -> [LinearConfig; 2] {
        [
            LinearConfig::new(self.d_model, self.d_ff).with_bias(self.bias),
            LinearConfig::new(self.d_ff, self.d_model).with_bias(self.bias),
        ]
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
    /// The gate, `d_model → d_ff`; `None` in the paper. Its activated output is multiplied with the
    /// output of the first map.
    pub gate: Option<Linear>,
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
        let hidden = match &self.gate {
            Some(gate) => self.activated(gate, x.clone()) * self.inner.forward(x),
            None => self.activated(&self.inner, x),
        };
        self.outer.forward(self.dropout.forward(hidden, mode))
    }

    fn activated<const D: usize>(&self, map: &Linear, x: Tensor<D>) -> Tensor<D> {
        match self.activation {
            Activation::Relu => map.forward_relu(x),
            Activation::Silu => map.forward_silu(x),
            other => other.forward(map.forward(x)),
        }
    }

    /// Returns the linear maps, to be packed or set to a precision.
    pub fn linears_mut(&mut self) -> impl Iterator<Item = &mut Linear> {
        [&mut self.inner, &mut self.outer]
            .into_iter()
            .chain(&mut self.gate)
    }
}

/// The activation function between the two linear maps of the feed-forward network (paper §3.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "model-dir", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Activation {
    /// max(0, x), the function of the paper (§3.3).
    #[default]
    Relu,
    /// x·Φ(x) with the exact normal distribution function Φ (not the tanh approximation).
    Gelu,
    /// x·σ(x), also called swish; σ is the logistic function.
    Silu,
}

/// Burn's [`gelu`](activation::gelu) has another gradient on all devices but the CPU: that of the
/// tanh approximation, which is off by up to 9e-4 (`findings/burn-gelu-gradient.sh`).
fn gelu<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    if is_fused_on(&x.device()) {
        return activation::gelu(x);
    }
    let distribution = ((x.clone() * FRAC_1_SQRT_2).erf() + 1.0) * 0.5;
    x * distribution
}

impl Activation {
    /// Applies the function to every element of `x`; the shape does not change.
    pub fn forward<const D: usize>(self, x: Tensor<D>) -> Tensor<D> {
        match self {
            Self::Relu => activation::relu(x),
            Self::Gelu => gelu(x),
            Self::Silu => silu(x),
        }
    }
}
