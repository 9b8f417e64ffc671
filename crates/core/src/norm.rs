use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor, module::layer_norm};

use crate::init;

/// Layer normalisation (Ba et al., 2016) over the last axis, with gain `weight` and offset `bias`.
#[derive(Module, Debug)]
pub struct LayerNorm {
    /// `[d_model]`, starts at one.
    pub weight: Param<Tensor<1>>,
    /// `[d_model]`, starts at zero.
    pub bias: Param<Tensor<1>>,
    epsilon: f64,
}

impl LayerNorm {
    /// A norm over `d_model` features; `epsilon` is added to the variance.
    pub fn new(d_model: usize, epsilon: f64, device: &Device) -> Self {
        Self {
            weight: init::constant(1.0, d_model, device),
            bias: init::constant(0.0, d_model, device),
            epsilon,
        }
    }

    /// # Shapes
    /// `[batch, len, d_model]` → the same.
    pub fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        layer_norm(x, self.weight.val(), Some(self.bias.val()), self.epsilon)
    }
}
