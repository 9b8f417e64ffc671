//! Dropout, alone and in a residual connection (paper §5.4).

#[cfg(feature = "cpu")]
mod cpu;
mod mask;
#[cfg(feature = "cpu")]
mod op;
pub(crate) mod reference;
mod tensor;

use burn::tensor::Tensor;

use crate::op::Target;
#[cfg(feature = "cpu")]
use crate::op::apply;

pub use mask::DropoutMask;

/// Dropout (paper §5.4): `x` multiplied by the factors of `mask`. Without a mask, the result is
/// `x`.
///
/// The fused version draws the factors while it uses them, and writes the result over `x` if no
/// other tensor shares its memory.
///
/// # Shapes
/// `x` may have any shape; the result has the shape of `x`.
pub fn dropout<const D: usize>(x: Tensor<D>, mask: Option<DropoutMask>) -> Tensor<D> {
    match (Target::of(&[&x]), mask) {
        #[cfg(feature = "cpu")]
        (Target::Cpu, Some(mask)) => apply(op::Dropout(mask), [x.into()]),
        _ => reference::dropout(x, mask),
    }
}

/// The residual connection of a pre-norm layer, `x + dropout(y)` (paper §5.4).
///
/// # Shapes
/// `x` and `y` have one shape, which is also the shape of the result.
///
/// # Panics
/// Panics if the shapes differ.
pub fn residual_dropout<const D: usize>(
    x: Tensor<D>,
    y: Tensor<D>,
    mask: Option<DropoutMask>,
) -> Tensor<D> {
    assert_eq!(
        x.dims(),
        y.dims(),
        "the two sides of a residual connection have one shape"
    );
    match Target::of(&[&x, &y]) {
        #[cfg(feature = "cpu")]
        Target::Cpu => apply(op::ResidualDropout(mask), [x.into(), y.into()]),
        _ => reference::residual_dropout(x, y, mask),
    }
}
