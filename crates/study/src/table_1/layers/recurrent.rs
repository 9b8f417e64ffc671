use burn::tensor::activation::{sigmoid, tanh};
use burn::tensor::{Device, Tensor};
use burnformer_kernels::linear;

use super::output::{Output, random};

/// The gates of a recurrence. The part that comes from the inputs is one matrix product for all
/// positions; the part that comes from the state must wait for the state before.
#[derive(Debug)]
struct Gates {
    /// Weights of the inputs, `[gates·d, d]`.
    input: Tensor<2>,
    /// Weights of the state, `[d, gates·d]`, transposed for the product of a step.
    state: Tensor<2>,
    /// The bias, `[gates·d]`.
    bias: Tensor<1>,
}

impl Gates {
    fn new(gates: usize, d: usize, device: &Device) -> Self {
        Self {
            input: random([gates * d, d], d, device),
            state: random([d, gates * d], d, device),
            bias: Tensor::zeros([gates * d], device),
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

/// Long short-term memory (LSTM): input, forget and output gates around a cell.
#[derive(Debug)]
pub(super) struct Lstm {
    gates: Gates,
    d: usize,
}

impl Lstm {
    pub(super) fn new(d: usize, device: &Device) -> Self {
        Self { gates: Gates::new(4, d, device), d }
    }

    pub(super) fn forward(&self, x: Tensor<3>) -> Output {
        let [batch, _, d] = x.dims();
        let zero = Tensor::zeros([batch, d], &x.device());
        let (mut state, mut cell): (Tensor<2>, Tensor<2>) = (zero.clone(), zero);
        let step = |input: Tensor<2>| {
            let gates = input + self.gates.states(&state);
            let part = |index| gate(&gates, index, self.d);
            let kept = sigmoid(part(0)) * cell.clone();
            cell = kept + sigmoid(part(1)) * tanh(part(2));
            state = sigmoid(part(3)) * tanh(cell.clone());
            state.clone()
        };
        stacked(self.gates.inputs(x).into_iter().map(step).collect())
    }
}

/// Gated recurrent unit (GRU): reset and update gates around the state.
#[derive(Debug)]
pub(super) struct Gru {
    gates: Gates,
    d: usize,
}

impl Gru {
    pub(super) fn new(d: usize, device: &Device) -> Self {
        Self { gates: Gates::new(3, d, device), d }
    }

    pub(super) fn forward(&self, x: Tensor<3>) -> Output {
        let [batch, _, d] = x.dims();
        let mut state: Tensor<2> = Tensor::zeros([batch, d], &x.device());
        let step = |input: Tensor<2>| {
            let past = self.gates.states(&state);
            let both = |index| gate(&input, index, self.d) + gate(&past, index, self.d);
            let (reset, update) = (sigmoid(both(0)), sigmoid(both(1)));
            let new = tanh(gate(&input, 2, self.d) + reset * gate(&past, 2, self.d));
            state = new.clone() + update * (state.clone() - new);
            state.clone()
        };
        stacked(self.gates.inputs(x).into_iter().map(step).collect())
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Distribution;

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
        let lstm = Lstm::new(1, &device);
        let w = value(lstm.gates.input.clone());
        let cell = sigmoid(w[1] * input) * (w[2] * input).tanh();
        let expected = sigmoid(w[3] * input) * cell.tanh();
        let actual = last(&lstm.forward(x.clone()).states, 0)[0];
        assert!((actual - expected).abs() < 1e-6, "{actual} {expected}");
        let gru = Gru::new(1, &device);
        let w = value(gru.gates.input.clone());
        let expected = (1.0 - sigmoid(w[1] * input)) * (w[2] * input).tanh();
        let actual = last(&gru.forward(x).states, 0)[0];
        assert!((actual - expected).abs() < 1e-6, "{actual} {expected}");
    }

    #[test]
    fn a_state_depends_on_what_came_before_and_not_on_what_comes_after() {
        let device = Device::default();
        let x = Tensor::random([1, 4, 8], Distribution::Normal(0.0, 1.0), &device);
        let other = x.clone().slice_assign([0..1, 2..3, 0..8], Tensor::ones([1, 1, 8], &device));
        let (lstm, gru) = (Lstm::new(8, &device), Gru::new(8, &device));
        let layers: [&dyn Fn(Tensor<3>) -> Output; 2] = [&|x| lstm.forward(x), &|x| gru.forward(x)];
        for forward in layers {
            let (a, b) = (forward(x.clone()).states, forward(other.clone()).states);
            assert_eq!(last(&a, 1), last(&b, 1));
            assert!(last(&a, 2) != last(&b, 2) && last(&a, 3) != last(&b, 3));
        }
    }
}
