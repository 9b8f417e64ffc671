//! Training of a translation model: from a configuration to a run directory.
//!
//! This crate contains the training loop with its parts: the update (the loss over all real tokens
//! of all its batches, one step of the schedule, clipping by the global norm, Adam), validation by
//! real decoding, checkpoints, averaging, early stopping, and the files of a run. The trade-off:
//! the loop is our own, on Burn's tensors and autodiff, because the results of a paper depend on
//! numbers of updates and tokens, while Burn's `Learner` counts epochs and batches
//! (`docs/decisions/training.md`). The caller passes a device, or several devices that share the
//! batches of each update (`docs/decisions/devices.md`).
//!
//! | module | what it holds |
//! |---|---|
//! | [`config`] | [`TrainConfig`]: preset, TOML file, `key=value` settings |
//! | [`learner`] | [`Learner`]: the loop |
//! | [`checkpoint`] | the state that a run resumes from |
//! | [`report`] | log lines, `metrics.jsonl`, the bar |

// The programs in the README are compiled and run as documentation tests.
#![cfg_attr(doctest, doc = include_str!("../README.md"))]
// A run prints through its report, which continues when a stream fails.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod advice;
pub mod config;
mod error;
mod float_text;
pub mod learner;
mod optimizer;
pub mod report;
mod run;
mod update;
mod validation;

pub use advice::fit::{fit, is_to_be_fitted};
pub use config::{
    ConfigFileError, EarlyStoppingMetric, ExchangePrecision, RecoverySettings, TrainConfig,
};
pub use error::{SaveError, TrainError};
pub use learner::{DivergenceError, Learner, Outcome, RunEstimate, StopReason, follow};
pub use optimizer::gradients::{FlatGradients, clip_factor};
pub use optimizer::settings::{ScheduleSettings, ScheduleShape, noam};
pub use optimizer::{Algorithm, Optimizer, OptimizerSettings};
pub use run::{
    BestModel, CheckpointError, Corpora, EarlyStopping, LanguagesError, LogInterval, Origin,
    PairTexts, Recovery, RunDir, RunEnd, RunError, RunMode, StartModel, StartModelError,
    TEST_SCORE_FILE, TextName, Texts, ValidationText, average_models, cache_folder, checkpoint,
    copy_file, copy_files,
};
pub use update::{
    LossScale, MemoryError, PendingStatistics, Ranks, Recipe, Replicas, UpdateSize,
    UpdateStatistics, Updater, Workers, WorkersError, update_bytes,
};
pub use validation::{PairValidation, Validation, Validator};
