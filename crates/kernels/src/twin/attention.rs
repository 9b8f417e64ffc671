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

/// The fill is finite, so that a row without a visible key stays finite in both directions; its
/// weights are then set to 0.
fn masked_softmax(scores: Tensor<4>, hidden: Tensor<4, Bool>) -> Tensor<4> {
    let lowest = scores.dtype().finfo().map_or(-1e9, |f| f.min / 4.0).max(-1e9);
    let weights = softmax(scores.mask_fill(hidden.clone(), lowest), 3);
    weights.mask_fill(hidden, 0.0)
}

/// `[batch, len, heads·d]` → `[batch, heads, len, d]`.
fn split_heads(x: Tensor<3>, heads: usize) -> Tensor<4> {
    let [batch, len, width] = x.dims();
    x.reshape([batch, len, heads, width / heads]).swap_dims(1, 2)
}
