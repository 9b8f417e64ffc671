use burn::tensor::{Int, Tensor};

use crate::twin;

/// Cross-entropy with label smoothing ε (Szegedy et al., 2015), summed over the rows whose target
/// is not `pad`: Σ (1−ε)·NLL + ε·(mean of −log p over the vocabulary), and Σ NLL, each `[1]`.
///
/// Gradients flow through the first sum only; the second is for reports. Fused: one pass over the
/// logits each way, and the gradient is written over the logits where nothing else holds them. The
/// sums are taken in a fixed order, on the CPU in 64 bits.
///
/// # Shapes
/// - `logits`: `[rows, vocab]`, `targets`: `[rows]` ids
///
/// # Panics
/// If a target is neither `pad` nor below `vocab`; on GPUs, which the host does not wait for, the sums are infinite
/// instead.
pub fn label_smoothed_cross_entropy(
    logits: Tensor<2>,
    targets: Tensor<1, Int>,
    pad: u32,
    smoothing: f64,
) -> (Tensor<1>, Tensor<1>) {
    #[cfg(feature = "flex")]
    if crate::flex::covers(&logits) {
        return crate::flex::cross_entropy::fused(logits, targets, pad, smoothing);
    }
    #[cfg(feature = "cube")]
    if crate::cube::covers(&logits) {
        return crate::cube::cross_entropy::fused(logits, targets, pad, smoothing);
    }
    twin::label_smoothed_cross_entropy(logits, targets, pad, smoothing)
}
