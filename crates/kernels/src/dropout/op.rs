//! Dropout as operations on the CPU.

use burn::backend::flex::FlexTensor;

use super::cpu;
use super::mask::DropoutMask;
use crate::cpu::{contiguous, floats, overwrite};
use crate::op::{FusedOp, Keep};

/// Dropout of one tensor.
#[derive(Debug)]
pub(super) struct Dropout(pub DropoutMask);

impl FusedOp<1> for Dropout {
    type Saved = DropoutMask;

    fn forward(self, [x]: [FlexTensor; 1], _keep: Keep<1>) -> (FlexTensor, DropoutMask) {
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

/// A residual connection with dropout.
#[derive(Debug)]
pub(super) struct ResidualDropout(pub Option<DropoutMask>);

impl FusedOp<2> for ResidualDropout {
    type Saved = Option<DropoutMask>;

    fn forward(self, [x, y]: [FlexTensor; 2], _keep: Keep<2>) -> (FlexTensor, Option<DropoutMask>) {
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
