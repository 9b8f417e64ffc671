//! Fused operations beside the same in plain tensors.

mod adam;
mod attention;
mod common;
mod cross_entropy;
mod gradients;
mod linear;
mod mask;
mod norm;
mod op;
mod packed;
mod silu;
