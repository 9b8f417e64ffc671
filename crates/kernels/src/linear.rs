use burn::tensor::Tensor;

use crate::twin;

/// The affine map `x·Wᵀ + b`, with `W` in PyTorch's layout.
///
/// Fused: bias and bias gradient are parallel passes in the order of the rows.
///
/// # Shapes
/// - `x`: `[.., in]` → `[.., out]`
/// - `weight`: `[out, in]`, `bias`: `[out]`
pub fn linear<const D: usize>(
    x: Tensor<D>,
    weight: Tensor<2>,
    bias: Option<Tensor<1>>,
) -> Tensor<D> {
    check(&x, &weight, bias.as_ref());
    #[cfg(feature = "flex")]
    if fuses(&x, &weight, bias.as_ref()) {
        return crate::flex::linear::fused(
            x,
            weight,
            bias,
            crate::flex::linear::Activation::Identity,
        );
    }
    twin::linear(x, weight, bias)
}

/// `max(0, x·Wᵀ + b)`, the first half of the feed-forward network (paper §3.3).
///
/// # Shapes
/// As [`linear`].
pub fn linear_relu<const D: usize>(
    x: Tensor<D>,
    weight: Tensor<2>,
    bias: Option<Tensor<1>>,
) -> Tensor<D> {
    check(&x, &weight, bias.as_ref());
    #[cfg(feature = "flex")]
    if fuses(&x, &weight, bias.as_ref()) {
        return crate::flex::linear::fused(x, weight, bias, crate::flex::linear::Activation::Relu);
    }
    twin::linear_relu(x, weight, bias)
}

#[cfg(feature = "flex")]
fn fuses<const D: usize>(x: &Tensor<D>, weight: &Tensor<2>, bias: Option<&Tensor<1>>) -> bool {
    crate::flex::covers(x) && crate::flex::covers(weight) && bias.is_none_or(crate::flex::covers)
}

fn check<const D: usize>(x: &Tensor<D>, weight: &Tensor<2>, bias: Option<&Tensor<1>>) {
    let [output, input] = weight.dims();
    assert_eq!(x.dims()[D - 1], input, "input features of a weight {output}x{input}");
    if let Some(bias) = bias {
        assert_eq!(bias.dims(), [output], "bias of a weight {output}x{input}");
    }
}
