//! Translation memories: sentences with translations that people made.

mod read;

pub use read::{Entry, Pair, Reading};
