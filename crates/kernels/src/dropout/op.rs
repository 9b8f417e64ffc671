//! Dropout as operations on the CPU.

use burn::backend::flex::FlexTensor;
use burn::tensor::Tensor;

use super::cpu;
use super::mask::DropoutMask;
use crate::cpu::{contiguous, floats, overwrite};
use crate::op::{FusedOp, Keep, apply};

/// Dropout of one tensor on the CPU.
pub(super) fn dropout<const D: usize>(x: Tensor<D>, mask: DropoutMask) -> Tensor<D> {
    apply(Dropout(mask), [x.into()])
}

/// A residual connection with dropout, of tensors on the CPU.
pub(super) fn residual_dropout<const D: usize>(
    x: Tensor<D>,
    y: Tensor<D>,
    mask: Option<DropoutMask>,
) -> Tensor<D> {
    apply(ResidualDropout(mask), [x.into(), y.into()])
}

#[derive(Debug)]
struct Dropout(DropoutMask);

impl FusedOp<1> for Dropout {
    type Saved = DropoutMask;

    fn forward(self, [x]: [FlexTensor; 1], _keep: Keep) -> (FlexTensor, DropoutMask) {
        (dropped(x, self.0), self.0)
    }

    fn backward(
        mask: DropoutMask,
        grad: FlexTensor,
        _wanted: [bool; 1],
    ) -> [Option<FlexTensor>; 1] {
        [Some(dropped(grad, mask))]
    }
}

#[derive(Debug)]
struct ResidualDropout(Option<DropoutMask>);

impl FusedOp<2> for ResidualDropout {
    type Saved = Option<DropoutMask>;

    fn forward(self, [x, y]: [FlexTensor; 2], _keep: Keep) -> (FlexTensor, Option<DropoutMask>) {
        let x = contiguous(x);
        let sum = overwrite(y, |out, source| cpu::add(out, source, floats(&x), self.0));
        (sum, self.0)
    }

    fn backward(
        mask: Option<DropoutMask>,
        grad: FlexTensor,
        [wants_x, wants_y]: [bool; 2],
    ) -> [Option<FlexTensor>; 2] {
        let dx = wants_x.then(|| grad.clone());
        let dy = wants_y.then(|| match mask {
            None => grad,
            Some(mask) => dropped(grad, mask),
        });
        [dx, dy]
    }
}

fn dropped(x: FlexTensor, mask: DropoutMask) -> FlexTensor {
    overwrite(x, |out, source| cpu::apply(out, source, mask))
}
