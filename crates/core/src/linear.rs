use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};
use burnformer_kernels::{RandomKey, linear, linear_relu};

use crate::init;

/// An affine map `y = x·Wᵀ + b` with `W` in PyTorch's layout.
#[derive(Module, Debug)]
pub struct Linear {
    /// `[out, in]`.
    pub weight: Param<Tensor<2>>,
    /// `[out]`; absent for a map without bias.
    pub bias: Option<Param<Tensor<1>>>,
}

impl Linear {
    /// Xavier-uniform weights and a zero bias.
    pub fn new(input: usize, output: usize, key: RandomKey, device: &Device) -> Self {
        Self {
            weight: init::xavier_uniform([output, input], key, device),
            bias: Some(init::constant(0.0, output, device)),
        }
    }

    /// Xavier-uniform weights and no bias.
    pub fn without_bias(input: usize, output: usize, key: RandomKey, device: &Device) -> Self {
        Self { weight: init::xavier_uniform([output, input], key, device), bias: None }
    }

    /// # Shapes
    /// `x`: `[batch, len, in]` → `[batch, len, out]`.
    pub fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        linear(x, self.weight.val(), self.bias.as_ref().map(Param::val))
    }

    /// max(0, [`forward`](Self::forward)) in one pass.
    pub fn forward_relu(&self, x: Tensor<3>) -> Tensor<3> {
        linear_relu(x, self.weight.val(), self.bias.as_ref().map(Param::val))
    }
}
