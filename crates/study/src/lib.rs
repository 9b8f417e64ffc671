//! The paper's comparisons: the costs of layers ([`table_1`]), the variations of [`table3()`], and
//! [`extrapolation()`] beyond the lengths in training.
//!
//! Only the programs depend on this crate.
//!
//! A [`Study`] is a folder. Each of its [`Row`]s is a run in a separate folder, with a JSON file of
//! the measured values once it is finished. A restarted study skips finished rows and resumes others.

// The programs in the README are compiled and run as documentation tests.
#![cfg_attr(doctest, doc = include_str!("../README.md"))]

mod error;
mod extrapolation;
mod row;
mod study;
mod table3;
pub mod table_1;

pub use error::StudyError;
pub use extrapolation::{extrapolation, extrapolation_table};
pub use row::{Measure, Paper, Row, RowResult};
pub use study::Study;
pub use table3::{table3, table3_is_base, table3_table};
