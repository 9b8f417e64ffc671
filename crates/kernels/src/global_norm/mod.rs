//! The norm of all gradients of a model, taken as one vector.

#[cfg(feature = "cpu")]
mod cpu;
#[cfg(feature = "gpu")]
mod gpu;
pub(crate) mod reference;

use burn::tensor::Tensor;

use crate::op::{HasTarget, Target};

/// The Euclidean norm of all `vectors` taken as one vector: a tensor `[1]` on their device. The
/// host does not wait for it.
///
/// On GPUs, tensors without gradients are summed by one kernel launch for each vector
/// and one launch for all, in a fixed order.
///
/// # Panics
/// If `vectors` is empty.
pub fn global_norm(vectors: &[Tensor<1>]) -> Tensor<1> {
    assert!(!vectors.is_empty(), "the global norm needs at least one vector");
    let operands: Vec<&dyn HasTarget> = vectors.iter().map(|vector| vector as _).collect();
    match Target::without_gradients(&operands) {
        #[cfg(feature = "gpu")]
        Target::Gpu => gpu::global_norm(vectors),
        _ => reference::global_norm(vectors),
    }
}

/// The sum of the squares of all elements, Σ x². The square root of the total over all gradients of
/// a model is their global norm.
///
/// On the CPU, a tensor without gradients is summed in parallel, in float64 and in a
/// fixed order.
pub fn sum_of_squares<const D: usize>(x: Tensor<D>) -> f64 {
    match Target::without_gradients(&[&x]) {
        #[cfg(feature = "cpu")]
        Target::Cpu => cpu::sum_of_squares_of(x),
        _ => reference::sum_of_squares(x),
    }
}
