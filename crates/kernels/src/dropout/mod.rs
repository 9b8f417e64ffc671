//! Dropout, alone and on the way into a residual connection (paper §5.4).

#[cfg(feature = "cpu")]
mod cpu;
#[cfg(feature = "gpu")]
pub(crate) mod gpu;
mod like;
mod mask;
#[cfg(feature = "cpu")]
mod op;
pub(crate) mod reference;
#[cfg(feature = "remote")]
pub(crate) mod remote;

use burn::tensor::Tensor;

use crate::op::Place;

pub use mask::DropoutMask;

/// Dropout (paper §5.4): `x` times the factors of `mask`; `x` as it is without one.
///
/// Fused: the factors are drawn as they are used, over `x` itself where nothing else holds it.
///
/// # Shapes
/// `x`: any → the same.
pub fn dropout<const D: usize>(x: Tensor<D>, mask: Option<DropoutMask>) -> Tensor<D> {
    match (Place::of(&[&x]), mask) {
        #[cfg(feature = "cpu")]
        (Place::Cpu, Some(mask)) => op::dropout(x, mask),
        _ => reference::dropout(x, mask),
    }
}

/// `x + dropout(y)` (paper §5.4), the residual connection of a pre-norm layer.
///
/// # Shapes
/// `x`, `y`: one shape → the same.
///
/// # Panics
/// If the shapes differ.
pub fn residual_dropout<const D: usize>(
    x: Tensor<D>,
    y: Tensor<D>,
    mask: Option<DropoutMask>,
) -> Tensor<D> {
    assert_eq!(x.dims(), y.dims(), "the two sides of a residual connection have one shape");
    match Place::of(&[&x, &y]) {
        #[cfg(feature = "cpu")]
        Place::Cpu => op::residual_dropout(x, y, mask),
        _ => reference::residual_dropout(x, y, mask),
    }
}
