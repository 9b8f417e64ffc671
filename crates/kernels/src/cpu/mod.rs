//! The building blocks of operations on the CPU: the slices behind Burn's tensors, matrix products,
//! and sums of rows.
//!
//! The division of the work depends on the size of the problem alone, never on the number of
//! threads, and partial sums are added in a fixed order. So no result depends on the number of
//! threads.

mod matrix;
mod rows;
mod storage;

pub use matrix::{Matrix, MatrixMut, multiply};
pub(crate) use rows::sums_of_task;
pub use rows::{column_sums, increase, multiply_by, ordered_sum, products, rows_per_task};
pub use storage::{bools, contiguous, dims, floats, integers, overwrite, primitive, tensor};
