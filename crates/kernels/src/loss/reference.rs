use burn::tensor::{Int, Tensor};

/// Largest number of columns that are reduced together, for the precision of their sum.
const MAX_COLUMNS: usize = 1 << 14;

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
    let log_sum = sums(shifted.clone().exp()).log();
    let nll = log_sum.clone() - shifted.clone().gather(1, targets);
    // Without smoothing the mean is left out: a logit of −∞ makes it infinite, and 0·∞ is NaN.
    let smoothed = if smoothing == 0.0 {
        nll.clone()
    } else {
        nll.clone() * (1.0 - smoothing) + (log_sum - sums(shifted) / width) * smoothing
    };
    (
        smoothed.mask_fill(padding.clone(), 0.0).sum(),
        nll.detach().mask_fill(padding, 0.0).sum(),
    )
}

/// The sums of the rows of `x`, `[rows, width]` → `[rows, 1]`.
fn sums(x: Tensor<2>) -> Tensor<2> {
    by_parts(x, |part| part.sum_dim(1))
}

/// `fold` over the columns of `x`, of parts first, `[rows, width]` → `[rows, 1]`: on a GPU, Burn's
/// reductions ignore columns beyond 2¹⁸.
fn by_parts(x: Tensor<2>, fold: fn(Tensor<2>) -> Tensor<2>) -> Tensor<2> {
    let width = x.dims()[1];
    let mut parts = Vec::with_capacity(width.div_ceil(MAX_COLUMNS));
    for start in (0..width).step_by(MAX_COLUMNS) {
        let count = MAX_COLUMNS.min(width - start);
        parts.push(fold(x.clone().narrow(1, start, count)));
    }
    fold(Tensor::cat(parts, 1))
}
