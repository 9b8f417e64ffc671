//! Products in 8-bit integers. A weight has one scale per output feature, and `x` has one scale per row.
//!
//! Each row of `x` is quantised separately when the product is computed, so that a result depends on its row alone. The
//! sums are exact in 32 bits. So every instruction set gives the same integers, and the same bits after the one
//! conversion to float32.

mod instructions;
#[cfg(target_arch = "aarch64")]
mod neon;
mod panels;
mod sums;
mod tile;
#[cfg(target_arch = "x86_64")]
mod x86;

pub(super) use panels::Panels;
