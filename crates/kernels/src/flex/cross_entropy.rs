use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind, unary};
use burn::backend::flex::FlexTensor;
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::backend::{Autodiff, AutodiffBackend, Backend, Dispatch, Flex, backend_extension};
use burn::tensor::{Int, Tensor};

use super::storage::{contiguous, floats, integers, overwrite, tensor};
use crate::slices::cross_entropy::{self as slices, Row, Smoothing};

#[backend_extension(Flex, Autodiff)]
pub(crate) trait CrossEntropy: Backend {
    fn label_smoothed_cross_entropy(
        logits: FloatTensor<Self>,
        targets: IntTensor<Self>,
        pad: u32,
        smoothing: f64,
    ) -> (FloatTensor<Self>, FloatTensor<Self>);
}

/// The extension behind high-level tensors.
pub(crate) fn fused(
    logits: Tensor<2>,
    targets: Tensor<1, Int>,
    pad: u32,
    smoothing: f64,
) -> (Tensor<1>, Tensor<1>) {
    let (logits, targets) = (logits.into_dispatch(), targets.into_dispatch());
    let (smoothed, nll) =
        <Dispatch as CrossEntropy>::label_smoothed_cross_entropy(logits, targets, pad, smoothing);
    (Tensor::from_dispatch(smoothed), Tensor::from_dispatch(nll))
}

impl CrossEntropy for Flex {
    fn label_smoothed_cross_entropy(
        logits: FlexTensor,
        targets: FlexTensor,
        pad: u32,
        smoothing: f64,
    ) -> (FlexTensor, FlexTensor) {
        let (smoothed, nll, _) = forward(logits, targets, pad, smoothing);
        (smoothed, nll)
    }
}

impl<C: CheckpointStrategy> CrossEntropy for Autodiff<Flex, C> {
    fn label_smoothed_cross_entropy(
        logits: FloatTensor<Self>,
        targets: FlexTensor,
        pad: u32,
        smoothing: f64,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let prepared = CrossEntropyBackward.prepare::<C>([logits.node()]).compute_bound();
        let (smoothed, nll, state) = forward(logits.into_primitive(), targets, pad, smoothing);
        let smoothed = match prepared.stateful() {
            OpsKind::Tracked(prepared) => prepared.finish(state, smoothed),
            OpsKind::UnTracked(prepared) => prepared.finish(smoothed),
        };
        (smoothed, Self::from_inner(nll))
    }
}

/// What the backward pass needs: nothing the size of the logits but the logits themselves.
#[derive(Clone, Debug)]
struct State {
    logits: FlexTensor,
    targets: Vec<i64>,
    rows: Vec<Row>,
    loss: Smoothing,
}

#[derive(Debug)]
struct CrossEntropyBackward;

impl Backward<Flex, 1> for CrossEntropyBackward {
    type State = State;

    fn backward(self, ops: Ops<State, 1>, grads: &mut Gradients, _checkpointer: &mut Checkpointer) {
        unary::<Flex, _>(ops.parents, ops.node, grads, |grad| backward(ops.state, grad));
    }
}

fn forward(
    logits: FlexTensor,
    targets: FlexTensor,
    pad: u32,
    smoothing: f64,
) -> (FlexTensor, FlexTensor, State) {
    let logits = contiguous(logits);
    let targets = integers(&targets);
    let loss = Smoothing { pad: i64::from(pad), epsilon: smoothing };
    let rows = slices::forward(floats(&logits), &targets, logits.layout().shape()[1], loss);
    let (smoothed, nll) = slices::sums(&rows);
    let state = State { logits, targets, rows, loss };
    (tensor(vec![smoothed], [1]), tensor(vec![nll], [1]), state)
}

fn backward(state: State, grad: FlexTensor) -> FlexTensor {
    let scale = floats(&contiguous(grad))[0];
    let vocab = state.logits.layout().shape()[1];
    overwrite(state.logits, |out, source| {
        slices::backward(out, source, &state.targets, &state.rows, vocab, state.loss, scale);
    })
}
