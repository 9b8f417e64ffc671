use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::flex::FlexTensor;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, backend_extension};
use burn::tensor::Tensor;

use super::norm::State;
use crate::DropoutMask;

#[backend_extension(Flex, Autodiff)]
pub(crate) trait ResidualNorm: Backend {
    fn residual_dropout_norm(
        x: FloatTensor<Self>,
        y: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        epsilon: f64,
        mask: Option<DropoutMask>,
    ) -> FloatTensor<Self>;
}

/// The extension behind high-level tensors.
pub(crate) fn fused<const D: usize>(
    x: Tensor<D>,
    y: Tensor<D>,
    weight: Tensor<1>,
    bias: Tensor<1>,
    epsilon: f64,
    mask: Option<DropoutMask>,
) -> Tensor<D> {
    let (x, y) = (x.into_dispatch(), y.into_dispatch());
    let (weight, bias) = (weight.into_dispatch(), bias.into_dispatch());
    let output =
        <Dispatch as ResidualNorm>::residual_dropout_norm(x, y, weight, bias, epsilon, mask);
    Tensor::from_dispatch(output)
}

impl ResidualNorm for Flex {
    fn residual_dropout_norm(
        x: FlexTensor,
        y: FlexTensor,
        weight: FlexTensor,
        bias: FlexTensor,
        epsilon: f64,
        mask: Option<DropoutMask>,
    ) -> FlexTensor {
        State::forward(x, Some(y), weight, bias, epsilon, mask).0
    }
}

impl<C: CheckpointStrategy> ResidualNorm for Autodiff<Flex, C> {
    fn residual_dropout_norm(
        x: FloatTensor<Self>,
        y: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        epsilon: f64,
        mask: Option<DropoutMask>,
    ) -> FloatTensor<Self> {
        let parents = [x.node(), y.node(), weight.node(), bias.node()];
        let prepared = ResidualNormBackward.prepare::<C>(parents).compute_bound();
        let [x, y, weight, bias] = [x, y, weight, bias].map(|x| x.into_primitive());
        let (output, state) = State::forward(x, Some(y), weight, bias, epsilon, mask);
        match prepared.stateful() {
            OpsKind::Tracked(prepared) => prepared.finish(state, output),
            OpsKind::UnTracked(prepared) => prepared.finish(output),
        }
    }
}

#[derive(Debug)]
struct ResidualNormBackward;

impl Backward<Flex, 4> for ResidualNormBackward {
    type State = State;

    fn backward(self, ops: Ops<State, 4>, grads: &mut Gradients, _checkpointer: &mut Checkpointer) {
        let grad = grads.consume::<Flex>(&ops.node);
        for (parent, grad) in ops.parents.into_iter().zip(ops.state.backward(grad)) {
            if let Some(parent) = parent {
                grads.register::<Flex>(parent.id, grad);
            }
        }
    }
}
