use burn::tensor::Tensor;

use super::mask::DropoutMask;

/// The reference of [`dropout`](crate::dropout) in plain tensor arithmetic.
///
/// # Shapes
/// `x`: any, and `mask` has an element for each of its elements → the shape of `x`
pub fn dropout<const D: usize>(x: Tensor<D>, mask: Option<DropoutMask>) -> Tensor<D> {
    match mask {
        None => x,
        Some(mask) => mask.tensor_like(&x) * x,
    }
}

/// The reference of [`residual_dropout`](crate::residual_dropout) in plain tensor arithmetic.
///
/// # Shapes
/// `x` and `y`: one shape, `[batch, len, d_model]` in a model → the same shape
pub fn residual_dropout<const D: usize>(
    x: Tensor<D>,
    y: Tensor<D>,
    mask: Option<DropoutMask>,
) -> Tensor<D> {
    x + dropout(y, mask)
}
