//! How rounded numbers lie in memory.

/// Columns side by side: the numbers of a vector register.
pub(super) const LANES: usize = 16;
/// Terms of a sum that are multiplied before those of the next block.
pub(super) const DEPTH: usize = 256;
/// Pairs of terms of such a block.
pub(super) const PAIRS: usize = DEPTH / 2;

/// A pair of neighbouring terms for each of [`LANES`] columns: a line of the cache.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Line(pub [u32; LANES]);
