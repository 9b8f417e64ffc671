//! The norm of gradients, all of a model's taken as one vector.

#[cfg(feature = "cpu")]
mod cpu;
#[cfg(feature = "gpu")]
mod gpu;
pub(crate) mod reference;

use burn::tensor::Tensor;

use crate::op::{HasPlace, Place};

/// The norm of all `vectors` taken as one, `[1]` on their device, for which the host does not wait.
///
/// Fused on GPUs (for tensors without gradients of their own): one launch for each vector and one for all, summed in a
/// fixed order.
///
/// # Panics
/// If there are none.
pub fn global_norm(vectors: &[Tensor<1>]) -> Tensor<1> {
    assert!(!vectors.is_empty(), "the norm of no vectors has no device");
    let operands: Vec<&dyn HasPlace> = vectors.iter().map(|vector| vector as _).collect();
    match Place::without_gradients(&operands) {
        #[cfg(feature = "gpu")]
        Place::Gpu => gpu::global_norm(vectors),
        _ => reference::global_norm(vectors),
    }
}

/// Σ x² over all elements; the root of their total over a model's gradients is its global norm.
///
/// Fused (for tensors without gradients of their own): in parallel, in float64, in a fixed order.
pub fn sum_of_squares<const D: usize>(x: Tensor<D>) -> f64 {
    match Place::without_gradients(&[&x]) {
        #[cfg(feature = "cpu")]
        Place::Cpu => cpu::sum_of_squares_of(x),
        _ => reference::sum_of_squares(x),
    }
}
