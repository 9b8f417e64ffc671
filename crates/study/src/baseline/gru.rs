use burn::module::{Module, Param};
use burn::tensor::{Bool, Device, Tensor};
use burnformer_core::{Precision, RandomKey, init};

use crate::baseline::kernels::{self, Direction};

/// A gated recurrent unit (Cho et al., 2014) with the weights of `torch.nn.GRU`, whose gates are in the order reset,
/// update, new.
#[derive(Module, Debug)]
pub struct Gru {
    /// Weights of the input, `[3·width, in]`.
    pub weight_ih: Param<Tensor<2>>,
    /// Weights of the state, `[3·width, width]`.
    pub weight_hh: Param<Tensor<2>>,
    /// Bias of the input, `[3·width]`.
    pub bias_ih: Param<Tensor<1>>,
    /// Bias of the state, `[3·width]`.
    pub bias_hh: Param<Tensor<1>>,
    /// Number type of the product of the inputs.
    #[module(skip)]
    pub(super) precision: Precision,
}

impl Gru {
    /// A unit for `input` features with states of `width`. The weights are Xavier-uniform, a function of `key`;
    /// biases are zero.
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

    /// The states after each position of whole sequences, starting from a state of zeros. A padded position (`true`)
    /// does not change the state. The inputs of all positions are projected in one product.
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
