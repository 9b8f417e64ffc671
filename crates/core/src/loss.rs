use burn::tensor::{Int, Tensor};

/// Sums over the real target tokens of a batch; divide by the tokens of the whole update.
#[derive(Clone, Debug)]
pub struct LossSums {
    /// Σ (1−ε)·NLL + ε·(mean of −log p over the vocabulary), `[1]`; the quantity to minimise.
    pub smoothed: Tensor<1>,
    /// Σ −log p of the right token, `[1]`; e to its mean is the perplexity.
    pub nll: Tensor<1>,
}

/// Cross-entropy with label smoothing ε (paper §5.4; Szegedy et al., 2015), summed over the
/// positions whose target is not `pad`.
///
/// Written with log Z = log Σ eˣ: NLL = log Z − x_target and mean(−log p) = log Z − mean(x), so
/// that no `[positions, vocab]` target is ever built.
///
/// # Shapes
/// - `logits`: `[batch, len, vocab]`, `targets`: `[batch, len]` ids
pub fn label_smoothed_cross_entropy(
    logits: Tensor<3>,
    targets: Tensor<2, Int>,
    pad: u32,
    smoothing: f64,
) -> LossSums {
    let [batch, len, vocab] = logits.dims();
    let rows = batch * len;
    let logits = logits.reshape([rows, vocab]);
    let targets = targets.reshape([rows, 1]);
    let real = targets.clone().not_equal_scalar(pad as i64).float();
    let highest = logits.clone().detach().max_dim(1);
    let shifted = logits.clone() - highest.clone();
    let log_z = shifted.exp().sum_dim(1).log() + highest;
    let nll = log_z.clone() - logits.clone().gather(1, targets);
    let uniform = log_z - logits.mean_dim(1);
    let smoothed = nll.clone() * (1.0 - smoothing) + uniform * smoothing;
    LossSums {
        smoothed: (smoothed * real.clone()).sum(),
        nll: (nll * real).sum(),
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, TensorData};

    use super::*;

    #[test]
    fn a_uniform_prediction_costs_log_vocab_whatever_the_smoothing() {
        let device = Device::default();
        let logits = Tensor::<3>::zeros([1, 2, 8], &device);
        let targets = Tensor::<2, Int>::from_data(TensorData::from([[3, 0]]), &device);
        for smoothing in [0.0, 0.1, 0.9] {
            let sums =
                label_smoothed_cross_entropy(logits.clone(), targets.clone(), 0, smoothing);
            let (smoothed, nll): (f32, f32) = (sums.smoothed.into_scalar(), sums.nll.into_scalar());
            assert!((smoothed - 8f32.ln()).abs() < 1e-6 && (nll - 8f32.ln()).abs() < 1e-6);
        }
    }
}
