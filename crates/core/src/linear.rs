use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor, module::linear};

use crate::init;
use crate::random::RandomKey;

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
        Self {
            weight: init::xavier_uniform([output, input], key, device),
            bias: None,
        }
    }

    /// # Shapes
    /// `x`: `[batch, len, in]` → `[batch, len, out]`.
    pub fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        let bias = self.bias.as_ref().map(Param::val);
        project(x, self.weight.val(), bias)
    }
}

/// `x·Wᵀ + b` as one product over all rows: `[batch, len, in]` → `[batch, len, out]`.
pub(crate) fn project(x: Tensor<3>, weight: Tensor<2>, bias: Option<Tensor<1>>) -> Tensor<3> {
    let [batch, len, width] = x.dims();
    let [output, _] = weight.dims();
    let rows = x.reshape([batch * len, width]);
    linear(rows, weight.transpose(), bias).reshape([batch, len, output])
}
