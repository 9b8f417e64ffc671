use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};
use burnformer_kernels::{DropoutMask, layer_norm, residual_dropout_norm};

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
    /// What is added to the variance unless a configuration says otherwise, the choice of PyTorch.
    pub const EPSILON: f64 = 1e-5;

    /// A norm over `d_model` features; `epsilon` is added to the variance.
    pub fn new(d_model: usize, epsilon: f64, device: &Device) -> Self {
        Self {
            weight: init::constant(1.0, d_model, device),
            bias: init::constant(0.0, d_model, device),
            epsilon,
        }
    }

    /// (x − mean) / √(variance + ε) of each row, times the gain plus the offset.
    ///
    /// # Shapes
    /// `[.., d_model]` → the same
    pub fn forward<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        layer_norm(x, self.weight.val(), self.bias.val(), self.epsilon)
    }

    /// `forward(x + dropout(y))` in one pass.
    pub(crate) fn forward_sum<const D: usize>(
        &self,
        x: Tensor<D>,
        y: Tensor<D>,
        mask: Option<DropoutMask>,
    ) -> Tensor<D> {
        let (weight, bias) = (self.weight.val(), self.bias.val());
        residual_dropout_norm(x, y, weight, bias, self.epsilon, mask)
    }
}
