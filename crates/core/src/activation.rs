use burn::tensor::{Tensor, activation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The nonlinearity between the two maps of the feed-forward network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Activation {
    /// max(0, x), the paper's choice (§3.3).
    #[default]
    Relu,
    /// x·Φ(x), exact (not the tanh approximation).
    Gelu,
    /// x·σ(x), also called swish.
    Silu,
}

impl Activation {
    /// Applies the function to every element.
    pub fn forward<const D: usize>(self, x: Tensor<D>) -> Tensor<D> {
        match self {
            Self::Relu => activation::relu(x),
            Self::Gelu => activation::gelu(x),
            Self::Silu => activation::silu(x),
        }
    }
}
