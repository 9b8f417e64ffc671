use burn::tensor::Tensor;

use crate::twin;

/// The norm of all `vectors` taken as one, `[1]` on their device, for which the host does not wait.
///
/// Fused on GPUs (for tensors without gradients of their own): one launch for each vector and one for all, summed in a
/// fixed order.
///
/// # Panics
/// If there are none.
pub fn global_norm(vectors: &[Tensor<1>]) -> Tensor<1> {
    assert!(!vectors.is_empty(), "the norm of no vectors has no device");
    #[cfg(feature = "cube")]
    if vectors.iter().all(crate::cube::plain) {
        return crate::cube::squares::norm(vectors);
    }
    twin::global_norm(vectors)
}
