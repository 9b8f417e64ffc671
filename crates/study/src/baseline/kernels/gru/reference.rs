use burn::tensor::activation::sigmoid;
use burn::tensor::{Bool, Tensor};
use burnformer_kernels::reference::linear;

use super::direction::Direction;

/// The operation [`gru`](super::gru) in plain tensors.
pub fn gru(
    inputs: Tensor<3>,
    weight: Tensor<2>,
    bias: Tensor<1>,
    initial: Tensor<2>,
    padding: Tensor<2, Bool>,
    direction: Direction,
) -> Tensor<3> {
    let ([rows, len, _], [_, width]) = (inputs.dims(), initial.dims());
    let mut state = initial;
    let mut states: Vec<Tensor<2>> = Vec::with_capacity(len);
    for place in direction.places(len) {
        let next = cell(at(&inputs, place), state.clone(), &weight, &bias);
        let still = padding.clone().slice([0..rows, place..place + 1]).expand([rows, width]);
        state = next.mask_where(still, state);
        states.push(state.clone());
    }
    if direction == Direction::Backward {
        states.reverse();
    }
    Tensor::stack(states, 1)
}

/// The values of `x` at position `place`: `[rows, len, features]` → `[rows, features]`.
pub(in crate::baseline::kernels) fn at(x: &Tensor<3>, place: usize) -> Tensor<2> {
    let [rows, _, features] = x.dims();
    x.clone().slice([0..rows, place..place + 1, 0..features]).reshape([rows, features])
}

/// The next state after `state` (`[rows, width]`), given the part of the gates that comes from the input,
/// `[rows, 3·width]`.
pub(in crate::baseline::kernels) fn cell(
    input: Tensor<2>,
    state: Tensor<2>,
    weight: &Tensor<2>,
    bias: &Tensor<1>,
) -> Tensor<2> {
    let [rows, width] = state.dims();
    let own = linear(state.clone(), weight.clone(), Some(bias.clone()));
    let gate = |x: &Tensor<2>, n: usize| x.clone().slice([0..rows, n * width..(n + 1) * width]);
    let reset = sigmoid(gate(&input, 0) + gate(&own, 0));
    let update = sigmoid(gate(&input, 1) + gate(&own, 1));
    let new = (gate(&input, 2) + reset * gate(&own, 2)).tanh();
    (state - new.clone()) * update + new
}
