//! The paper's Table 1 to be measured: layers that map a sequence of vectors to another of the same
//! length and width, and how their time, memory, sequential steps and path lengths grow.
//!
//! Each layer is what the paper counts and nothing more: attention without its projections, one
//! direction of recurrence, one convolution. The trade-off taken: the layers use the operations that
//! the toolkit trains with (fused attention, attention in blocks), and Burn's own convolution, so a
//! measurement is of this program on this device; only the growth is the paper's.

mod fit;
mod layers;
mod measure;

pub use fit::exponent;
pub use layers::{Kind, Layer, Output, Sizes};
pub use measure::{Measurement, Memory, measure};
