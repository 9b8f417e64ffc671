//! The fused operations as extensions of the `flex` backend, with their backward passes.

pub(crate) mod adam;
pub(crate) mod attention;
pub(crate) mod cross_entropy;
pub(crate) mod dropout;
pub(crate) mod embedding;
pub(crate) mod linear;
pub(crate) mod norm;
pub(crate) mod packed;
pub(crate) mod residual;
pub(crate) mod residual_norm;
pub(crate) mod step;
pub(crate) mod storage;

use burn::backend::flex::FlexTensor;
use burn::backend::{DispatchDevice, Flex};
use burn::tensor::{DType, Tensor};

/// Whether `x` lives on `flex`, with or without gradients, in 32 bits: what the fused operations
/// are written for. An extension called on another backend would panic.
pub fn covers<const D: usize>(x: &Tensor<D>) -> bool {
    x.dtype() == DType::F32 && is_flex(x.device().as_dispatch())
}

/// [`covers`] for all of `xs`.
pub fn cover<const D: usize, const N: usize>(xs: [&Tensor<D>; N]) -> bool {
    xs.into_iter().all(covers)
}

/// [`covers`], and no gradients flow through `x`.
pub(crate) fn plain<const D: usize>(x: &Tensor<D>) -> bool {
    covers(x) && !x.device().is_autodiff()
}

pub(crate) fn is_flex(device: &DispatchDevice) -> bool {
    match device {
        DispatchDevice::Flex(_) => true,
        DispatchDevice::Autodiff(inner) => is_flex(inner),
        #[allow(unreachable_patterns)] // flex may be the only backend compiled in
        _ => false,
    }
}

/// What lies behind a tensor for which [`plain`] holds.
fn primitive<const D: usize>(x: Tensor<D>) -> FlexTensor {
    x.try_into_primitive::<Flex>().expect("a tensor on flex without gradients")
}
