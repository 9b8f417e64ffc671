//! The report of a training run and its files in the run directory.
//!
//! | file | for | written |
//! |---|---|---|
//! | `metrics.jsonl` | scripts and plots: one JSON object per line, see [`Record`] | appended, one complete line at a time |
//! | `events.out.tfevents.…` | TensorBoard: the same numbers as scalars | appended; written anew by a resume |
//! | `train.log` | people: every printed line, with its UTC time | appended, across resumes |
//!
//! On a terminal, lines scroll above a progress bar; otherwise they go to standard error. Standard
//! output is only for results.
//!
//! A [`Reporter`] only formats and stores numbers from its caller. It reads the clock only for time
//! stamps.

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
pub use record::{Answer, DivergenceRecord, PairRecord, Record, TrainRecord, ValidRecord};
pub use reporter::Reporter;
