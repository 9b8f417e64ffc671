//! Operations of their own for GPUs, in CubeCL: one source for CUDA, ROCm, Metal, Vulkan and WGSL.
//!
//! The kernels are written for the least that these offer: 256 units a cube or fewer, 16 KiB of shared memory, and no
//! subgroups. Every sum has an order of its own, whatever the device does first.

pub(crate) mod attention;
pub(crate) mod cross_entropy;
pub(crate) mod dropout_mask;
pub(crate) mod norm;
pub(crate) mod squares;

use burn::backend::DispatchDevice;
use burn::tensor::{DType, Tensor};

/// Whether `x` lives on a GPU, with or without gradients, in 32 bits: what the kernels are written for.
pub(crate) fn covers<const D: usize>(x: &Tensor<D>) -> bool {
    x.dtype() == DType::F32 && is_cube(x.device().as_dispatch())
}

/// [`covers`] for all of `xs`.
pub(crate) fn cover<const D: usize, const N: usize>(xs: [&Tensor<D>; N]) -> bool {
    xs.into_iter().all(covers)
}

fn is_cube(device: &DispatchDevice) -> bool {
    match device {
        DispatchDevice::Cube(_) => true,
        DispatchDevice::Autodiff(inner) => is_cube(inner),
        #[allow(unreachable_patterns)] // it may be the only backend compiled in
        _ => false,
    }
}
