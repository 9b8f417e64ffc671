use burn::tensor::activation::log_softmax;
use burn::tensor::{Int, Tensor};

use crate::label_smoothed_cross_entropy;

/// The sums of [`r_drop_loss`](crate::r_drop_loss), each `[1]`, in nats.
#[derive(Clone, Debug)]
pub struct RDropLoss {
    /// What training minimises: the mean of the smoothed losses of both passes, and α/2 times their symmetric divergence
    /// ½·KL(p‖q) + ½·KL(q‖p). The only sum with gradients.
    pub minimised: Tensor<1>,
    /// The mean of the smoothed losses of both passes.
    pub smoothed: Tensor<1>,
    /// The mean of the negative log-likelihoods of both passes.
    pub nll: Tensor<1>,
}

/// The reference of [`r_drop_loss`](crate::r_drop_loss): the loss of both passes, and their divergence in plain tensor
/// arithmetic.
pub fn r_drop_loss(
    logits: Tensor<2>,
    targets: Tensor<1, Int>,
    pad: u32,
    smoothing: f64,
    alpha: f64,
) -> RDropLoss {
    let divergence = divergence(logits.clone(), targets.clone(), pad);
    let (smoothed, nll) = label_smoothed_cross_entropy(logits, targets, pad, smoothing);
    let (smoothed, nll) = (smoothed / 2.0, nll / 2.0);
    RDropLoss {
        minimised: smoothed.clone() + divergence * (alpha / 2.0),
        smoothed: smoothed.detach(),
        nll,
    }
}

/// The symmetric divergence ½·KL(p‖q) + ½·KL(q‖p) of both passes, summed over the positions whose target is not `pad`.
///
/// Value and gradient are computed outside of the graph, which keeps one tensor of the size of the logits for them:
/// with d = ln p − ln q, the gradient is ½·(p·(d − KL(p‖q)) + p − q) for the logits of the first pass.
fn divergence(logits: Tensor<2>, targets: Tensor<1, Int>, pad: u32) -> Tensor<1> {
    let rows = logits.dims()[0] / 2;
    let real = targets.narrow(0, 0, rows).not_equal_scalar(i64::from(pad)).float();
    let real = real.inner().unsqueeze_dim::<2>(1);
    let logs = log_softmax(logits.clone().inner(), 1);
    let [log_p, log_q] = [0, rows].map(|start| logs.clone().narrow(0, start, rows));
    drop(logs);
    let (p, q) = (log_p.clone().exp(), log_q.clone().exp());
    let ratio = (log_p - log_q) * real.clone();
    let apart = (p.clone() - q.clone()) * real;
    let of_p = (p.clone() * ratio.clone()).sum_dim(1);
    let of_q = (q.clone() * ratio.clone()).sum_dim(1).neg();
    let value = (of_p.clone() + of_q.clone()).sum() / 2.0;
    let gradient_p = p * (ratio.clone() - of_p) + apart.clone();
    let gradient_q = q * (ratio.neg() - of_q) - apart;
    let gradient = Tensor::cat(vec![gradient_p, gradient_q], 0) / 2.0;
    // A sum with this gradient, moved to the value.
    let linear = (logits * Tensor::from_inner(gradient)).sum();
    linear.clone() - linear.detach() + Tensor::from_inner(value)
}
