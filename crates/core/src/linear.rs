use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};
use burnformer_kernels::{PackedWeight, RandomKey};

use crate::init;
use crate::precision::Precision;

/// An affine map `y = x·Wᵀ + b` with `W` in PyTorch's layout.
#[derive(Module, Debug)]
pub struct Linear {
    /// `[out, in]`.
    pub weight: Param<Tensor<2>>,
    /// `[out]`; absent for a map without bias.
    pub bias: Option<Param<Tensor<1>>>,
    #[module(skip)]
    packed: Option<PackedWeight>,
    #[module(skip)]
    precision: Precision,
}

impl Linear {
    /// Xavier-uniform weights and a zero bias.
    pub fn new(input: usize, output: usize, key: RandomKey, device: &Device) -> Self {
        Self {
            weight: init::xavier_uniform([output, input], key, device),
            bias: Some(init::constant(0.0, output, device)),
            packed: None,
            precision: Precision::Float32,
        }
    }

    /// Xavier-uniform weights and no bias.
    pub fn without_bias(input: usize, output: usize, key: RandomKey, device: &Device) -> Self {
        Self {
            weight: init::xavier_uniform([output, input], key, device),
            bias: None,
            packed: None,
            precision: Precision::Float32,
        }
    }

    /// # Shapes
    /// `x`: `[batch, len, in]` → `[batch, len, out]`.
    pub fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        let (weight, bias) = (self.weight.val(), self.bias.as_ref().map(Param::val));
        let fast = packed_for(&self.packed, &weight, self.precision);
        fast.and_then(|packed| packed.linear(&x, bias.clone(), false))
            .unwrap_or_else(|| self.precision.linear(x, weight, bias))
    }

    /// max(0, [`forward`](Self::forward)) in one pass.
    pub fn forward_relu(&self, x: Tensor<3>) -> Tensor<3> {
        let (weight, bias) = (self.weight.val(), self.bias.as_ref().map(Param::val));
        let fast = packed_for(&self.packed, &weight, self.precision);
        fast.and_then(|packed| packed.linear(&x, bias.clone(), true))
            .unwrap_or_else(|| self.precision.linear_relu(x, weight, bias))
    }

    /// Arranges the weight for fast inference, see [`Transformer::pack`](crate::Transformer::pack).
    pub fn pack(&mut self) {
        self.packed = PackedWeight::new(&self.weight.val());
    }

    /// Multiplies in `precision` from now on, see [`Transformer::compute_in`](crate::Transformer::compute_in).
    pub fn compute_in(&mut self, precision: Precision) {
        self.precision = precision;
    }
}

/// The arrangement, if it is still that of `weight` and serves products in `precision`.
pub(crate) fn packed_for<'a>(
    packed: &'a Option<PackedWeight>,
    weight: &Tensor<2>,
    precision: Precision,
) -> Option<&'a PackedWeight> {
    let serves = precision == Precision::Float32;
    packed.as_ref().filter(|packed| serves && packed.is_of(weight))
}
