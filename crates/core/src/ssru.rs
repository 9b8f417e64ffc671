//! A recurrent unit instead of a decoder's self-attention.

use burn::module::Module;
use burn::tensor::{Device, Tensor, activation};
use burnformer_kernels::RandomKey;

use crate::cost::Cost;
use crate::linear::{Linear, LinearConfig};
use crate::mask::row_ids;
use crate::parameters::NamedAs;

/// The simpler simple recurrent unit (SSRU) of Kim et al., 2019, *From Research to Production and
/// Back*: it replaces the decoder's self-attention in Marian's student models, such as Firefox's.
///
/// c = σ(f) ⊙ c₋₁ + (1 − σ(f)) ⊙ W·x with f = W_f·x + b_f; the output is max(0, c). A step costs
/// two products for any length of the target.
#[derive(Module, Debug)]
pub struct Ssru {
    named_as_ssru: NamedAs,
    /// W: `d_model → d_model`, without bias.
    pub candidate: Linear,
    /// W_f and b_f: `d_model → d_model`.
    pub gate: Linear,
}

/// The cell c of each hypothesis after the positions decoded so far, `[rows, 1, d_model]`; `None`
/// before the first.
#[derive(Clone, Debug, Default)]
pub struct SsruState(Option<Tensor<3>>);

impl SsruState {
    /// Row i continues the hypothesis that was in row `rows[i]`.
    pub fn select(&mut self, rows: &[usize]) {
        if let Some(cell) = &mut self.0 {
            *cell = cell.clone().select(0, row_ids(rows, &cell.device()));
        }
    }
}

impl Ssru {
    /// Creates a unit over `d_model` features; its initial weights are a function of `key`.
    pub fn new(d_model: usize, key: RandomKey, device: &Device) -> Self {
        Self {
            named_as_ssru: NamedAs {},
            candidate: Linear::without_bias(d_model, d_model, key.fold(0), device),
            gate: Linear::new(d_model, d_model, key.fold(1), device),
        }
    }

    /// Returns the cost of a unit over `d_model` features. It keeps its input, both products, the
    /// gate, its complement, the cell and the output.
    pub fn cost(d_model: usize) -> Cost {
        let [candidate, gate] =
            [false, true].map(|bias| LinearConfig::new(d_model, d_model).with_bias(bias).cost());
        Cost {
            activations: 7 * d_model,
            ..candidate + gate
        }
    }

    /// Runs the recurrence over the positions of `x`, from `state`, or from zeros if it is empty.
    /// Returns the ReLU of the cell at each position, and leaves the last cell in `state`.
    ///
    /// # Shapes
    /// `x`: `[rows, new_len, d_model]` → `[rows, new_len, d_model]`
    pub fn forward(&self, x: Tensor<3>, state: &mut SsruState) -> Tensor<3> {
        let [rows, len, d_model] = x.dims();
        let keep = activation::sigmoid(self.gate.forward(x.clone()));
        let new = (keep.clone().neg() + 1.0) * self.candidate.forward(x);
        let mut cell = match state.0.take() {
            Some(cell) => cell,
            None => Tensor::zeros([rows, 1, d_model], (&new.device(), new.dtype())),
        };
        let mut cells = Vec::with_capacity(len);
        for position in 0..len {
            let range = [0..rows, position..position + 1, 0..d_model];
            cell = keep.clone().slice(range.clone()) * cell + new.clone().slice(range);
            cells.push(cell.clone());
        }
        state.0 = Some(cell);
        activation::relu(Tensor::cat(cells, 1))
    }

    /// Returns the linear maps of the candidate and of the gate, to be packed or set to a
    /// precision.
    pub fn linears_mut(&mut self) -> impl Iterator<Item = &mut Linear> {
        [&mut self.candidate, &mut self.gate].into_iter()
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::TensorData;

    use super::*;

    /// By hand, for one feature: W 2, W_f 1, b_f 0.5.
    #[test]
    fn the_cell_forgets_by_its_gate_and_the_output_is_never_negative() {
        let device = Device::default();
        let mut unit = Ssru::new(1, RandomKey::new(1), &device);
        let weight = |x: f32| burn::module::Param::from_tensor(Tensor::from_floats([[x]], &device));
        unit.candidate.weight = weight(2.0);
        unit.gate.weight = weight(1.0);
        let bias = Tensor::<1>::from_floats([0.5], &device);
        unit.gate.bias = Some(burn::module::Param::from_tensor(bias));
        let inputs = [1.0f32, -3.0, 0.5];
        let x = Tensor::<1>::from_floats(inputs, &device).reshape([1, 3, 1]);
        let output = unit.forward(x, &mut SsruState::default()).into_data();
        let mut cell = 0.0;
        for (x, output) in inputs.into_iter().zip(output.iter::<f32>()) {
            let keep = 1.0 / (1.0 + (-(x + 0.5)).exp());
            cell = keep * cell + (1.0 - keep) * 2.0 * x;
            assert!((output - cell.max(0.0)).abs() < 1e-6, "{output} {cell}");
        }
    }

    #[test]
    fn steps_from_selected_rows_equal_the_whole_sequence() {
        let device = Device::default();
        let unit = Ssru::new(4, RandomKey::new(1), &device);
        let values = RandomKey::new(2).normal(2 * 5 * 4);
        let x = Tensor::<3>::from_data(TensorData::new(values, [2, 5, 4]), &device);
        let whole = unit.forward(x.clone(), &mut SsruState::default());
        let mut state = SsruState::default();
        unit.forward(x.clone().slice([0..2, 0..2, 0..4]), &mut state);
        state.select(&[1]);
        let rest = unit.forward(x.slice([1..2, 2..5, 0..4]), &mut state);
        rest.into_data()
            .assert_eq(&whole.slice([1..2, 2..5, 0..4]).into_data(), true);
    }
}
