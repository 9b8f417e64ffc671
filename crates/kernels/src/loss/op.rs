//! The loss as an operation on the CPU.

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::tensor::{Int, Tensor};

use super::cpu::{self, Row, Smoothing};
use crate::cpu::{contiguous, dims, floats, integers, overwrite, tensor};
use crate::op::{FusedOp, Keep, apply_with_aside};

/// The sums of the loss of logits on the CPU.
pub(super) fn label_smoothed_cross_entropy(
    logits: Tensor<2>,
    targets: Tensor<1, Int>,
    pad: u32,
    smoothing: f64,
) -> (Tensor<1>, Tensor<1>) {
    let loss = Smoothing { pad: i64::from(pad), epsilon: smoothing };
    let op = CrossEntropy { targets: integers(targets), loss };
    let (smoothed, mut aside) = apply_with_aside(op, [logits.into()]);
    (smoothed, aside.remove(0))
}

#[derive(Debug)]
struct CrossEntropy {
    targets: Vec<i64>,
    loss: Smoothing,
}

/// What the backward pass needs: nothing the size of the logits but the logits themselves.
#[derive(Clone, Debug)]
struct Saved {
    logits: FlexTensor,
    targets: Vec<i64>,
    rows: Vec<Row>,
    loss: Smoothing,
}

impl FusedOp<1> for CrossEntropy {
    type Backend = Flex;
    type Saved = Saved;

    fn forward(self, [logits]: [FlexTensor; 1], _keep: Keep) -> (FlexTensor, Saved) {
        let Self { targets, loss } = self;
        let logits = contiguous(logits);
        let [_, vocab] = dims(&logits);
        let rows = cpu::forward(floats(&logits), &targets, vocab, loss);
        let (smoothed, _) = cpu::sums(&rows);
        (tensor(vec![smoothed], [1]), Saved { logits, targets, rows, loss })
    }

    fn backward(saved: Saved, grad: FlexTensor, _wanted: [bool; 1]) -> [Option<FlexTensor>; 1] {
        let Saved { logits, targets, rows, loss } = saved;
        let (scale, [_, vocab]) = (floats(&contiguous(grad))[0], dims(&logits));
        let gradient = overwrite(logits, |out, source| {
            cpu::backward(out, source, &targets, &rows, vocab, loss, scale);
        });
        [Some(gradient)]
    }

    /// The sum of the negative log-likelihoods.
    fn aside(saved: &Saved) -> Vec<FlexTensor> {
        let (_, nll) = cpu::sums(&saved.rows);
        vec![tensor(vec![nll], [1])]
    }
}
