//! SiLU as an operation on the CPU.

use burn::backend::flex::FlexTensor;

use super::cpu;
use crate::cpu::{contiguous, floats, overwrite, tensor};
use crate::op::{FusedOp, Keep};

/// The activation function.
#[derive(Debug)]
pub(super) struct Silu;

impl FusedOp<1> for Silu {
    /// The input; `None` if no gradient is wanted.
    type Saved = Option<FlexTensor>;

    fn forward(self, [x]: [FlexTensor; 1], keep: Keep<1>) -> (FlexTensor, Self::Saved) {
        if keep == Keep::Nothing {
            return (overwrite(x, cpu::forward), None);
        }
        let x = contiguous(x);
        let mut out = vec![0.0; x.layout().num_elements()];
        cpu::forward(&mut out, Some(floats(&x)));
        (tensor(out, x.layout().shape().clone()), Some(x))
    }

    fn backward(
        saved: Self::Saved,
        grad: FlexTensor,
        _wanted: [bool; 1],
    ) -> [Option<FlexTensor>; 1] {
        let x = saved.expect("a gradient is wanted");
        [Some(overwrite(grad, |grad, source| {
            cpu::backward(grad, source, floats(&x));
        }))]
    }
}
