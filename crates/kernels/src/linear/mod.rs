//! Affine maps (paper §3.3), and the first half of the feed-forward network.

#[cfg(feature = "cpu")]
pub(crate) mod cpu;
#[cfg(feature = "cpu")]
mod op;
pub(crate) mod packed;
pub(crate) mod quantize;
pub(crate) mod reference;
mod settings;

use burn::tensor::{Device, Tensor};

use crate::op::Target;
#[cfg(feature = "cpu")]
use crate::op::apply;
use crate::precision::Precision;
#[cfg(feature = "cpu")]
use crate::silu::silu;

pub use settings::{ComputeType, Epilogue};

/// The affine map `x·Wᵀ + b`, with `W` in PyTorch's layout `[out, in]`.
///
/// The fused version adds the bias as it writes the product, and sums the bias's gradient in the
/// order of the rows.
///
/// # Shapes
/// - `x`: `[.., in]` → `[.., out]`
/// - `weight`: `[out, in]`, `bias`: `[out]`
///
/// # Panics
/// Panics if the shapes do not fit together.
pub fn linear<const D: usize>(
    x: Tensor<D>,
    weight: Tensor<2>,
    bias: Option<Tensor<1>>,
) -> Tensor<D> {
    linear_with(x, weight, bias, Epilogue::None, Precision::Float32)
}

/// Returns whether [`linear_with`] takes less time in bfloat16 than in float32 on `device`. This
/// is true on a processor with the instructions of AVX-512 BF16. On GPUs it was not measured, and
/// the result is `false`.
pub fn is_bfloat16_fast_on(device: &Device) -> bool {
    #[cfg(feature = "cpu")]
    if Target::of_device(device) == Target::Cpu {
        return cpu::is_bfloat16_fast();
    }
    let _ = device;
    false
}

/// Returns `epilogue(x·Wᵀ + b)` of float32 tensors: with a ReLU the first half of the feed-forward
/// network (paper §3.3).
///
/// Fused in float32 and bfloat16: bias and epilogue are part of the product, but for SiLU, which is
/// an operation of its own because of its gradient. In bfloat16 the
/// factors of the product are rounded as they are rearranged, sums and result are float32, and in
/// the backward pass the gradient of the output is rounded for the two products there. This is
/// faster if [`is_bfloat16_fast_on`] is true; on other processors it gives the same bits, but is
/// slower than float32.
///
/// # Shapes
/// - `x`: `[.., in]` → `[.., out]`
/// - `weight`: `[out, in]`, `bias`: `[out]`
///
/// # Panics
/// Panics if the shapes do not fit together.
pub fn linear_with<const D: usize>(
    x: Tensor<D>,
    weight: Tensor<2>,
    bias: Option<Tensor<1>>,
    epilogue: Epilogue,
    precision: Precision,
) -> Tensor<D> {
    check(&x, &weight, bias.as_ref());
    let target = match &bias {
        Some(bias) => Target::of(&[&x, &weight, bias]),
        None => Target::of(&[&x, &weight]),
    };
    match (target, precision) {
        #[cfg(feature = "cpu")]
        (Target::Cpu, Precision::Float32 | Precision::BFloat16) if epilogue == Epilogue::Silu => {
            // The backward pass needs the numbers before the function.
            silu(linear_with(x, weight, bias, Epilogue::None, precision))
        }
        #[cfg(feature = "cpu")]
        (Target::Cpu, Precision::Float32 | Precision::BFloat16) => {
            let bias = bias.unwrap_or_else(|| Tensor::zeros([0], &x.device()));
            let product = product_type(precision).expect("a type of the CPU");
            apply(
                op::Linear { epilogue, product },
                [x.into(), weight.into(), bias.into()],
            )
        }
        _ => reference::linear_with(x, weight, bias, epilogue, precision),
    }
}

/// Returns the type of fused products in `precision`; `None` if there are none.
#[cfg(feature = "cpu")]
pub(crate) fn product_type(precision: Precision) -> Option<cpu::ProductType> {
    match precision {
        Precision::Float32 => Some(cpu::ProductType::Float32),
        Precision::BFloat16 => Some(cpu::ProductType::BFloat16),
        _ => None,
    }
}

pub(crate) fn check<const D: usize>(x: &Tensor<D>, weight: &Tensor<2>, bias: Option<&Tensor<1>>) {
    let [output, input] = weight.dims();
    assert_eq!(
        x.dims()[D - 1],
        input,
        "the last axis of x does not fit a weight [{output}, {input}]"
    );
    if let Some(bias) = bias {
        assert_eq!(
            bias.dims(),
            [output],
            "the bias does not fit a weight [{output}, {input}]"
        );
    }
}
