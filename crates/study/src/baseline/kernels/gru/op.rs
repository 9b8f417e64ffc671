//! The gated recurrent unit as a fused operation on the CPU.

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::tensor::{Bool, Tensor};
use burnformer_kernels::cpu::{bools, contiguous, dims, floats, tensor};
use burnformer_kernels::op::{FusedOp, Keep, apply};

use super::cpu;
use super::direction::Direction;

/// Computes the states of whole sequences on the CPU.
pub(super) fn gru(
    [weight, initial]: [Tensor<2>; 2],
    inputs: Tensor<3>,
    bias: Tensor<1>,
    padding: Tensor<2, Bool>,
    direction: Direction,
) -> Tensor<3> {
    let op = Gru { padding: bools(padding), direction };
    apply(op, [inputs.into(), weight.into(), bias.into(), initial.into()])
}

#[derive(Debug)]
struct Gru {
    /// `[rows, len]`, not 0 where the state does not change.
    padding: Vec<u8>,
    direction: Direction,
}

/// The inputs and the states (shared, not copied), and the gates.
#[derive(Clone, Debug)]
struct Saved {
    inputs: [FlexTensor; 4],
    padding: Vec<u8>,
    direction: Direction,
    states: FlexTensor,
    tape: Vec<f32>,
}

impl FusedOp<4> for Gru {
    type Backend = Flex;
    type Saved = Saved;

    fn forward(self, inputs: [FlexTensor; 4], _keep: Keep) -> (FlexTensor, Saved) {
        let Self { padding, direction } = self;
        let inputs = inputs.map(contiguous);
        let [rows, len, gates] = dims(&inputs[0]);
        let width = gates / 3;
        let mut states = vec![0.0; rows * len * width];
        let mut tape = vec![0.0; 4 * states.len()];
        if !states.is_empty() {
            read(&inputs, &padding, direction).forward(&mut states, &mut tape);
        }
        let states = tensor(states, [rows, len, width]);
        (states.clone(), Saved { inputs, padding, direction, states, tape })
    }

    fn backward(saved: Saved, grad: FlexTensor, _wanted: [bool; 4]) -> [Option<FlexTensor>; 4] {
        let Saved { inputs, padding, direction, states, tape } = saved;
        let grad = contiguous(grad);
        let own = match floats(&grad).is_empty() {
            true => inputs.each_ref().map(|x| vec![0.0; x.layout().num_elements()]),
            false => {
                let unit = read(&inputs, &padding, direction);
                let own = unit.backward(floats(&states), &tape, floats(&grad));
                [own.inputs, own.weight, own.bias, own.initial]
            }
        };
        let mut inputs = inputs.iter();
        own.map(|own| inputs.next().map(|x| tensor(own, x.layout().shape().clone())))
    }
}

fn read<'a>(inputs: &'a [FlexTensor; 4], padding: &'a [u8], direction: Direction) -> cpu::Gru<'a> {
    let [_, len, gates] = dims(&inputs[0]);
    let [inputs, weight, bias, initial] = inputs.each_ref().map(floats);
    cpu::Gru { len, width: gates / 3, direction, inputs, weight, bias, initial, padding }
}
