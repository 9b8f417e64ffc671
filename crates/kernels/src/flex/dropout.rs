use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind, unary};
use burn::backend::flex::FlexTensor;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, backend_extension};
use burn::tensor::Tensor;

use super::storage::overwrite;
use crate::DropoutMask;
use crate::slices::dropout as slices;

#[backend_extension(Flex, Autodiff)]
pub(crate) trait Dropout: Backend {
    fn dropout(x: FloatTensor<Self>, mask: DropoutMask) -> FloatTensor<Self>;
}

/// The extension behind high-level tensors.
pub(crate) fn fused<const D: usize>(x: Tensor<D>, mask: DropoutMask) -> Tensor<D> {
    Tensor::from_dispatch(<Dispatch as Dropout>::dropout(x.into_dispatch(), mask))
}

impl Dropout for Flex {
    fn dropout(x: FlexTensor, mask: DropoutMask) -> FlexTensor {
        overwrite(x, |out, source| slices::apply(out, source, mask))
    }
}

impl<C: CheckpointStrategy> Dropout for Autodiff<Flex, C> {
    fn dropout(x: FloatTensor<Self>, mask: DropoutMask) -> FloatTensor<Self> {
        let prepared = DropoutBackward.prepare::<C>([x.node()]).compute_bound();
        let output = <Flex as Dropout>::dropout(x.into_primitive(), mask);
        match prepared.stateful() {
            OpsKind::Tracked(prepared) => prepared.finish(mask, output),
            OpsKind::UnTracked(prepared) => prepared.finish(output),
        }
    }
}

#[derive(Debug)]
struct DropoutBackward;

impl Backward<Flex, 1> for DropoutBackward {
    type State = DropoutMask;

    fn backward(
        self,
        ops: Ops<DropoutMask, 1>,
        grads: &mut Gradients,
        _checkpointer: &mut Checkpointer,
    ) {
        let mask = ops.state;
        unary::<Flex, _>(ops.parents, ops.node, grads, |grad| {
            <Flex as Dropout>::dropout(grad, mask)
        });
    }
}
