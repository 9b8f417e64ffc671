use burn::tensor::{Tensor, activation};
use serde::{Deserialize, Serialize};

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

impl Activation {
    /// Applies the function to every element of `x`; the shape does not change.
    pub fn forward<const D: usize>(self, x: Tensor<D>) -> Tensor<D> {
        match self {
            Self::Relu => activation::relu(x),
            Self::Gelu => activation::gelu(x),
            Self::Silu => activation::silu(x),
        }
    }
}
