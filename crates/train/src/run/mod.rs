//! The folder of a run: its input, its output, and the state that it resumes from.
//!
//! | files | hold |
//! |---|---|
//! | `texts`, `corpora`, `start_model` | the input of the run |
//! | `dir`, `folder` | the folder, its lock, and the replacement of files and folders |
//! | `state`, `log_interval` | the state of the run in a checkpoint |
//! | `checkpoint`, `origin`, `best_model` | saved models and checkpoints, and their origin |
//! | `error` | the errors of runs, checkpoints and start models |

mod best_model;
pub mod checkpoint;
mod corpora;
mod dir;
mod error;
mod folder;
mod log_interval;
mod origin;
mod start_model;
mod state;
mod texts;

pub use best_model::{BestModel, EarlyStopping};
pub(crate) use checkpoint::average_as;
pub use checkpoint::{Saved, Start, TrainerState, average_models};
pub use corpora::{Corpora, ValidationText, cache_folder};
pub use dir::{RunDir, RunEnd, RunMode, TEST_SCORE_FILE};
pub use error::{CheckpointError, LanguagesError, NoSeparator, RunError, StartModelError};
pub use folder::{copy_file, copy_files};
pub(crate) use folder::{replace_file, save_folder, try_sizes, write_file};
pub use log_interval::LogInterval;
pub use origin::Origin;
pub(crate) use origin::compare;
pub use start_model::StartModel;
pub(crate) use start_model::{FirstModel, freeze, special_ids};
pub use state::{CheckpointKind, Recovery, RunState, ValidationState};
pub use texts::{PairTexts, TextName, Texts};
