//! The paper's comparisons: the costs of layers ([`table_1`]), the variations of [`table3()`], and
//! [`extrapolation()`] beyond the lengths in training.
//!
//! A [`Study`] is a folder. Each of its [`Row`]s is a run in a separate folder, with a JSON file of
//! the measured values once it is finished. A restarted study skips finished rows and resumes
//! others.

mod error;
mod extrapolation;
mod row;
#[allow(clippy::module_inception)]
mod study;
mod table3;
pub mod table_1;

pub use error::StudyError;
pub use extrapolation::{extrapolation, extrapolation_table};
pub use row::{Measure, Paper, Row, RowResult};
pub use study::Study;
pub use table3::{table3, table3_is_base, table3_table};
