//! Measures the paper's Table 1: layers that map a sequence of vectors to another of the same
//! length and width, and how their time, memory, sequential steps and path lengths grow.
//!
//! Each layer contains only the operations that the paper counts: attention without its
//! projections, one direction of recurrence, one convolution. The layers use the operations with
//! which the toolkit trains (fused attention, attention in blocks), and Burn's own convolution. A
//! measurement therefore describes this program on this device; only the growth can be compared
//! with the paper.

mod layers;
mod measure;

pub use layers::{Kind, LayerSizes};
pub use measure::{Measurement, exponent, measure};
