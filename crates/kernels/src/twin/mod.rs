//! Every operation in ordinary tensor arithmetic: the reference the fused versions are tested
//! against, and what runs on every backend and element type they do not cover.

mod adam;
mod attention;
mod cross_entropy;
mod dropout;
mod embedding;
mod global_norm;
mod linear;
mod norm;

pub use adam::{adam_step, sum_of_squares};
pub use attention::{attention, masked_softmax};
pub use cross_entropy::label_smoothed_cross_entropy;
pub use dropout::{dropout, residual_dropout};
pub use embedding::embedding;
pub use global_norm::global_norm;
pub use linear::{linear, linear_relu};
pub use norm::{layer_norm, residual_dropout_norm};
