use burn::tensor::activation::softmax;
use burn::tensor::{Bool, Tensor};

/// Softmax over the last axis of `scores`, leaving out the scores that `hidden` marks with `true`:
/// their weight is 0. A row with all scores hidden gives zeros.
///
/// Such a row is NaN between the two calls of `mask_fill`. The second call removes the NaN in the
/// forward pass, and the first one does so in the backward pass, because every element of the row
/// is hidden. Outputs and gradients are finite.
///
/// # Shapes
/// `scores` and `hidden`: `[.., keys]`, in attention `[batch, heads, query_len, key_len]` → the
/// same shape
pub fn masked_softmax<const D: usize>(scores: Tensor<D>, hidden: Tensor<D, Bool>) -> Tensor<D> {
    let visible = scores.mask_fill(hidden.clone(), f32::NEG_INFINITY);
    softmax(visible, D - 1).mask_fill(hidden, 0.0)
}
