use burn::tensor::Tensor;

use crate::{DropoutMask, twin};

/// Layer normalisation (Ba et al., 2016) over the last axis: (x − mean) / √(variance + ε) times
/// `weight` plus `bias`.
///
/// # Shapes
/// `x`: `[.., d]` → the same; `weight`, `bias`: `[d]`
pub fn layer_norm<const D: usize>(
    x: Tensor<D>,
    weight: Tensor<1>,
    bias: Tensor<1>,
    epsilon: f64,
) -> Tensor<D> {
    check_width(&x, &weight, &bias);
    #[cfg(feature = "flex")]
    if crate::flex::covers(&x) && crate::flex::cover([&weight, &bias]) {
        return crate::flex::norm::fused(x, weight, bias, epsilon);
    }
    #[cfg(feature = "cube")]
    if crate::cube::norm::covers(&x, &weight) && crate::cube::cover([&weight, &bias]) {
        return crate::cube::norm::fused(x, weight, bias, epsilon);
    }
    twin::layer_norm(x, weight, bias, epsilon)
}

/// `layer_norm(x + dropout(y))`, the wiring around a post-norm sub-layer (paper §3.1 and §5.4).
///
/// Fused: one pass over the rows each way, and the dropped elements are drawn again in the
/// backward pass. The gradients of `weight` and `bias` are summed in an order that depends on the
/// number of rows alone.
///
/// # Shapes
/// `x`, `y`: `[.., d]` → the same; `weight`, `bias`: `[d]`
pub fn residual_dropout_norm<const D: usize>(
    x: Tensor<D>,
    y: Tensor<D>,
    weight: Tensor<1>,
    bias: Tensor<1>,
    epsilon: f64,
    mask: Option<DropoutMask>,
) -> Tensor<D> {
    assert_eq!(x.dims(), y.dims(), "the two sides of a residual connection have one shape");
    check_width(&x, &weight, &bias);
    #[cfg(feature = "flex")]
    if crate::flex::cover([&x, &y]) && crate::flex::cover([&weight, &bias]) {
        return crate::flex::residual_norm::fused(x, y, weight, bias, epsilon, mask);
    }
    #[cfg(feature = "cube")]
    if crate::cube::norm::covers(&x, &weight)
        && crate::cube::covers(&y)
        && crate::cube::cover([&weight, &bias])
    {
        return crate::cube::norm::fused_wiring([x, y], weight, bias, epsilon, mask);
    }
    twin::residual_dropout_norm(x, y, weight, bias, epsilon, mask)
}

fn check_width<const D: usize>(x: &Tensor<D>, weight: &Tensor<1>, bias: &Tensor<1>) {
    let width = x.dims()[D - 1];
    let given = [weight.dims()[0], bias.dims()[0]];
    assert_eq!(given, [width; 2], "weight and bias of a norm over {width} features");
}
