use std::path::{Path, PathBuf};

use burnformer_core::ConfigError;
use burnformer_core::model_dir::ModelDirError;
use burnformer_data::DataError;
use burnformer_infer::InferError;

use crate::config::ConfigFileError;
use crate::report::ReportError;

/// Why training cannot start or go on.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// The configuration file or a setting.
    #[error(transparent)]
    Config(#[from] ConfigFileError),
    /// The model's shape.
    #[error("model: {0}")]
    Model(#[from] ConfigError),
    /// A corpus, tokeniser or cache.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A model directory or checkpoint.
    #[error(transparent)]
    ModelDir(#[from] ModelDirError),
    /// Decoding for validation.
    #[error(transparent)]
    Infer(#[from] InferError),
    /// Scoring for validation.
    #[error(transparent)]
    Metric(#[from] burnformer_metrics::MetricError),
    /// Logs and metrics.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// The file system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A run directory that is already in use, without `--resume`.
    #[error("{}: holds a run already; continue it with --resume, or choose another --out", path.display())]
    RunExists {
        /// The run directory.
        path: PathBuf,
    },
    /// Nothing to resume.
    #[error("{}: no checkpoint to resume from; start the run without --resume", path.display())]
    NothingToResume {
        /// The run directory.
        path: PathBuf,
    },
    /// A checkpoint whose state does not fit.
    #[error("{}: {message}; resume from an older checkpoint by removing this one", path.display())]
    Checkpoint {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// A run that would do nothing.
    #[error(
        "nothing to do: the run stands at update {step} and {limit}; raise the limit with --set"
    )]
    NothingToDo {
        /// Updates made.
        step: u64,
        /// The limit that is reached.
        limit: String,
    },
    /// Averaging no models, or models of different shapes.
    #[error("averaging: {0}")]
    Average(String),
    /// The loss is no longer a number.
    #[error(
        "update {step}: loss {loss}, gradient norm {norm}: the run diverged; lower schedule.factor or raise \
         schedule.warmup, or set optimizer.clip_norm to 1, and resume from the last checkpoint"
    )]
    Diverged {
        /// The update.
        step: u64,
        /// Its loss.
        loss: f64,
        /// Its gradient norm.
        norm: f64,
    },
}

impl TrainError {
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Io { path: path.into(), source }
    }
}
