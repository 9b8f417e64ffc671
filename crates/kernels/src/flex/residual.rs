use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::flex::FlexTensor;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, backend_extension};
use burn::tensor::Tensor;

use super::dropout::Dropout;
use super::storage::{contiguous, floats, overwrite};
use crate::DropoutMask;
use crate::slices::dropout as slices;

#[backend_extension(Flex, Autodiff)]
pub(crate) trait Residual: Backend {
    fn residual_dropout(
        x: FloatTensor<Self>,
        y: FloatTensor<Self>,
        mask: Option<DropoutMask>,
    ) -> FloatTensor<Self>;
}

/// The extension behind high-level tensors.
pub(crate) fn fused<const D: usize>(
    x: Tensor<D>,
    y: Tensor<D>,
    mask: Option<DropoutMask>,
) -> Tensor<D> {
    let (x, y) = (x.into_dispatch(), y.into_dispatch());
    Tensor::from_dispatch(<Dispatch as Residual>::residual_dropout(x, y, mask))
}

impl Residual for Flex {
    fn residual_dropout(x: FlexTensor, y: FlexTensor, mask: Option<DropoutMask>) -> FlexTensor {
        let x = contiguous(x);
        overwrite(y, |out, source| slices::add(out, source, floats(&x), mask))
    }
}

impl<C: CheckpointStrategy> Residual for Autodiff<Flex, C> {
    fn residual_dropout(
        x: FloatTensor<Self>,
        y: FloatTensor<Self>,
        mask: Option<DropoutMask>,
    ) -> FloatTensor<Self> {
        let prepared = ResidualBackward.prepare::<C>([x.node(), y.node()]).compute_bound();
        let output = Flex::residual_dropout(x.into_primitive(), y.into_primitive(), mask);
        match prepared.stateful() {
            OpsKind::Tracked(prepared) => prepared.finish(mask, output),
            OpsKind::UnTracked(prepared) => prepared.finish(output),
        }
    }
}

#[derive(Debug)]
struct ResidualBackward;

impl Backward<Flex, 2> for ResidualBackward {
    type State = Option<DropoutMask>;

    fn backward(
        self,
        ops: Ops<Option<DropoutMask>, 2>,
        grads: &mut Gradients,
        _checkpointer: &mut Checkpointer,
    ) {
        let [x, y] = ops.parents;
        let grad = grads.consume::<Flex>(&ops.node);
        if let Some(x) = x {
            grads.register::<Flex>(x.id, grad.clone());
        }
        if let Some(y) = y {
            let grad = match ops.state {
                None => grad,
                Some(mask) => <Flex as Dropout>::dropout(grad, mask),
            };
            grads.register::<Flex>(y.id, grad);
        }
    }
}
