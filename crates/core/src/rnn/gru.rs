use crate::{Precision, RandomKey, init};
use burn::module::{Module, Param};
use burn::tensor::activation::sigmoid;
use burn::tensor::{Bool, Device, Tensor};
use burnformer_kernels::{Epilogue, linear_with};

/// A gated recurrent unit (Cho et al., 2014) with the weights of `torch.nn.GRU`: the gates are in
/// the order reset, update, new.
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
    /// Creates a unit for `input` features with states of `width`. The weights are Xavier-uniform,
    /// a function of `key`; biases are zero.
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

    /// Returns the states after each position of whole sequences, starting from a state of zeros. A
    /// padded position (`true`) does not change the state. The inputs of all positions are
    /// projected in one product.
    ///
    /// # Shapes
    /// `x`: `[batch, len, in]`, `padding`: `[batch, len]` → `[batch, len, width]`
    pub fn forward(&self, x: Tensor<3>, padding: Tensor<2, Bool>) -> Tensor<3> {
        let [batch, len, _] = x.dims();
        let [_, width] = self.weight_hh.dims();
        let mut state = Tensor::zeros([batch, width], (&x.device(), x.dtype()));
        let next = self.recurrence();
        let inputs = self.inputs(x, self.weight_ih.val());
        let mut states = Vec::with_capacity(len);
        for index in 0..len {
            let is_padding = padding
                .clone()
                .slice([0..batch, index..index + 1])
                .expand([batch, width]);
            state = next(at(&inputs, index), state.clone()).mask_where(is_padding, state);
            states.push(state.clone());
        }
        Tensor::stack(states, 1)
    }

    /// Returns the projected inputs W·x + b, in the precision of the unit. `weight` holds the
    /// columns of W for `x`.
    pub(super) fn inputs(&self, x: Tensor<3>, weight: Tensor<2>) -> Tensor<3> {
        linear_with(
            x,
            weight,
            Some(self.bias_ih.val()),
            Epilogue::None,
            self.precision,
        )
    }

    /// The step of the unit, from x = W·input + b, `[rows, 3·width]`, and the state h,
    /// `[rows, width]`, to the next state: r = σ(x_r + U_r·h + b_r), z = σ(x_z + U_z·h + b_z),
    /// n = tanh(x_n + r ∘ (U_n·h + b_n)), h' = (1 − z) ∘ n + z ∘ h.
    ///
    /// The weights U are transposed here, once for all steps.
    pub fn recurrence(&self) -> impl Fn(Tensor<2>, Tensor<2>) -> Tensor<2> + use<> {
        let weight = by_rows(self.weight_hh.val());
        let bias = self.bias_hh.val().unsqueeze::<2>();
        move |input, state| {
            let [_, width] = state.dims();
            let past = state.clone().matmul(weight.clone()) + bias.clone();
            let [x_r, x_z, x_n] = gates(&input, width);
            let [h_r, h_z, h_n] = gates(&past, width);
            let reset = sigmoid(x_r + h_r);
            let update = sigmoid(x_z + h_z);
            let new = (x_n + reset * h_n).tanh();
            (state - new.clone()) * update + new
        }
    }
}

/// Returns the parts of the three gates: `[rows, 3·width]` → `[rows, width]` each.
fn gates(x: &Tensor<2>, width: usize) -> [Tensor<2>; 3] {
    [0, 1, 2].map(|n| x.clone().slice_dim(1, n * width..(n + 1) * width))
}

/// Returns the transposed `weight`, `[out, in]` → `[in, out]`. The multiplication writes it row by
/// row, so that no step has to rearrange it.
pub(super) fn by_rows(weight: Tensor<2>) -> Tensor<2> {
    weight.transpose().mul_scalar(1.0)
}

/// Returns the values of `x` at position `index`: `[rows, len, features]` → `[rows, features]`.
pub(super) fn at(x: &Tensor<3>, index: usize) -> Tensor<2> {
    x.clone().slice_dim(1, index..index + 1).squeeze_dim(1)
}
