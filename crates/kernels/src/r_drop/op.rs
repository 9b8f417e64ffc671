//! The loss of R-Drop as an operation on the CPU.

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::tensor::{Int, Tensor};

use super::RDropLoss;
use super::cpu::{self, Pair};
use crate::cpu::{contiguous, dims, floats, integers, overwrite, tensor};
use crate::loss::Smoothing;
use crate::op::{FusedOp, Keep, apply_with_aside};

/// The sums of the loss of logits on the CPU.
pub(super) fn r_drop_loss(
    logits: Tensor<2>,
    targets: Tensor<1, Int>,
    pad: u32,
    smoothing: f64,
    alpha: f64,
) -> RDropLoss {
    let loss = Smoothing { pad: i64::from(pad), epsilon: smoothing };
    let op = TwoPasses { targets: integers(targets), loss, alpha };
    let (minimised, aside) = apply_with_aside(op, [logits.into()]);
    let [smoothed, nll] = aside.try_into().expect("two further sums");
    RDropLoss { minimised, smoothed, nll }
}

#[derive(Debug)]
struct TwoPasses {
    targets: Vec<i64>,
    loss: Smoothing,
    alpha: f64,
}

/// What the backward pass needs: nothing the size of the logits but the logits themselves.
#[derive(Clone, Debug)]
struct Saved {
    logits: FlexTensor,
    targets: Vec<i64>,
    pairs: Vec<Pair>,
    loss: Smoothing,
    alpha: f64,
}

impl FusedOp<1> for TwoPasses {
    type Backend = Flex;
    type Saved = Saved;

    fn forward(self, [logits]: [FlexTensor; 1], _keep: Keep) -> (FlexTensor, Saved) {
        let Self { targets, loss, alpha } = self;
        let logits = contiguous(logits);
        let [_, vocab] = dims(&logits);
        let pairs = cpu::forward(floats(&logits), &targets, vocab, loss);
        let minimised = cpu::sums(&pairs).minimised(alpha);
        (tensor(vec![minimised], [1]), Saved { logits, targets, pairs, loss, alpha })
    }

    fn backward(saved: Saved, grad: FlexTensor, _wanted: [bool; 1]) -> [Option<FlexTensor>; 1] {
        let Saved { logits, targets, pairs, loss, alpha } = saved;
        let (scale, [_, vocab]) = (floats(&contiguous(grad))[0], dims(&logits));
        let gradient = overwrite(logits, |out, source| {
            cpu::backward(out, source, &targets, &pairs, vocab, loss, alpha, scale);
        });
        [Some(gradient)]
    }

    /// The smoothed loss and the negative log-likelihood.
    fn aside(saved: &Saved) -> Vec<FlexTensor> {
        let sums = cpu::sums(&saved.pairs);
        [sums.smoothed, sums.nll].map(|sum| tensor(vec![sum as f32], [1])).to_vec()
    }
}
