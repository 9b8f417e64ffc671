use burn::tensor::activation::softmax;
use burn::tensor::{Bool, Tensor};

use super::dropout::dropout;
use crate::{DropoutMask, widened};

/// [`attention`](crate::attention) in tensor arithmetic.
pub fn attention(
    query: Tensor<3>,
    key: Tensor<3>,
    value: Tensor<3>,
    heads: usize,
    hidden: Option<Tensor<4, Bool>>,
    mask: Option<DropoutMask>,
) -> Tensor<3> {
    let [batch, query_len, width] = query.dims();
    let [_, key_len, value_width] = value.dims();
    let product = query.dtype();
    let query = split_heads(query, heads) * ((width / heads) as f64).powf(-0.5);
    let scores = widened(query.matmul(split_heads(key, heads).swap_dims(2, 3)));
    let weights = match hidden {
        None => softmax(scores, 3),
        Some(hidden) => masked_softmax(scores, hidden.expand([batch, heads, query_len, key_len])),
    };
    let weights = dropout(weights, mask).cast(product);
    let context = weights.matmul(split_heads(value, heads));
    context.swap_dims(1, 2).reshape([batch, query_len, value_width])
}

/// Softmax over the last axis of the scores that are not hidden; 0 where they are, also where all of a row are.
///
/// A row without a visible score is NaN between the two fills, of which the second takes the NaN away forward and the
/// first backward: every one of its elements is hidden, so that outputs and gradients are finite.
///
/// # Shapes
/// `scores`, `hidden`: one shape → the same.
pub fn masked_softmax<const D: usize>(scores: Tensor<D>, hidden: Tensor<D, Bool>) -> Tensor<D> {
    let visible = scores.mask_fill(hidden.clone(), f32::NEG_INFINITY);
    softmax(visible, D - 1).mask_fill(hidden, 0.0)
}

/// `[batch, len, heads·d]` → `[batch, heads, len, d]`.
fn split_heads(x: Tensor<3>, heads: usize) -> Tensor<4> {
    let [batch, len, width] = x.dims();
    x.reshape([batch, len, heads, width / heads]).swap_dims(1, 2)
}
