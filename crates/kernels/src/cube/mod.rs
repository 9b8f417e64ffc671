//! Operations of their own for GPUs, in CubeCL: one source for CUDA, ROCm, Metal, Vulkan and WGSL.

pub(crate) mod dropout_mask;

use burn::backend::DispatchDevice;
use burn::tensor::{DType, Tensor};

/// Whether `x` lives on a GPU, with or without gradients, in 32 bits: what the kernels are written for.
pub(crate) fn covers<const D: usize>(x: &Tensor<D>) -> bool {
    x.dtype() == DType::F32 && is_cube(x.device().as_dispatch())
}

fn is_cube(device: &DispatchDevice) -> bool {
    match device {
        DispatchDevice::Cube(_) => true,
        DispatchDevice::Autodiff(inner) => is_cube(inner),
        #[allow(unreachable_patterns)] // it may be the only backend compiled in
        _ => false,
    }
}
