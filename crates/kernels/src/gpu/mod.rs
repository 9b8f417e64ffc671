//! The building blocks of operations on GPUs, in CubeCL: one source for CUDA, ROCm, Metal, Vulkan
//! and WebGPU.
//!
//! A kernel is launched as a grid of cubes, and a cube is a group of units: what CUDA calls blocks
//! and threads, and WebGPU workgroups and invocations. The units of a cube share memory and can
//! wait for each other.
//!
//! The kernels are written for the least that these offer: cubes of at most 256 units, 16 KiB of
//! shared memory, no subgroups, and eight storage buffers for each launch
//! (`maxStorageBuffersPerShaderStage` of WebGPU). CubeCL takes one of the buffers for sizes and
//! scalars. Every sum is taken in a fixed order, which does not depend on the device's scheduling.

mod buffers;
mod launch;
pub mod philox;
mod sums;

pub use buffers::{empty, with_contiguous_rows};
pub use launch::{cubes, units_per_cube};
pub use sums::sums_of_units;
