use burn::tensor::{Int, Tensor};
use burnformer_kernels::{self as kernels, Projection};

/// Sums of the loss over the real target tokens of a batch. For a mean, divide by the number of
/// tokens of the whole update.
#[derive(Clone, Debug)]
pub struct LossSums {
    /// The label-smoothed loss Σ (1−ε)·NLL + ε·(mean of −log p over the vocabulary), `[1]`.
    /// Training minimises it.
    pub smoothed: Tensor<1>,
    /// The negative log-likelihood Σ −log p of the right tokens, `[1]`. The exponential of its mean
    /// is the perplexity.
    pub nll: Tensor<1>,
}

/// Cross-entropy with label smoothing ε (paper §5.4; Szegedy et al., 2015), summed over all targets
/// except `pad`. Only the smoothed sum has gradients.
///
/// # Shapes
/// - `logits`: `[batch, len, vocab]`, `targets`: `[batch, len]` ids
///
/// # Panics
/// Panics if `smoothing` is not in `[0, 1)`, or if the shapes do not fit together.
pub fn label_smoothed_cross_entropy(
    logits: Tensor<3>,
    targets: Tensor<2, Int>,
    pad: u32,
    smoothing: f64,
) -> LossSums {
    let [batch, len, vocab] = logits.dims();
    check(smoothing, targets.dims(), [batch, len]);
    let logits = logits.reshape([batch * len, vocab]);
    let targets = targets.reshape([batch * len]);
    let (smoothed, nll) = kernels::label_smoothed_cross_entropy(logits, targets, pad, smoothing);
    LossSums { smoothed, nll }
}

/// Checks the smoothing and the shape of the targets.
fn check(smoothing: f64, targets: [usize; 2], positions: [usize; 2]) {
    assert!(
        (0.0..1.0).contains(&smoothing),
        "label smoothing {smoothing} is not in [0, 1)"
    );
    assert_eq!(
        targets, positions,
        "targets {targets:?} for {positions:?} positions"
    );
}

/// The [`label_smoothed_cross_entropy`] of the logits of `states`. On a CPU, a part of the logits
/// at a time is in memory.
///
/// # Shapes
/// - `states`: `[batch, len, d_model]`, `targets`: `[batch, len]` ids
///
/// # Panics
/// Panics as [`label_smoothed_cross_entropy`] does.
pub(crate) fn linear_cross_entropy(
    states: Tensor<3>,
    projection: Projection,
    targets: Tensor<2, Int>,
    pad: u32,
    smoothing: f64,
) -> LossSums {
    let [batch, len, d_model] = states.dims();
    check(smoothing, targets.dims(), [batch, len]);
    let states = states.reshape([batch * len, d_model]);
    let targets = targets.reshape([batch * len]);
    let (smoothed, nll) =
        kernels::linear_cross_entropy(states, projection, targets, pad, smoothing);
    LossSums { smoothed, nll }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, TensorData};

    use super::*;

    #[test]
    fn a_uniform_prediction_costs_log_vocab_for_any_smoothing() {
        let device = Device::default();
        let logits = Tensor::<3>::zeros([1, 2, 8], &device);
        let targets = Tensor::<2, Int>::from_data(TensorData::from([[3, 0]]), &device);
        for smoothing in [0.0, 0.1, 0.9] {
            let sums = label_smoothed_cross_entropy(logits.clone(), targets.clone(), 0, smoothing);
            let smoothed: f32 = sums.smoothed.into_scalar();
            let nll: f32 = sums.nll.into_scalar();
            assert!((smoothed - 8f32.ln()).abs() < 1e-6 && (nll - 8f32.ln()).abs() < 1e-6);
        }
    }
}
