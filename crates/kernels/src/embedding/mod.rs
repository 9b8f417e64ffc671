//! The embedding: rows of a table (paper §3.4).

#[cfg(feature = "cpu")]
mod cpu;
#[cfg(feature = "cpu")]
mod op;
pub(crate) mod reference;

use burn::tensor::{Int, Tensor};

use crate::op::Target;

/// The embedding (paper §3.4): the rows `ids` of `weight`, multiplied by `scale` (√d_model in the
/// paper).
///
/// The fused version makes one parallel pass forward and one backward. The gradient of a row is the
/// sum over the occurrences of its id, in their order.
///
/// # Shapes
/// `weight`: `[vocab, d]`, `ids`: `[batch, len]` → `[batch, len, d]`
///
/// # Panics
/// If an id is not below `vocab`.
pub fn embedding(weight: Tensor<2>, ids: Tensor<2, Int>, scale: f64) -> Tensor<3> {
    match Target::of(&[&weight]) {
        #[cfg(feature = "cpu")]
        Target::Cpu => op::embedding(weight, ids, scale),
        _ => reference::embedding(weight, ids, scale),
    }
}
