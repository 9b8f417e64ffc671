use burn::tensor::{Bool, Tensor};

use crate::attention;

/// [`attention`] for few queries a batch entry, without gradients: a step of decoding, where matrix
/// products are too small to pay.
///
/// Fused: each query is worked on by itself, so that its result depends on its own keys alone.
///
/// # Shapes
/// - `query`: `[batch, query_len, heads·d_k]`
/// - `key`: `[batch, key_len, heads·d_k]`, `value`: `[batch, key_len, heads·d_v]`
/// - `hidden`: `[batch or 1, 1, 1, key_len]`
/// - → `[batch, query_len, heads·d_v]`
///
/// # Panics
/// If the shapes do not fit together.
pub fn step_attention(
    query: Tensor<3>,
    key: Tensor<3>,
    value: Tensor<3>,
    heads: usize,
    hidden: Option<Tensor<4, Bool>>,
) -> Tensor<3> {
    crate::attention::check(&query, &key, &value, heads, hidden.as_ref());
    #[cfg(feature = "flex")]
    if [&query, &key, &value].into_iter().all(crate::flex::plain)
        && hidden.as_ref().is_none_or(|hidden| hidden.dims()[1..3] == [1, 1])
    {
        return crate::flex::step::shared(query, key, value, heads, hidden);
    }
    attention(query, key, value, heads, hidden, None)
}
