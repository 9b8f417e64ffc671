//! Products in 8-bit integers: weights with a scale per output feature, rows of `x` with a scale each.
//!
//! A row of `x` is quantised by itself when it comes, so that a result depends on its row alone. The sums are exact in
//! 32 bits, so every instruction set gives the same integers, and the same bits after the one conversion to float32.

mod instructions;
#[cfg(target_arch = "aarch64")]
mod neon;
mod panels;
mod sums;
mod tile;
#[cfg(target_arch = "x86_64")]
mod x86;

pub(super) use panels::Panels;
