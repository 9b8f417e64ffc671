//! The paper's comparisons: the costs of layers ([`table_1`]), the variations of [`table3()`], and
//! [`extrapolation()`] beyond the lengths that were trained on.
//!
//! A [`Study`] is a folder. Each of its [`Row`]s is a run in a separate folder, and a JSON file
//! with the measured values once it is finished. A study that is started again skips what is
//! finished and resumes what is not.

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
