//! Affine maps (paper §3.3), and the first half of the feed-forward network.

mod compute_type;
#[cfg(feature = "cpu")]
mod cpu;
mod epilogue;
#[cfg(feature = "cpu")]
pub(crate) mod int8;
#[cfg(feature = "cpu")]
mod op;
pub(crate) mod packed;
pub(crate) mod quantize;
pub(crate) mod reference;

use burn::tensor::Tensor;

use crate::op::Place;

pub use compute_type::ComputeType;
pub use epilogue::Epilogue;

/// The affine map `x·Wᵀ + b`, with `W` in PyTorch's layout `[out, in]`.
///
/// The fused version adds the bias, and sums its gradient, in parallel passes in the order of the rows.
///
/// # Shapes
/// - `x`: `[.., in]` → `[.., out]`
/// - `weight`: `[out, in]`, `bias`: `[out]`
///
/// # Panics
/// If the shapes do not fit together.
pub fn linear<const D: usize>(
    x: Tensor<D>,
    weight: Tensor<2>,
    bias: Option<Tensor<1>>,
) -> Tensor<D> {
    linear_with(x, weight, bias, Epilogue::None)
}

/// The first half of the feed-forward network, `max(0, x·Wᵀ + b)` (paper §3.3).
///
/// The fused version takes the maximum in the pass that adds the bias.
///
/// # Shapes
/// - `x`: `[.., in]` → `[.., out]`
/// - `weight`: `[out, in]`, `bias`: `[out]`
///
/// # Panics
/// If the shapes do not fit together.
pub fn linear_relu<const D: usize>(
    x: Tensor<D>,
    weight: Tensor<2>,
    bias: Option<Tensor<1>>,
) -> Tensor<D> {
    linear_with(x, weight, bias, Epilogue::Relu)
}

fn linear_with<const D: usize>(
    x: Tensor<D>,
    weight: Tensor<2>,
    bias: Option<Tensor<1>>,
    epilogue: Epilogue,
) -> Tensor<D> {
    check(&x, &weight, bias.as_ref());
    let place = match &bias {
        Some(bias) => Place::of(&[&x, &weight, bias]),
        None => Place::of(&[&x, &weight]),
    };
    match place {
        #[cfg(feature = "cpu")]
        Place::Cpu => op::linear(x, weight, bias, epilogue),
        _ => match epilogue {
            Epilogue::None => reference::linear(x, weight, bias),
            Epilogue::Relu => reference::linear_relu(x, weight, bias),
        },
    }
}

fn check<const D: usize>(x: &Tensor<D>, weight: &Tensor<2>, bias: Option<&Tensor<1>>) {
    let [output, input] = weight.dims();
    assert_eq!(
        x.dims()[D - 1],
        input,
        "the last axis of x does not fit a weight [{output}, {input}]"
    );
    if let Some(bias) = bias {
        assert_eq!(bias.dims(), [output], "the bias does not fit a weight [{output}, {input}]");
    }
}
