//! The loss over the vocabulary on GPUs: the logits are read once forward, and read and written
//! once backward. No other tensor of their size is made.

mod kernels;
mod launch;

use burn::backend::Cube;
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::tensor::{Int, Tensor};

use crate::op::{FusedOp, Keep, apply_with_aside};
use launch::LossKernels;

/// The sums of the loss of logits on a GPU.
pub(super) fn label_smoothed_cross_entropy(
    logits: Tensor<2>,
    targets: Tensor<1, Int>,
    pad: u32,
    smoothing: f64,
) -> (Tensor<1>, Tensor<1>) {
    let targets =
        targets.inner().try_into_primitive::<Cube>().expect("ids on the device of the logits");
    let op = CrossEntropy { targets, pad, smoothing };
    let (smoothed, mut aside) = apply_with_aside(op, [logits.into()]);
    (smoothed, aside.remove(0))
}

#[derive(Clone, Debug)]
struct CrossEntropy {
    targets: IntTensor<Cube>,
    pad: u32,
    smoothing: f64,
}

/// Tensors saved for the backward pass. The logits are the only large one.
#[derive(Clone, Debug)]
struct Saved {
    loss: CrossEntropy,
    logits: FloatTensor<Cube>,
    by_row: FloatTensor<Cube>,
    nll: FloatTensor<Cube>,
}

impl FusedOp<1> for CrossEntropy {
    type Backend = Cube;
    type Saved = Saved;

    fn forward(self, [logits]: [FloatTensor<Cube>; 1], _keep: Keep) -> (FloatTensor<Cube>, Saved) {
        let (targets, pad, smoothing) = (self.targets.clone(), self.pad, self.smoothing);
        let (smoothed, nll, by_row) = Cube::cross_entropy(logits.clone(), targets, pad, smoothing);
        (smoothed, Saved { loss: self, logits, by_row, nll })
    }

    fn backward(
        saved: Saved,
        grad: FloatTensor<Cube>,
        _wanted: [bool; 1],
    ) -> [Option<FloatTensor<Cube>>; 1] {
        let Saved { loss: Self { targets, pad, smoothing }, logits, by_row, .. } = saved;
        [Some(Cube::cross_entropy_gradient(logits, targets, by_row, grad, pad, smoothing))]
    }

    /// The sum of the negative log-likelihoods.
    fn aside(saved: &Saved) -> Vec<FloatTensor<Cube>> {
        vec![saved.nll.clone()]
    }
}
