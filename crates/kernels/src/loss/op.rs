//! The loss of logits as an operation on the CPU.

use burn::backend::flex::FlexTensor;

use super::cpu::{CrossEntropy, Row};
use crate::cpu::{contiguous, dims, floats, overwrite, tensor};
use crate::op::{FusedOp, Keep};

/// The values for the backward pass. The logits are the only large tensor that is saved.
#[derive(Clone, Debug)]
pub(super) struct Saved {
    logits: FlexTensor,
    rows: Vec<Row>,
    loss: CrossEntropy,
}

impl FusedOp<1> for CrossEntropy {
    type Saved = Saved;

    fn forward(self, [logits]: [FlexTensor; 1], _keep: Keep<1>) -> (FlexTensor, Saved) {
        let logits = contiguous(logits);
        let [_, vocab] = dims(&logits);
        let rows = self.rows(floats(&logits), vocab);
        (
            tensor(Self::sums(&rows).to_vec(), [2]),
            Saved {
                logits,
                rows,
                loss: self,
            },
        )
    }

    fn backward(saved: Saved, grad: FlexTensor, _wanted: [bool; 1]) -> [Option<FlexTensor>; 1] {
        let Saved { logits, rows, loss } = saved;
        // The second sum, of the plain loss, passes no gradient on.
        let scale = floats(&contiguous(grad))[0];
        let [_, vocab] = dims(&logits);
        let gradient = overwrite(logits, |out, source| {
            loss.gradient(out, source, &rows, vocab, scale);
        });
        [Some(gradient)]
    }
}
