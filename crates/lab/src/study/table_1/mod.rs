//! Measurements for the paper's Table 1: the growth of time, memory, sequential steps and path
//! lengths of layers that map a sequence of vectors to another of the same length and width.
//!
//! Each layer contains only the operations that the paper counts: attention without its
//! projections, one direction of recurrence, one convolution. The layers use the toolkit's training
//! operations (fused attention, attention in blocks) and Burn's own convolution. A measurement
//! therefore describes this program on this device; only the growth is comparable with the paper.

mod layers;
mod measure;

pub use layers::{Kind, LayerSizes};
pub use measure::{Measurement, exponent, measure};
