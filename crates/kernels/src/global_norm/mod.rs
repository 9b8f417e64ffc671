//! The norm of all gradients of a model, taken as one vector.

#[cfg(feature = "cpu")]
mod cpu;
pub(crate) mod reference;

use burn::tensor::Tensor;

use crate::op::Target;
use crate::sum::by_rows;

/// Returns the Euclidean norm of all `vectors` taken as one vector: a tensor `[1]` on their device.
/// The host does not wait for it.
///
/// The vectors are copied into one, so that a GPU has one launch for each copy, and few for the
/// sum.
///
/// # Panics
/// Panics if `vectors` is empty.
pub fn global_norm(vectors: &[Tensor<1>]) -> Tensor<1> {
    assert!(
        !vectors.is_empty(),
        "the global norm needs at least one vector"
    );
    by_rows(Tensor::cat(vectors.to_vec(), 0).square()).sqrt()
}

/// Returns the sum of the squares of all elements, Σ x². The square root of the total over all
/// gradients of a model is their global norm.
///
/// On the CPU, a tensor without gradients is summed in parallel, in float64 and in a
/// fixed order.
pub fn sum_of_squares<const D: usize>(x: Tensor<D>) -> f64 {
    match Target::without_gradients(&[&x]) {
        #[cfg(feature = "cpu")]
        Target::Cpu => cpu::sum_of_squares(x),
        _ => reference::sum_of_squares(x),
    }
}
