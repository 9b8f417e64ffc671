use burn::tensor::activation::softmax;
use burn::tensor::{Bool, Tensor};

use super::softmax::masked_softmax;
use crate::dropout::DropoutMask;
use crate::dropout::reference::dropout;
use crate::to_f32::to_f32;

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
    let scores = to_f32(query.matmul(split_heads(key, heads).swap_dims(2, 3)));
    let weights = match hidden {
        None => softmax(scores, 3),
        Some(hidden) => masked_softmax(scores, hidden.expand([batch, heads, query_len, key_len])),
    };
    let weights = dropout(weights, mask).cast(product);
    let context = weights.matmul(split_heads(value, heads));
    context.swap_dims(1, 2).reshape([batch, query_len, value_width])
}

/// `[batch, len, heads·d]` → `[batch, heads, len, d]`.
fn split_heads(x: Tensor<3>, heads: usize) -> Tensor<4> {
    let [batch, len, width] = x.dims();
    x.reshape([batch, len, heads, width / heads]).swap_dims(1, 2)
}
