//! The loss over the vocabulary (paper §5.4).

#[cfg(feature = "cpu")]
mod cpu;
#[cfg(feature = "gpu")]
mod gpu;
pub(crate) mod log_sum_exp;
#[cfg(feature = "cpu")]
mod op;
pub(crate) mod reference;

use burn::tensor::{Int, Tensor};

use crate::op::Place;

/// Cross-entropy with label smoothing ε (Szegedy et al., 2015), summed over the rows whose target
/// is not `pad`: Σ (1−ε)·NLL + ε·(mean of −log p over the vocabulary), and Σ NLL, each `[1]`.
///
/// Gradients flow through the first sum only; the second is for reports. Fused: one pass over the
/// logits each way, and the gradient is written over the logits where nothing else holds them. The
/// sums are taken in a fixed order, on the CPU in float64.
///
/// A logit of −∞ is a token that cannot be: without smoothing it costs nothing, with smoothing the
/// loss is infinite.
///
/// # Shapes
/// - `logits`: `[rows, vocab]`, `targets`: `[rows]` ids
///
/// # Panics
/// If a target is neither `pad` nor below `vocab`; on GPUs, for which the host does not wait, the sums are
/// infinite instead.
pub fn label_smoothed_cross_entropy(
    logits: Tensor<2>,
    targets: Tensor<1, Int>,
    pad: u32,
    smoothing: f64,
) -> (Tensor<1>, Tensor<1>) {
    match Place::of(&[&logits]) {
        #[cfg(feature = "cpu")]
        Place::Cpu => op::label_smoothed_cross_entropy(logits, targets, pad, smoothing),
        #[cfg(feature = "gpu")]
        Place::Gpu => gpu::label_smoothed_cross_entropy(logits, targets, pad, smoothing),
        _ => reference::label_smoothed_cross_entropy(logits, targets, pad, smoothing),
    }
}
