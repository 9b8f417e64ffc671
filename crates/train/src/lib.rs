//! Training a translation model: from a configuration to a run directory.
//!
//! This crate contains the training loop and what belongs to it: the update (the loss over all real tokens of all its
//! batches, one step of the schedule, clipping by the global norm, Adam), validation by real decoding, checkpoints,
//! averaging, early stopping, and the files of a run. The trade-off: the loop is our own, with Burn's tensors and
//! autodiff, rather than Burn's `Learner`. What the numbers of a paper depend on is counted in updates and tokens, and
//! `Learner` counts epochs and batches (`docs/decisions/training.md`). The crate names no backend: its caller
//! passes a device, or several that share the batches of each update (`docs/decisions/devices.md`).
//!
//! | module | what it holds |
//! |---|---|
//! | [`config`] | [`TrainConfig`]: preset, TOML file, `key=value` settings |
//! | [`learner`] | [`Learner`]: the loop |
//! | [`checkpoint`] | all a run needs to go on |
//! | [`study`] | the variations of the paper's Table 3, one run each |
//! | [`report`] | log lines, `metrics.jsonl`, TensorBoard, the bar |

// What a run says goes through its report, which a stream that fails does not stop.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod advice;
mod average;
mod best_model;
pub mod checkpoint;
mod comparison;
pub mod config;
mod corpora;
mod early_stopping;
mod error;
mod float_text;
mod folder;
mod freeze;
mod gradients;
pub mod learner;
mod log_interval;
mod loss_scale;
mod memory;
mod optimizer;
mod origin;
mod parallel;
mod recovery;
pub mod report;
mod run_dir;
mod run_lock;
mod run_state;
mod schedule;
mod start_model;
mod statistics;
pub mod study;
mod text_check;
mod texts;
mod train_step;
mod update;
mod validate;
mod workers;

pub use average::average_models;
pub use best_model::BestModel;
pub use config::{ConfigFileError, TrainConfig};
pub use corpora::{Corpora, cache_folder, user_cache};
pub use early_stopping::{EarlyStopping, EarlyStoppingMetric};
pub use error::TrainError;
pub use gradients::{FlatGradients, clip_factor};
pub use learner::{Learner, Outcome, Rehearsal, StopReason};
pub use log_interval::LogInterval;
pub use loss_scale::LossScale;
pub use memory::{r_drop_bytes, update_bytes, worst_batch_bytes};
pub use optimizer::{Algorithm, Optimizer, OptimizerSettings};
pub use origin::Origin;
pub use parallel::Replicas;
pub use recovery::{Recovery, RecoverySettings};
pub use run_dir::{Finished, RunDir, RunMode};
pub use schedule::{ScheduleSettings, ScheduleShape, noam};
pub use start_model::StartModel;
pub use statistics::{PendingStatistics, UpdateStatistics};
pub use texts::{TextName, Texts};
pub use update::Updater;
pub use validate::{Validation, Validator};

/// The program in the README, compiled and run as it stands there.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
