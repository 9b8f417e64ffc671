//! Layer normalisation, alone and around a residual connection (paper §3.1).

#[cfg(feature = "cpu")]
mod cpu;
#[cfg(feature = "cpu")]
mod op;
pub(crate) mod reference;

use burn::tensor::Tensor;

use crate::dropout::DropoutMask;
use crate::op::Target;
#[cfg(feature = "cpu")]
use crate::op::apply;

/// Layer normalisation (Ba et al., 2016; paper §3.1) over the last axis: (x − mean) / √(variance +
/// ε), multiplied by `weight`, plus `bias`.
///
/// # Shapes
/// `x`: `[.., d]`, `weight` and `bias`: `[d]` → `[.., d]`
///
/// # Panics
/// Panics if the shapes do not fit together.
pub fn layer_norm<const D: usize>(
    x: Tensor<D>,
    weight: Tensor<1>,
    bias: Tensor<1>,
    epsilon: f64,
) -> Tensor<D> {
    check_width(&x, &weight, &bias);
    match Target::of(&[&x, &weight, &bias]) {
        #[cfg(feature = "cpu")]
        Target::Cpu => apply(
            op::Norm {
                epsilon,
                mask: None,
            },
            [x.into(), weight.into(), bias.into()],
        ),
        _ => reference::layer_norm(x, weight, bias, epsilon),
    }
}

/// The residual connection of a post-norm sub-layer, `layer_norm(x + dropout(y))` (paper §3.1 and
/// §5.4).
///
/// The fused version makes one pass over the rows forward and one backward, and draws the dropped
/// elements again in the backward pass. The gradients of `weight` and `bias` are summed in an order
/// that depends only on the number of rows.
///
/// # Shapes
/// `x` and `y`: `[.., d]`, `weight` and `bias`: `[d]` → `[.., d]`
///
/// # Panics
/// Panics if the shapes do not fit together.
pub fn residual_dropout_norm<const D: usize>(
    x: Tensor<D>,
    y: Tensor<D>,
    weight: Tensor<1>,
    bias: Tensor<1>,
    epsilon: f64,
    mask: Option<DropoutMask>,
) -> Tensor<D> {
    assert_eq!(
        x.dims(),
        y.dims(),
        "the two sides of a residual connection have one shape"
    );
    check_width(&x, &weight, &bias);
    match Target::of(&[&x, &y, &weight, &bias]) {
        #[cfg(feature = "cpu")]
        Target::Cpu => {
            let inputs = [x.into(), y.into(), weight.into(), bias.into()];
            apply(op::Norm { epsilon, mask }, inputs)
        }
        _ => reference::residual_dropout_norm(x, y, weight, bias, epsilon, mask),
    }
}

fn check_width<const D: usize>(x: &Tensor<D>, weight: &Tensor<1>, bias: &Tensor<1>) {
    let width = x.dims()[D - 1];
    let widths = [weight.dims()[0], bias.dims()[0]];
    assert_eq!(
        widths, [width; 2],
        "the weight or the bias does not fit a norm over {width} features"
    );
}
