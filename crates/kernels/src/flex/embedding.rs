use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind, unary};
use burn::backend::flex::FlexTensor;
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::backend::{Autodiff, Backend, Dispatch, Flex, backend_extension};
use burn::tensor::{Int, Tensor};

use super::storage::{contiguous, floats, integers, tensor};
use crate::slices::embedding as slices;

#[backend_extension(Flex, Autodiff)]
pub(crate) trait Embedding: Backend {
    fn scaled_embedding(
        weight: FloatTensor<Self>,
        ids: IntTensor<Self>,
        scale: f64,
    ) -> FloatTensor<Self>;
}

/// The extension behind high-level tensors.
pub(crate) fn fused(weight: Tensor<2>, ids: Tensor<2, Int>, scale: f64) -> Tensor<3> {
    let (weight, ids) = (weight.into_dispatch(), ids.into_dispatch());
    Tensor::from_dispatch(<Dispatch as Embedding>::scaled_embedding(weight, ids, scale))
}

impl Embedding for Flex {
    fn scaled_embedding(weight: FlexTensor, ids: FlexTensor, scale: f64) -> FlexTensor {
        forward(weight, ids, scale).0
    }
}

impl<C: CheckpointStrategy> Embedding for Autodiff<Flex, C> {
    fn scaled_embedding(
        weight: FloatTensor<Self>,
        ids: FlexTensor,
        scale: f64,
    ) -> FloatTensor<Self> {
        let prepared = EmbeddingBackward.prepare::<C>([weight.node()]).compute_bound();
        let (output, state) = forward(weight.into_primitive(), ids, scale);
        match prepared.stateful() {
            OpsKind::Tracked(prepared) => prepared.finish(state, output),
            OpsKind::UnTracked(prepared) => prepared.finish(output),
        }
    }
}

#[derive(Clone, Debug)]
struct State {
    ids: Vec<i64>,
    vocab: usize,
    width: usize,
    scale: f32,
}

#[derive(Debug)]
struct EmbeddingBackward;

impl Backward<Flex, 1> for EmbeddingBackward {
    type State = State;

    fn backward(self, ops: Ops<State, 1>, grads: &mut Gradients, _checkpointer: &mut Checkpointer) {
        let State { ids, vocab, width, scale } = ops.state;
        unary::<Flex, _>(ops.parents, ops.node, grads, |grad| {
            let grad = contiguous(grad);
            let dweight = slices::backward(floats(&grad), &ids, vocab, width, scale);
            tensor(dweight, [vocab, width])
        });
    }
}

fn forward(weight: FlexTensor, ids: FlexTensor, scale: f64) -> (FlexTensor, State) {
    let weight = contiguous(weight);
    let [vocab, width] = weight.layout().shape().dims();
    let [batch, len] = ids.layout().shape().dims();
    let ids = integers(&ids);
    for &id in &ids {
        assert!((0..vocab as i64).contains(&id), "id {id} is not below vocab {vocab}");
    }
    let state = State { ids, vocab, width, scale: scale as f32 };
    let mut out = vec![0.0; batch * len * width];
    slices::forward(floats(&weight), &state.ids, width, state.scale, &mut out);
    (tensor(out, [batch, len, width]), state)
}
