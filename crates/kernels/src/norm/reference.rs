use burn::tensor::Tensor;

use crate::dropout::DropoutMask;
use crate::dropout::reference::residual_dropout;

/// The reference of [`layer_norm`](crate::layer_norm) in plain tensor arithmetic.
///
/// # Shapes
/// `x`: `[.., d_model]`, `weight` and `bias`: `[d_model]` → `[.., d_model]`
pub fn layer_norm<const D: usize>(
    x: Tensor<D>,
    weight: Tensor<1>,
    bias: Tensor<1>,
    epsilon: f64,
) -> Tensor<D> {
    burn::tensor::module::layer_norm(x, weight, Some(bias), epsilon)
}

/// The reference of [`residual_dropout_norm`](crate::residual_dropout_norm) in plain tensor
/// arithmetic.
///
/// # Shapes
/// `x` and `y`: `[.., d_model]`, `weight` and `bias`: `[d_model]` → `[.., d_model]`
pub fn residual_dropout_norm<const D: usize>(
    x: Tensor<D>,
    y: Tensor<D>,
    weight: Tensor<1>,
    bias: Tensor<1>,
    epsilon: f64,
    mask: Option<DropoutMask>,
) -> Tensor<D> {
    layer_norm(residual_dropout(x, y, mask), weight, bias, epsilon)
}
