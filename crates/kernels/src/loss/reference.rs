use burn::tensor::{Int, Tensor};

/// The reference of [`label_smoothed_cross_entropy`](crate::label_smoothed_cross_entropy) in plain
/// tensor arithmetic.
///
/// It uses log Z = log Σ eˣ: NLL = log Z − x_target, and the mean of −log p is log Z − mean(x). So
/// no target of the shape `[rows, vocab]` is ever built.
pub fn label_smoothed_cross_entropy(
    logits: Tensor<2>,
    targets: Tensor<1, Int>,
    pad: u32,
    smoothing: f64,
) -> (Tensor<1>, Tensor<1>) {
    let targets = targets.unsqueeze_dim::<2>(1);
    let padding = targets.clone().equal_scalar(i64::from(pad));
    let highest = logits.clone().detach().max_dim(1);
    let shifted = logits.clone() - highest.clone();
    let log_z = shifted.exp().sum_dim(1).log() + highest;
    let nll = log_z.clone() - logits.clone().gather(1, targets);
    // Without smoothing the mean is left out: a logit of −∞ makes it infinite, and 0·∞ is NaN.
    let smoothed = match smoothing == 0.0 {
        true => nll.clone(),
        false => nll.clone() * (1.0 - smoothing) + (log_z - logits.mean_dim(1)) * smoothing,
    };
    let real = |x: Tensor<2>| x.mask_fill(padding.clone(), 0.0).sum();
    (real(smoothed), real(nll.detach()))
}
