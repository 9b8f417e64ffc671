//! Arithmetic on `f32` slices that the compiler turns into vector instructions.
//!
//! The code is portable. [`vectorised!`] compiles a function once more for each instruction set
//! that is worth it, and chooses one at run time. Sums use a fixed number of [`LANES`], and no
//! multiplication is contracted with an addition. Every instruction set therefore gives the same
//! bits.

#[cfg(target_arch = "x86_64")]
mod dot;
mod fold;
mod math;
mod softmax;
mod vectorised;

#[cfg(target_arch = "x86_64")]
pub use dot::dot_avx2;
pub use fold::{LANES, fold, fold_pairs, max, sum};
pub use math::{exp, exp_below_zero};
pub use softmax::softmax_row;
pub use vectorised::vectorised;
#[cfg(target_arch = "x86_64")]
pub use vectorised::{has_avx2, has_avx512};
