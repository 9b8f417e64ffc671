use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};
use burnformer_kernels::{PackedWeight, RandomKey, linear, linear_relu};

use crate::init;

/// An affine map `y = x·Wᵀ + b` with `W` in PyTorch's layout.
#[derive(Module, Debug)]
pub struct Linear {
    /// `[out, in]`.
    pub weight: Param<Tensor<2>>,
    /// `[out]`; absent for a map without bias.
    pub bias: Option<Param<Tensor<1>>>,
    #[module(skip)]
    packed: Option<PackedWeight>,
}

impl Linear {
    /// Xavier-uniform weights and a zero bias.
    pub fn new(input: usize, output: usize, key: RandomKey, device: &Device) -> Self {
        Self {
            weight: init::xavier_uniform([output, input], key, device),
            bias: Some(init::constant(0.0, output, device)),
            packed: None,
        }
    }

    /// Xavier-uniform weights and no bias.
    pub fn without_bias(input: usize, output: usize, key: RandomKey, device: &Device) -> Self {
        Self {
            weight: init::xavier_uniform([output, input], key, device),
            bias: None,
            packed: None,
        }
    }

    /// # Shapes
    /// `x`: `[batch, len, in]` → `[batch, len, out]`.
    pub fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        let (weight, bias) = (self.weight.val(), self.bias.as_ref().map(Param::val));
        let fast = packed_for(&self.packed, &weight);
        fast.and_then(|packed| packed.linear(&x, bias.clone(), false))
            .unwrap_or_else(|| linear(x, weight, bias))
    }

    /// max(0, [`forward`](Self::forward)) in one pass.
    pub fn forward_relu(&self, x: Tensor<3>) -> Tensor<3> {
        let (weight, bias) = (self.weight.val(), self.bias.as_ref().map(Param::val));
        let fast = packed_for(&self.packed, &weight);
        fast.and_then(|packed| packed.linear(&x, bias.clone(), true))
            .unwrap_or_else(|| linear_relu(x, weight, bias))
    }

    /// Arranges the weight for fast inference, see [`Transformer::pack`](crate::Transformer::pack).
    pub fn pack(&mut self) {
        self.packed = PackedWeight::new(&self.weight.val());
    }
}

/// The arrangement, if it is still that of `weight`.
pub(crate) fn packed_for<'a>(
    packed: &'a Option<PackedWeight>,
    weight: &Tensor<2>,
) -> Option<&'a PackedWeight> {
    packed.as_ref().filter(|packed| packed.is_of(weight))
}
