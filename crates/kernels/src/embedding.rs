use burn::tensor::{Int, Tensor};

use crate::twin;

/// The rows `ids` of `weight`, times `scale` (paper §3.4: √d_model).
///
/// Fused: one parallel pass each way; the gradient of a row sums its occurrences in their order.
///
/// # Shapes
/// `weight`: `[vocab, d]`, `ids`: `[batch, len]` → `[batch, len, d]`
///
/// # Panics
/// If an id is not below `vocab`.
pub fn embedding(weight: Tensor<2>, ids: Tensor<2, Int>, scale: f64) -> Tensor<3> {
    #[cfg(feature = "flex")]
    if crate::flex::covers(&weight) {
        return crate::flex::embedding::fused(weight, ids, scale);
    }
    twin::embedding(weight, ids, scale)
}
