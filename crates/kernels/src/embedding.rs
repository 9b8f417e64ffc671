//! The embedding: rows of a table (paper §3.4).

use burn::tensor::{Int, Tensor};

/// The embedding (paper §3.4): the rows `ids` of `weight`, multiplied by `scale` (√d_model in the
/// paper).
///
/// On the CPU, the gradient of a row is the sum over the occurrences of its id, in their order.
///
/// # Shapes
/// `weight`: `[vocab, d]`, `ids`: `[batch, len]` → `[batch, len, d]`
///
/// # Panics
/// Panics on the CPU if an id is not below `vocab`.
pub fn embedding(weight: Tensor<2>, ids: Tensor<2, Int>, scale: f64) -> Tensor<3> {
    burn::tensor::module::embedding(weight, ids) * scale
}
