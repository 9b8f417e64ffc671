//! The loss over the vocabulary (paper §5.4).

#[cfg(feature = "cpu")]
mod cpu;
pub(crate) mod log_sum_exp;
#[cfg(feature = "cpu")]
mod op;
pub(crate) mod reference;

use burn::tensor::{Int, Tensor};

use crate::op::Target;

/// The cross-entropy with label smoothing ε (Szegedy et al., 2015; paper §5.4), summed over all
/// rows except targets `pad`. Returns two sums, each `[1]`: Σ (1−ε)·NLL + ε·(mean of −log p over
/// the vocabulary), and Σ NLL, where NLL is the negative log-likelihood −log p(target) in nats.
///
/// Gradients flow through the first sum only; the second one is for reports. The fused version
/// makes one pass over the logits forward and one backward, and writes the gradient over the logits
/// if no other tensor shares their memory. The sums are taken in a fixed order, on the CPU in
/// float64.
///
/// A logit of −∞ marks a token that cannot occur. Without smoothing it costs nothing; with
/// smoothing the loss is infinite.
///
/// # Shapes
/// - `logits`: `[rows, vocab]`, `targets`: `[rows]` ids → `[1]` and `[1]`
///
/// # Panics
/// If a target is neither `pad` nor below `vocab`; the reference does not check this.
pub fn label_smoothed_cross_entropy(
    logits: Tensor<2>,
    targets: Tensor<1, Int>,
    pad: u32,
    smoothing: f64,
) -> (Tensor<1>, Tensor<1>) {
    match Target::of(&[&logits]) {
        #[cfg(feature = "cpu")]
        Target::Cpu => {
            let targets = crate::cpu::integers(targets);
            let loss = cpu::CrossEntropy {
                targets,
                pad: i64::from(pad),
                epsilon: smoothing,
            };
            let sums: Tensor<1> = crate::op::apply(loss, [logits.into()]);
            (sums.clone().narrow(0, 0, 1), sums.detach().narrow(0, 1, 1))
        }
        _ => reference::label_smoothed_cross_entropy(logits, targets, pad, smoothing),
    }
}
