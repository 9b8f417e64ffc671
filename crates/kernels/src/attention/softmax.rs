use burn::tensor::activation::softmax;
use burn::tensor::{Bool, Tensor};

/// Softmax over the last axis of the scores that are not hidden; 0 where they are, also where all of a row are.
///
/// A row without a visible score is NaN between the two fills: the second takes the NaN away in the forward pass and
/// the first in the backward pass, because every element of the row is hidden. Outputs and gradients are finite.
///
/// # Shapes
/// `scores`, `hidden`: one shape → the same.
pub fn masked_softmax<const D: usize>(scores: Tensor<D>, hidden: Tensor<D, Bool>) -> Tensor<D> {
    let visible = scores.mask_fill(hidden.clone(), f32::NEG_INFINITY);
    softmax(visible, D - 1).mask_fill(hidden, 0.0)
}
