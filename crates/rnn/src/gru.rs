use burn::module::{Module, Param};
use burn::tensor::{Bool, Device, Tensor};
use burnformer_core::{Precision, RandomKey, init};

use crate::kernels::{self, Direction};

/// A gated recurrent unit (Cho et al., 2014) with `torch.nn.GRU`'s weights: gates in the order reset,
/// update, new.
#[derive(Module, Debug)]
pub struct Gru {
    /// `[3·width, in]`.
    pub weight_ih: Param<Tensor<2>>,
    /// `[3·width, width]`.
    pub weight_hh: Param<Tensor<2>>,
    /// `[3·width]`.
    pub bias_ih: Param<Tensor<1>>,
    /// `[3·width]`.
    pub bias_hh: Param<Tensor<1>>,
    /// Of the product of the inputs.
    #[module(skip)]
    pub(super) precision: Precision,
}

impl Gru {
    /// Xavier-uniform weights and zero biases.
    pub fn new(input: usize, width: usize, key: RandomKey, device: &Device) -> Self {
        let gates = 3 * width;
        Self {
            weight_ih: init::xavier_uniform([gates, input], key.fold(0), device),
            weight_hh: init::xavier_uniform([gates, width], key.fold(1), device),
            bias_ih: init::constant(0.0, gates, device),
            bias_hh: init::constant(0.0, gates, device),
            precision: Precision::Float32,
        }
    }

    /// The states after each position of whole sequences, from a state of zeros; padding (`true`) leaves
    /// the state as it is. The inputs of all positions are projected in one product.
    ///
    /// # Shapes
    /// `x`: `[batch, len, in]`, `padding`: `[batch, len]` → `[batch, len, width]`
    pub fn forward(
        &self,
        x: Tensor<3>,
        padding: Tensor<2, Bool>,
        direction: Direction,
    ) -> Tensor<3> {
        let [batch, _, _] = x.dims();
        let weight = self.weight_hh.val();
        let initial = Tensor::zeros([batch, weight.dims()[1]], &x.device());
        let inputs = self.precision.linear(x, self.weight_ih.val(), Some(self.bias_ih.val()));
        kernels::gru(inputs, weight, self.bias_hh.val(), initial, padding, direction)
    }
}
