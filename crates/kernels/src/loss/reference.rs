use burn::tensor::{Int, Tensor};

use crate::sum::sum;

/// Largest number of columns that are reduced together. Mesa's lavapipe leaves the loops of a
/// shader after 65,535 rounds in all without an error, and short sums lose less by rounding.
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
    let padding = targets
        .clone()
        .equal_scalar(i64::from(pad))
        .unsqueeze_dim::<2>(1);
    let width = logits.dims()[1] as f64;
    // Padding may lie outside of the vocabulary, and what `gather` returns there depends on the
    // device.
    let ids = targets.unsqueeze_dim::<2>(1).mask_fill(padding.clone(), 0);
    let shifted = below_highest(logits);
    let log_sum = row_sums(shifted.clone().exp()).log();
    let nll = log_sum.clone() - shifted.clone().gather(1, ids);
    // Without smoothing the mean is left out: a logit of −∞ makes it infinite, and 0·∞ is NaN.
    let smoothed = if smoothing == 0.0 {
        nll.clone()
    } else {
        nll.clone() * (1.0 - smoothing) + (log_sum - row_sums(shifted) / width) * smoothing
    };
    (
        sum(smoothed.mask_fill(padding.clone(), 0.0)),
        sum(nll.detach().mask_fill(padding, 0.0)),
    )
}

/// Returns the log-probability of a token in each row of logits, in nats.
///
/// # Shapes
/// `logits`: `[rows, vocab]`, `tokens`: `[rows]` ids below `vocab` → `[rows]`
pub fn log_probability(logits: Tensor<2>, tokens: Tensor<1, Int>) -> Tensor<1> {
    let shifted = below_highest(logits);
    let log_sum = row_sums(shifted.clone().exp()).log();
    let log_probabilities = shifted.gather(1, tokens.unsqueeze_dim::<2>(1)) - log_sum;
    log_probabilities.squeeze_dim(1)
}

/// Returns the logits minus the highest logit of their row.
fn below_highest(logits: Tensor<2>) -> Tensor<2> {
    let highest = by_parts(logits.clone().detach(), |part| part.max_dim(1));
    logits - highest
}

/// Returns the sums of the rows of `x`, `[rows, width]` → `[rows, 1]`.
fn row_sums(x: Tensor<2>) -> Tensor<2> {
    by_parts(x, |part| part.sum_dim(1))
}

/// Returns `fold` over at most [`MAX_COLUMNS`] columns of `x`, and then over the results, `[rows,
/// width]` → `[rows, 1]`.
fn by_parts(x: Tensor<2>, fold: fn(Tensor<2>) -> Tensor<2>) -> Tensor<2> {
    let width = x.dims()[1];
    if width <= MAX_COLUMNS {
        return fold(x);
    }
    let mut parts = Vec::with_capacity(width.div_ceil(MAX_COLUMNS));
    for start in (0..width).step_by(MAX_COLUMNS) {
        let count = MAX_COLUMNS.min(width - start);
        parts.push(fold(x.clone().narrow(1, start, count)));
    }
    fold(Tensor::cat(parts, 1))
}
