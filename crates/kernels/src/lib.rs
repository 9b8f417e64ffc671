//! Fused training operations for Burn.

#[cfg(feature = "flex")]
mod flex;
#[cfg(feature = "flex")]
mod slices;

mod philox;
mod vector;

mod adam;
mod attention;
mod cross_entropy;
mod dropout;
mod dropout_mask;
mod embedding;
mod linear;
mod norm;
mod random;

pub mod twin;

pub use adam::{AdamStep, Moving, adam_step, sum_of_squares};
pub use attention::attention;
pub use cross_entropy::label_smoothed_cross_entropy;
pub use dropout::{dropout, residual_dropout};
pub use dropout_mask::DropoutMask;
pub use embedding::embedding;
pub use linear::{linear, linear_relu};
pub use norm::{layer_norm, residual_dropout_norm};
pub use random::RandomKey;
