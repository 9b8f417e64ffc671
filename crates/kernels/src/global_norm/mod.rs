//! The norm of all gradients of a model, taken as one vector.

#[cfg(feature = "cpu")]
mod cpu;
pub(crate) mod reference;

use burn::tensor::Tensor;

use crate::op::Target;

/// The number of squares that are summed before the next ones.
const ROW: usize = 1024;

/// The Euclidean norm of all `vectors` taken as one vector: a tensor `[1]` on their device. The
/// host does not wait for it.
///
/// The vectors are copied into one, so that a GPU has one launch for each copy, and few for the
/// sum. The squares are summed in rows first, so that rounding does not lose small squares.
///
/// # Panics
/// If `vectors` is empty.
pub fn global_norm(vectors: &[Tensor<1>]) -> Tensor<1> {
    assert!(
        !vectors.is_empty(),
        "the global norm needs at least one vector"
    );
    let count: usize = vectors.iter().map(|vector| vector.dims()[0]).sum();
    let filling = Tensor::zeros([ROW - count % ROW], &vectors[0].device());
    let rows = Tensor::cat([vectors, &[filling]].concat(), 0).reshape([-1, ROW as i32]);
    rows.square().sum_dim(1).sum().sqrt()
}

/// The sum of the squares of all elements, Σ x². The square root of the total over all gradients of
/// a model is their global norm.
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
