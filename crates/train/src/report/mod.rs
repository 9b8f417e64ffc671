//! What a training run tells the world, and where it leaves it in the run directory.
//!
//! | file | for | written |
//! |---|---|---|
//! | `metrics.jsonl` | scripts and plots: one JSON object a line, see [`Record`] | appended, a whole line at a time |
//! | `events.out.tfevents.*` | TensorBoard: the same numbers as curves | a new file each start, as TensorBoard expects |
//! | `train.log` | people: every line that was printed, with its UTC time | appended, across resumes |
//!
//! On a terminal a bar follows the run and the lines scroll above it; elsewhere the lines go to stderr as they are.
//! Standard output belongs to results and is never written here.
//!
//! A [`Reporter`] only formats and stores: it measures nothing and reads no clock but for time stamps, so that
//! every number it shows is a number its caller passed in.

mod clock;
mod console;
mod error;
mod events;
mod line;
mod log_file;
mod metrics;
mod pace;
mod record;
mod reporter;

pub use error::ReportError;
pub use log_file::LOG_FILE;
pub use metrics::{METRICS_FILE, ResumePoint, read_metrics};
pub use record::{Answer, BarState, DivergenceRecord, Record, TrainRecord, ValidRecord};
pub use reporter::{Reporter, ReporterOptions, Verbosity};
