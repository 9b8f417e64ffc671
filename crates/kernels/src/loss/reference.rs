use burn::tensor::{Int, Tensor};

/// The largest number of columns that are reduced together, for the precision of their sum.
const MOST: usize = 1 << 14;

/// The reference of [`label_smoothed_cross_entropy`](crate::label_smoothed_cross_entropy) in plain
/// tensor arithmetic.
///
/// With x, the logits minus the highest logit of their row, it uses log Z = log Σ eˣ: NLL = log Z −
/// x_target, and the mean of −log p is log Z − mean(x). So no target of the shape `[rows, vocab]`
/// is ever built.
///
/// # Shapes
/// `logits`: `[rows, vocab]`, `targets`: `[rows]` ids → two sums, `[1]` each
pub fn label_smoothed_cross_entropy(
    logits: Tensor<2>,
    targets: Tensor<1, Int>,
    pad: u32,
    smoothing: f64,
) -> (Tensor<1>, Tensor<1>) {
    let targets = targets.unsqueeze_dim::<2>(1);
    let padding = targets.clone().equal_scalar(i64::from(pad));
    let width = logits.dims()[1] as f64;
    let shifted = logits.clone() - by_parts(logits.detach(), |part| part.max_dim(1));
    let sums = |x: Tensor<2>| by_parts(x, |part| part.sum_dim(1));
    let log_sum = sums(shifted.clone().exp()).log();
    let nll = log_sum.clone() - shifted.clone().gather(1, targets);
    // Without smoothing the mean is left out: a logit of −∞ makes it infinite, and 0·∞ is NaN.
    let smoothed = match smoothing == 0.0 {
        true => nll.clone(),
        false => nll.clone() * (1.0 - smoothing) + (log_sum - sums(shifted) / width) * smoothing,
    };
    let real = |x: Tensor<2>| x.mask_fill(padding.clone(), 0.0).sum();
    (real(smoothed), real(nll.detach()))
}

/// `fold` over the columns of `x`, of parts first, `[rows, width]` → `[rows, 1]`: on a GPU, Burn's
/// reductions ignore columns beyond 2¹⁸.
fn by_parts(x: Tensor<2>, fold: fn(Tensor<2>) -> Tensor<2>) -> Tensor<2> {
    let width = x.dims()[1];
    let part = |start| fold(x.clone().narrow(1, start, MOST.min(width - start)));
    fold(Tensor::cat((0..width).step_by(MOST).map(part).collect(), 1))
}
