//! The report of a training run, and the files in which the run directory keeps it.
//!
//! | file | for | written |
//! |---|---|---|
//! | `metrics.jsonl` | scripts and plots: one JSON object per line, see [`Record`] | appended, one complete line at a time |
//! | `events.out.tfevents.…` | TensorBoard: the same numbers as scalars | appended; written anew by a resume |
//! | `train.log` | people: every line that was printed, with its UTC time | appended, across resumes |
//!
//! On a terminal, a bar shows the progress and the lines scroll above it; otherwise the lines go to
//! standard error without change. Standard output is for results and is never written here.
//!
//! A [`Reporter`] only formats and stores. It measures nothing and reads the clock only for time
//! stamps, so that every number that it shows was passed in by its caller.

mod append_file;
mod console;
mod error;
mod events;
mod metrics;
mod record;
mod reporter;

pub use append_file::LOG_FILE;
pub use console::{Pace, Verbosity};
pub use error::MetricsFileError;
pub(crate) use events::is_event_file;
pub use metrics::{METRICS_FILE, ResumePoint, read_metrics};
pub use record::{Answer, DivergenceRecord, Record, TrainRecord, ValidRecord};
pub use reporter::Reporter;
