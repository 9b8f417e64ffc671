use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};
use burnformer_kernels::{DropoutMask, layer_norm, residual_dropout_norm};

use crate::cost::Cost;
use crate::init;

/// Layer normalisation (Ba et al., 2016) over the last axis, with a trained gain `weight` and
/// offset `bias`.
#[derive(Module, Debug)]
pub struct LayerNorm {
    /// The gain, `[d_model]`; its initial value is one.
    pub weight: Param<Tensor<1>>,
    /// The offset, `[d_model]`; its initial value is zero.
    pub bias: Param<Tensor<1>>,
    epsilon: f64,
}

impl LayerNorm {
    /// The default for the value that is added to the variance; PyTorch has the same default.
    pub const EPSILON: f64 = 1e-5;

    /// A layer normalisation over `d_model` features; `epsilon` is added to the variance.
    pub fn new(d_model: usize, epsilon: f64, device: &Device) -> Self {
        Self {
            weight: init::constant(1.0, d_model, device),
            bias: init::constant(0.0, d_model, device),
            epsilon,
        }
    }

    /// The cost over `d_model` features: gain and offset. What it keeps,
    /// [`ResidualNorm`](crate::ResidualNorm) counts.
    pub fn cost(d_model: usize) -> Cost {
        Cost::parameters(2 * d_model)
    }

    /// Computes (x − mean) / √(variance + ε) of each row, multiplies by the gain and adds the
    /// offset.
    ///
    /// # Shapes
    /// `x`: `[.., d_model]` → the same shape
    pub fn forward<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        layer_norm(x, self.weight.val(), self.bias.val(), self.epsilon)
    }

    /// Computes `forward(x + dropout(y))` in one pass over the data.
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
