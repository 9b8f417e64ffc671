use burn::tensor::Tensor;
use burn::tensor::activation::softmax;

use super::AttentionInputs;
use super::inputs::{merge_heads, split_heads};
use super::softmax::masked_softmax;
use crate::dropout::DropoutMask;
use crate::dropout::reference::dropout;
use crate::to_f32::to_f32;

/// The reference of [`attention`](crate::attention) in plain tensor arithmetic.
///
/// # Shapes
/// - `inputs`: `query` `[batch, query_len, heads·d_k]`, `key` `[batch, key_len, heads·d_k]`,
///   `value` `[batch, key_len, heads·d_v]` → `[batch, query_len, heads·d_v]`
/// - `mask`: one element for each weight, `[batch, heads, query_len, key_len]`
pub fn attention(inputs: AttentionInputs, mask: Option<DropoutMask>) -> Tensor<3> {
    let AttentionInputs {
        query,
        key,
        value,
        heads,
        hidden,
    } = inputs;
    let [batch, query_len, width] = query.dims();
    let key_len = value.dims()[1];
    let product = query.dtype();
    // [batch, heads, query_len, d_k]
    let query = split_heads(query, heads) * ((width / heads) as f64).powf(-0.5);
    // [batch, heads, query_len, key_len], as the weights
    let scores = to_f32(query.matmul(split_heads(key, heads).swap_dims(2, 3)));
    let weights = match hidden {
        None => softmax(scores, 3),
        Some(hidden) => masked_softmax(scores, hidden.expand([batch, heads, query_len, key_len])),
    };
    let weights = dropout(weights, mask).cast(product);
    merge_heads(weights.matmul(split_heads(value, heads)))
}
