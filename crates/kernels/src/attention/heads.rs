use burn::tensor::Tensor;

/// Separates the heads, whose features stand side by side in `x` (paper §3.2.2).
///
/// # Shapes
/// `x`: `[batch, len, heads·d]` → `[batch, heads, len, d]`
///
/// # Panics
/// If `heads` does not divide the number of features.
pub fn split_heads(x: Tensor<3>, heads: usize) -> Tensor<4> {
    let [batch, len, width] = x.dims();
    x.reshape([batch, len, heads, width / heads]).swap_dims(1, 2)
}

/// Concatenates the features of the heads (paper §3.2.2). This is the inverse of [`split_heads`].
///
/// # Shapes
/// `x`: `[batch, heads, len, d]` → `[batch, len, heads·d]`
pub fn merge_heads(x: Tensor<4>) -> Tensor<3> {
    let [batch, heads, len, d] = x.dims();
    x.swap_dims(1, 2).reshape([batch, len, heads * d])
}
