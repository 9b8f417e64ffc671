#![allow(clippy::too_many_arguments, reason = "each tensor must be an argument of its own")]

use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::flex::FlexTensor;
use burn::backend::tensor::{BoolTensor, FloatTensor};
use burn::backend::{Autodiff, Backend, Dispatch, Flex, backend_extension};
use burn::tensor::Tensor;
use burnformer_kernels::internal::{bools, contiguous, floats, tensor};

use super::AttentiveGru as Given;
use super::cpu::{self, Shape, Tape};

#[backend_extension(Flex, Autodiff)]
pub(crate) trait AttentiveGru: Backend {
    fn fused_attentive_gru(
        inputs: FloatTensor<Self>,
        context_weight: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        query_weight: FloatTensor<Self>,
        energy: FloatTensor<Self>,
        keys: FloatTensor<Self>,
        memory: FloatTensor<Self>,
        initial: FloatTensor<Self>,
        padding: BoolTensor<Self>,
    ) -> FloatTensor<Self>;
}

/// The extension behind high-level tensors.
pub(crate) fn fused(given: Given) -> Tensor<3> {
    Tensor::from_dispatch(<Dispatch as AttentiveGru>::fused_attentive_gru(
        given.inputs.into_dispatch(),
        given.context_weight.into_dispatch(),
        given.weight.into_dispatch(),
        given.bias.into_dispatch(),
        given.query_weight.into_dispatch(),
        given.energy.into_dispatch(),
        given.keys.into_dispatch(),
        given.memory.into_dispatch(),
        given.initial.into_dispatch(),
        given.padding.into_dispatch(),
    ))
}

impl AttentiveGru for Flex {
    fn fused_attentive_gru(
        inputs: FlexTensor,
        context_weight: FlexTensor,
        weight: FlexTensor,
        bias: FlexTensor,
        query_weight: FlexTensor,
        energy: FlexTensor,
        keys: FlexTensor,
        memory: FlexTensor,
        initial: FlexTensor,
        padding: FlexTensor,
    ) -> FlexTensor {
        let unit = [context_weight, weight, bias, query_weight, energy];
        State::forward(join(inputs, unit, [keys, memory, initial]), padding).0
    }
}

impl<C: CheckpointStrategy> AttentiveGru for Autodiff<Flex, C> {
    fn fused_attentive_gru(
        inputs: FloatTensor<Self>,
        context_weight: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        query_weight: FloatTensor<Self>,
        energy: FloatTensor<Self>,
        keys: FloatTensor<Self>,
        memory: FloatTensor<Self>,
        initial: FloatTensor<Self>,
        padding: FlexTensor,
    ) -> FloatTensor<Self> {
        let unit = [context_weight, weight, bias, query_weight, energy];
        let all = join(inputs, unit, [keys, memory, initial]);
        let parents = all.each_ref().map(|x| x.node());
        let prepared = AttentiveGruBackward.prepare::<C>(parents).compute_bound().stateful();
        let (output, state) = State::forward(all.map(|x| x.into_primitive()), padding);
        match prepared {
            OpsKind::Tracked(prepared) => prepared.finish(state, output),
            OpsKind::UnTracked(prepared) => prepared.finish(output),
        }
    }
}

/// All inputs in the order of the fields of [`Given`].
fn join<T>(inputs: T, [a, b, c, d, e]: [T; 5], [f, g, h]: [T; 3]) -> [T; 9] {
    [inputs, a, b, c, d, e, f, g, h]
}

/// The inputs and the output, which are shared and not copied, and what is kept of each position.
#[derive(Clone, Debug)]
struct State {
    inputs: [FlexTensor; 9],
    padding: Vec<u8>,
    output: FlexTensor,
    tape: Tape,
}

impl State {
    fn forward(inputs: [FlexTensor; 9], padding: FlexTensor) -> (FlexTensor, Self) {
        let inputs = inputs.map(contiguous);
        let padding = bools(&padding);
        let given = read(&inputs, &padding);
        let shape = given.shape;
        let (output, tape) = match shape.rows * shape.len {
            0 => (Vec::new(), Tape::default()),
            _ => given.forward(),
        };
        let output = tensor(output, [shape.rows, shape.len, shape.output()]);
        (output.clone(), Self { inputs, padding, output, tape })
    }
}

fn read<'a>(inputs: &'a [FlexTensor; 9], padding: &'a [u8]) -> cpu::Given<'a> {
    let [rows, len, gates] = inputs[0].layout().shape().dims();
    let [sentences, places, attention] = inputs[6].layout().shape().dims();
    let [_, _, features] = inputs[7].layout().shape().dims();
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

#[derive(Debug)]
struct AttentiveGruBackward;

impl Backward<Flex, 9> for AttentiveGruBackward {
    type State = State;

    fn backward(self, ops: Ops<State, 9>, grads: &mut Gradients, _checkpointer: &mut Checkpointer) {
        let grad = contiguous(grads.consume::<Flex>(&ops.node));
        let State { inputs, padding, output, tape } = &ops.state;
        let own = match floats(&grad).is_empty() {
            true => inputs.each_ref().map(|x| vec![0.0; x.layout().num_elements()]),
            false => {
                let given = read(inputs, padding);
                let own = given.backward(floats(output), tape, floats(&grad));
                let unit = [own.context_weight, own.weight, own.bias, own.query_weight, own.energy];
                join(own.inputs, unit, [own.keys, own.memory, own.initial])
            }
        };
        for ((parent, grad), input) in ops.parents.into_iter().zip(own).zip(inputs) {
            if let Some(parent) = parent {
                grads.register::<Flex>(parent.id, tensor(grad, input.layout().shape().clone()));
            }
        }
    }
}
