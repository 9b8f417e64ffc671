use burn::tensor::Tensor;

use crate::{DropoutMask, twin};

/// Dropout (paper §5.4): `x` times the factors of `mask`; `x` as it is without one.
///
/// Fused: the factors are drawn as they are used, over `x` itself where nothing else holds it.
///
/// # Shapes
/// `x`: any → the same.
pub fn dropout<const D: usize>(x: Tensor<D>, mask: Option<DropoutMask>) -> Tensor<D> {
    #[cfg(feature = "flex")]
    if let Some(mask) = mask
        && crate::flex::covers(&x)
    {
        return crate::flex::dropout::fused(x, mask);
    }
    twin::dropout(x, mask)
}

/// `x + dropout(y)` (paper §5.4), the residual connection of a pre-norm layer.
///
/// # Shapes
/// `x`, `y`: one shape → the same.
pub fn residual_dropout<const D: usize>(
    x: Tensor<D>,
    y: Tensor<D>,
    mask: Option<DropoutMask>,
) -> Tensor<D> {
    assert_eq!(x.dims(), y.dims(), "the two sides of a residual connection have one shape");
    #[cfg(feature = "flex")]
    if crate::flex::cover([&x, &y]) {
        return crate::flex::residual::fused(x, y, mask);
    }
    twin::residual_dropout(x, y, mask)
}
