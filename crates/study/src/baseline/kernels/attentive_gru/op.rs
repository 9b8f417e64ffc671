//! The recurrent unit with attention as a fused operation on the CPU.

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::tensor::Tensor;
use burnformer_kernels::cpu::{bools, contiguous, dims, floats, tensor};
use burnformer_kernels::op::{FusedOp, Keep, Operand, apply};

use super::cpu::{self, Shape, Tape};
use super::given::AttentiveGru;

/// Computes states and contexts of whole sequences on the CPU.
pub(super) fn attentive_gru(given: AttentiveGru) -> Tensor<3> {
    let inputs: [Operand; 9] = [
        given.inputs.into(),
        given.context_weight.into(),
        given.weight.into(),
        given.bias.into(),
        given.query_weight.into(),
        given.energy.into(),
        given.keys.into(),
        given.memory.into(),
        given.initial.into(),
    ];
    apply(Unit { padding: bools(given.padding) }, inputs)
}

#[derive(Debug)]
struct Unit {
    /// `[sentences, places]`, not 0 where a position is hidden.
    padding: Vec<u8>,
}

/// The inputs and the output (shared, not copied), and what the backward pass needs of each position.
#[derive(Clone, Debug)]
struct Saved {
    inputs: [FlexTensor; 9],
    padding: Vec<u8>,
    output: FlexTensor,
    tape: Tape,
}

impl FusedOp<9> for Unit {
    type Backend = Flex;
    type Saved = Saved;

    fn forward(self, inputs: [FlexTensor; 9], _keep: Keep) -> (FlexTensor, Saved) {
        let (inputs, padding) = (inputs.map(contiguous), self.padding);
        let given = read(&inputs, &padding);
        let shape = given.shape;
        let (output, tape) = match shape.rows * shape.len {
            0 => (Vec::new(), Tape::default()),
            _ => given.forward(),
        };
        let output = tensor(output, [shape.rows, shape.len, shape.output()]);
        (output.clone(), Saved { inputs, padding, output, tape })
    }

    fn backward(saved: Saved, grad: FlexTensor, _wanted: [bool; 9]) -> [Option<FlexTensor>; 9] {
        let Saved { inputs, padding, output, tape } = saved;
        let grad = contiguous(grad);
        let own = match floats(&grad).is_empty() {
            true => inputs.each_ref().map(|x| vec![0.0; x.layout().num_elements()]),
            false => {
                let given = read(&inputs, &padding);
                in_order(given.backward(floats(&output), &tape, floats(&grad)))
            }
        };
        let mut inputs = inputs.iter();
        own.map(|own| inputs.next().map(|x| tensor(own, x.layout().shape().clone())))
    }
}

/// The gradients in the order of the inputs.
fn in_order(own: cpu::Gradients) -> [Vec<f32>; 9] {
    [
        own.inputs,
        own.context_weight,
        own.weight,
        own.bias,
        own.query_weight,
        own.energy,
        own.keys,
        own.memory,
        own.initial,
    ]
}

fn read<'a>(inputs: &'a [FlexTensor; 9], padding: &'a [u8]) -> cpu::Given<'a> {
    let [rows, len, gates] = dims(&inputs[0]);
    let [sentences, places, attention] = dims(&inputs[6]);
    let [_, _, features] = dims(&inputs[7]);
    let width = gates / 3;
    let shape = Shape { rows, len, width, sentences, places, attention, features };
    let [inputs, context_weight, weight, bias, query_weight, energy, keys, memory, initial] =
        inputs.each_ref().map(floats);
    cpu::Given {
        shape,
        inputs,
        context_weight,
        weight,
        bias,
        query_weight,
        energy,
        keys,
        memory,
        initial,
        padding,
    }
}
