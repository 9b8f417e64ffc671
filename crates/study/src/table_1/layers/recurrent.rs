use burn::tensor::activation::{sigmoid, tanh};
use burn::tensor::{Device, Distribution, Tensor};
use burnformer_kernels::linear;

/// The output of a layer.
#[derive(Clone, Debug)]
pub struct Output {
    /// The output sequence, `[batch, len, d]`.
    pub states: Tensor<3>,
    /// The number of sequential steps.
    pub steps: usize,
}

/// Normally distributed random weights with variance 1/`inputs`.
pub(super) fn random<const D: usize>(
    shape: [usize; D],
    inputs: usize,
    device: &Device,
) -> Tensor<D> {
    let std = (inputs as f64).powf(-0.5);
    Tensor::random(shape, Distribution::Normal(0.0, std), device)
}

/// The gates of a recurrence. The part that comes from the inputs is one matrix product for all
/// positions; the part that comes from the state must wait for the state before.
#[derive(Debug)]
pub(super) struct Recurrent {
    /// Weights of the inputs, `[gates·d, d]`.
    input: Tensor<2>,
    /// Weights of the state, `[d, gates·d]`, transposed for the product of a step.
    state: Tensor<2>,
    /// The bias, `[gates·d]`.
    bias: Tensor<1>,
    d: usize,
}

impl Recurrent {
    /// A recurrence with `gates` gates and random weights.
    pub(super) fn new(gates: usize, d: usize, device: &Device) -> Self {
        Self {
            input: random([gates * d, d], d, device),
            state: random([d, gates * d], d, device),
            bias: Tensor::zeros([gates * d], device),
            d,
        }
    }

    /// The part of the gates that comes from the inputs, one `[batch, gates·d]` per position.
    fn inputs(&self, x: Tensor<3>) -> Vec<Tensor<2>> {
        let [batch, len, _] = x.dims();
        let all = linear(x, self.input.clone(), Some(self.bias.clone()));
        let width = all.dims()[2];
        let at = |t| all.clone().slice([0..batch, t..t + 1, 0..width]).reshape([batch, width]);
        (0..len).map(at).collect()
    }

    fn states(&self, state: &Tensor<2>) -> Tensor<2> {
        state.clone().matmul(self.state.clone())
    }

    /// Long short-term memory (LSTM): input, forget and output gates around a cell.
    pub(super) fn lstm(&self, x: Tensor<3>) -> Output {
        let [batch, _, d] = x.dims();
        let zero = Tensor::zeros([batch, d], &x.device());
        let (mut state, mut cell): (Tensor<2>, Tensor<2>) = (zero.clone(), zero);
        let step = |input: Tensor<2>| {
            let gates = input + self.states(&state);
            let part = |index| gate(&gates, index, self.d);
            let kept = sigmoid(part(0)) * cell.clone();
            cell = kept + sigmoid(part(1)) * tanh(part(2));
            state = sigmoid(part(3)) * tanh(cell.clone());
            state.clone()
        };
        stacked(self.inputs(x).into_iter().map(step).collect())
    }

    /// Gated recurrent unit (GRU): reset and update gates around the state.
    pub(super) fn gru(&self, x: Tensor<3>) -> Output {
        let [batch, _, d] = x.dims();
        let mut state: Tensor<2> = Tensor::zeros([batch, d], &x.device());
        let step = |input: Tensor<2>| {
            let past = self.states(&state);
            let both = |index| gate(&input, index, self.d) + gate(&past, index, self.d);
            let (reset, update) = (sigmoid(both(0)), sigmoid(both(1)));
            let new = tanh(gate(&input, 2, self.d) + reset * gate(&past, 2, self.d));
            state = new.clone() + update * (state.clone() - new);
            state.clone()
        };
        stacked(self.inputs(x).into_iter().map(step).collect())
    }
}

/// Joins the states of all positions into an output with one step per position.
fn stacked(states: Vec<Tensor<2>>) -> Output {
    let steps = states.len();
    Output { states: Tensor::stack(states, 1), steps }
}

/// The values of gate number `index` in `gates` (`[batch, gates·d]`).
fn gate(gates: &Tensor<2>, index: usize, d: usize) -> Tensor<2> {
    let batch = gates.dims()[0];
    gates.clone().slice([0..batch, index * d..(index + 1) * d])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last(x: &Tensor<3>, t: usize) -> Vec<f32> {
        let [batch, _, d] = x.dims();
        x.clone().slice([0..batch, t..t + 1, 0..d]).into_data().iter::<f32>().collect()
    }

    /// The equations once more, number by number.
    #[test]
    fn the_first_states_are_those_of_the_equations() {
        let device = Device::default();
        let x: Tensor<3> = Tensor::random([1, 1, 1], Distribution::Normal(0.0, 1.0), &device);
        let value = |x: Tensor<2>| x.into_data().iter::<f32>().collect::<Vec<_>>();
        let input: f32 = x.clone().into_data().iter::<f32>().next().unwrap();
        let sigmoid = |x: f32| 1.0 / (1.0 + (-x).exp());
        let lstm = Recurrent::new(4, 1, &device);
        let w = value(lstm.input.clone());
        let cell = sigmoid(w[1] * input) * (w[2] * input).tanh();
        let expected = sigmoid(w[3] * input) * cell.tanh();
        let actual = last(&lstm.lstm(x.clone()).states, 0)[0];
        assert!((actual - expected).abs() < 1e-6, "{actual} {expected}");
        let gru = Recurrent::new(3, 1, &device);
        let w = value(gru.input.clone());
        let expected = (1.0 - sigmoid(w[1] * input)) * (w[2] * input).tanh();
        let actual = last(&gru.gru(x).states, 0)[0];
        assert!((actual - expected).abs() < 1e-6, "{actual} {expected}");
    }

    #[test]
    fn a_state_depends_on_what_came_before_and_not_on_what_comes_after() {
        let device = Device::default();
        let x = Tensor::random([1, 4, 8], Distribution::Normal(0.0, 1.0), &device);
        let other = x.clone().slice_assign([0..1, 2..3, 0..8], Tensor::ones([1, 1, 8], &device));
        let (lstm, gru) = (Recurrent::new(4, 8, &device), Recurrent::new(3, 8, &device));
        let layers: [&dyn Fn(Tensor<3>) -> Output; 2] = [&|x| lstm.lstm(x), &|x| gru.gru(x)];
        for forward in layers {
            let (a, b) = (forward(x.clone()).states, forward(other.clone()).states);
            assert_eq!(last(&a, 1), last(&b, 1));
            assert!(last(&a, 2) != last(&b, 2) && last(&a, 3) != last(&b, 3));
        }
    }
}
