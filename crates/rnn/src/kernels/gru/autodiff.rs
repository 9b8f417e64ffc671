use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::flex::FlexTensor;
use burn::backend::tensor::{BoolTensor, FloatTensor};
use burn::backend::{Autodiff, Backend, Dispatch, Flex, backend_extension};
use burn::tensor::{Bool, Tensor};
use burnformer_kernels::internal::{bools, contiguous, floats, tensor};

use super::{Direction, cpu};

#[backend_extension(Flex, Autodiff)]
pub(crate) trait Gru: Backend {
    fn fused_gru(
        inputs: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        initial: FloatTensor<Self>,
        padding: BoolTensor<Self>,
        direction: Direction,
    ) -> FloatTensor<Self>;
}

/// The extension behind high-level tensors.
pub(crate) fn fused(
    [weight, initial]: [Tensor<2>; 2],
    inputs: Tensor<3>,
    bias: Tensor<1>,
    padding: Tensor<2, Bool>,
    direction: Direction,
) -> Tensor<3> {
    let (inputs, bias) = (inputs.into_dispatch(), bias.into_dispatch());
    let (weight, initial) = (weight.into_dispatch(), initial.into_dispatch());
    let padding = padding.into_dispatch();
    let states = <Dispatch as Gru>::fused_gru(inputs, weight, bias, initial, padding, direction);
    Tensor::from_dispatch(states)
}

impl Gru for Flex {
    fn fused_gru(
        inputs: FlexTensor,
        weight: FlexTensor,
        bias: FlexTensor,
        initial: FlexTensor,
        padding: FlexTensor,
        direction: Direction,
    ) -> FlexTensor {
        State::forward([inputs, weight, bias, initial], padding, direction).0
    }
}

impl<C: CheckpointStrategy> Gru for Autodiff<Flex, C> {
    fn fused_gru(
        inputs: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        initial: FloatTensor<Self>,
        padding: FlexTensor,
        direction: Direction,
    ) -> FloatTensor<Self> {
        let parents = [inputs.node(), weight.node(), bias.node(), initial.node()];
        let prepared = GruBackward.prepare::<C>(parents).compute_bound().stateful();
        let inputs = [inputs, weight, bias, initial].map(|x| x.into_primitive());
        let (states, state) = State::forward(inputs, padding, direction);
        match prepared {
            OpsKind::Tracked(prepared) => prepared.finish(state, states),
            OpsKind::UnTracked(prepared) => prepared.finish(states),
        }
    }
}

/// The inputs and the states, which are shared and not copied, and the gates.
#[derive(Clone, Debug)]
struct State {
    inputs: [FlexTensor; 4],
    padding: Vec<u8>,
    direction: Direction,
    states: FlexTensor,
    tape: Vec<f32>,
}

impl State {
    fn forward(
        inputs: [FlexTensor; 4],
        padding: FlexTensor,
        direction: Direction,
    ) -> (FlexTensor, Self) {
        let inputs = inputs.map(contiguous);
        let [rows, len, gates] = inputs[0].layout().shape().dims();
        let width = gates / 3;
        let mut states = vec![0.0; rows * len * width];
        let mut tape = vec![0.0; 4 * states.len()];
        let padding = bools(&padding);
        if !states.is_empty() {
            read(&inputs, &padding, direction).forward(&mut states, &mut tape);
        }
        let states = tensor(states, [rows, len, width]);
        (states.clone(), Self { inputs, padding, direction, states, tape })
    }
}

fn read<'a>(inputs: &'a [FlexTensor; 4], padding: &'a [u8], direction: Direction) -> cpu::Gru<'a> {
    let [_, len, gates] = inputs[0].layout().shape().dims();
    let [inputs, weight, bias, initial] = inputs.each_ref().map(floats);
    cpu::Gru { len, width: gates / 3, direction, inputs, weight, bias, initial, padding }
}

#[derive(Debug)]
struct GruBackward;

impl Backward<Flex, 4> for GruBackward {
    type State = State;

    fn backward(self, ops: Ops<State, 4>, grads: &mut Gradients, _checkpointer: &mut Checkpointer) {
        let grad = contiguous(grads.consume::<Flex>(&ops.node));
        let State { inputs, padding, direction, states, tape } = &ops.state;
        let own = match floats(&grad).is_empty() {
            true => inputs.each_ref().map(|x| vec![0.0; x.layout().num_elements()]),
            false => {
                let unit = read(inputs, padding, *direction);
                let own = unit.backward(floats(states), tape, floats(&grad));
                [own.inputs, own.weight, own.bias, own.initial]
            }
        };
        for ((parent, grad), input) in ops.parents.into_iter().zip(own).zip(inputs) {
            if let Some(parent) = parent {
                grads.register::<Flex>(parent.id, tensor(grad, input.layout().shape().clone()));
            }
        }
    }
}
