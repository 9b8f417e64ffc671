//! Rows of a table (paper §3.4).

#[cfg(feature = "cpu")]
mod cpu;
#[cfg(feature = "cpu")]
mod op;
pub(crate) mod reference;

use burn::tensor::{Int, Tensor};

use crate::op::Place;

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
    match Place::of(&[&weight]) {
        #[cfg(feature = "cpu")]
        Place::Cpu => op::embedding(weight, ids, scale),
        _ => reference::embedding(weight, ids, scale),
    }
}
