//! The paper's comparisons: the costs of layers ([`table_1`]), the variations of [`table3()`], and
//! [`extrapolation()`] beyond the lengths that were trained on.
//!
//! Only the programs depend on this crate.
//!
//! A [`Study`] is a folder. Each of its [`Row`]s is a run in a separate folder, and a JSON file
//! with the measured values once it is finished. A study that is started again skips what is
//! finished and resumes what is not.

mod error;
mod extrapolation;
mod measure;
mod row;
mod study;
mod table3;
pub mod table_1;

pub use error::StudyError;
pub use extrapolation::{extrapolation, extrapolation_table};
pub use measure::Measure;
pub use row::{Paper, Row, RowResult};
pub use study::Study;
pub use table3::{Change, table3, table3_change, table3_is_base, table3_table};

/// The program in the README, which the tests compile and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
