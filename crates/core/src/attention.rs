use burn::tensor::{Tensor, activation::softmax};
use burnformer_kernels::{masked_softmax, to_f32};

use crate::bias::AttentionBias;
use crate::dropout::Dropout;
use crate::random::Mode;

/// The result of attention: the context vectors, and the weights with which the values were added
/// up.
#[derive(Clone, Debug)]
pub struct Attended {
    /// The weighted sums of the values, `[batch, heads, query_len, d_v]`.
    pub context: Tensor<4>,
    /// The attention weights, `[batch, heads, query_len, key_len]`. Each row sums to 1, or to 0 if
    /// all keys are hidden from the query.
    pub weights: Tensor<4>,
}

/// Scaled dot-product attention (paper §3.2.1): `softmax(Q·Kᵀ/√d_k)·V`.
///
/// `bias` hides keys or adds to the scores. A query whose keys are all hidden gets weights 0 and
/// context 0, with finite gradients. `dropout` acts on the weights. If the tensors are in 16 bits,
/// the two matrix products are computed in 16 bits; softmax and weights are float32.
///
/// # Shapes
/// - `query`: `[batch, heads, query_len, d_k]`
/// - `key`: `[batch, heads, key_len, d_k]`, `value`: `[batch, heads, key_len, d_v]`
pub fn scaled_dot_product_attention(
    query: Tensor<4>,
    key: Tensor<4>,
    value: Tensor<4>,
    bias: &AttentionBias,
    dropout: &Dropout,
    mode: Mode,
) -> Attended {
    let [batch, heads, query_len, d_k] = query.dims();
    let key_len = key.dims()[2];
    bias.check([batch, heads, query_len, key_len]);
    // Scaling the queries is cheaper than scaling the scores: d_k numbers per position instead of
    // key_len.
    let scores = to_f32((query * (1.0 / (d_k as f64).sqrt())).matmul(key.swap_dims(2, 3)));
    let scores = match bias {
        AttentionBias::Additive { scores: added, .. } => scores + added.clone(),
        _ => scores,
    };
    let weights = match bias.mask() {
        None => softmax(scores, 3),
        Some(mask) => masked_softmax(scores, mask.expand([batch, heads, query_len, key_len])),
    };
    let context = dropout.forward(weights.clone(), mode).cast(value.dtype()).matmul(value);
    Attended { context, weights }
}
