use std::error::Error;
use std::io::{self, ErrorKind};
use std::iter::successors;
use std::path::{Path, PathBuf};

use burnformer_core::ConfigError;
use burnformer_core::model_dir::ModelDirError;
use burnformer_data::DataError;
use burnformer_infer::InferError;

use crate::config::ConfigFileError;
use crate::learner::DivergenceError;
use crate::report::MetricsFileError;
use crate::run::{CheckpointError, LanguagesError, NoSeparator, RunError, StartModelError};
use crate::update::{MemoryError, WorkersError};

/// A result with the error [`TrainError`] by default.
pub(crate) type Result<T, E = TrainError> = std::result::Result<T, E>;

/// The reasons why training cannot start or resume.
#[derive(thiserror::Error)]
pub enum TrainError {
    /// The configuration file or a setting is invalid.
    #[error(transparent)]
    Config(#[from] ConfigFileError),
    /// The configuration of the model is invalid.
    #[error("model: {0}")]
    Model(#[from] ConfigError),
    /// A corpus, a tokeniser or the cache cannot be used.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A model directory or checkpoint cannot be read or written.
    #[error(transparent)]
    ModelDir(#[from] ModelDirError),
    /// Decoding the validation text failed.
    #[error(transparent)]
    Infer(#[from] InferError),
    /// Scoring the validation text failed.
    #[error(transparent)]
    Metric(#[from] burnformer_metrics::MetricError),
    /// A run cannot begin or resume in its folder.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A checkpoint cannot be used.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// A checkpoint or model directory could not be written.
    #[error(transparent)]
    Save(#[from] SaveError),
    /// The model from which the run starts cannot be used.
    #[error(transparent)]
    StartModel(#[from] StartModelError),
    /// A tokeniser cannot name the languages of the texts.
    #[error(transparent)]
    Languages(#[from] LanguagesError),
    /// A tokeniser cannot separate the sentences of a context.
    #[error(transparent)]
    Separator(#[from] NoSeparator),
    /// Devices or processes cannot train together.
    #[error(transparent)]
    Workers(#[from] WorkersError),
    /// The run needs more memory than it may use.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The run diverged, and going back did not help.
    #[error(transparent)]
    Diverged(#[from] DivergenceError),
    /// The metrics file of a run cannot be used.
    #[error(transparent)]
    MetricsFile(#[from] MetricsFileError),
    /// The run has already reached its limit.
    #[error(
        "nothing to do: the run stands at update {step} and {limit}; raise the limit with --set"
    )]
    NothingToDo {
        /// The number of updates made.
        step: u64,
        /// The limit that is reached.
        limit: String,
    },
    /// The operating system returned an error.
    #[error("{}: {cause}; {}", path.display(), remedy(cause.kind()))]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        cause: io::Error,
    },
}

burnformer_text::debug_as_message!(TrainError);

impl TrainError {
    /// Adds the path to an error of the operating system.
    pub(crate) fn io(path: &Path) -> impl Fn(io::Error) -> Self + '_ {
        |cause| Self::Io {
            path: path.into(),
            cause,
        }
    }

    /// The kind of the operating system's error, if that is the cause.
    pub(crate) fn io_kind(&self) -> Option<ErrorKind> {
        if let Self::Io { cause, .. } = self {
            return Some(cause.kind());
        }
        let mut causes = successors(Some(self as &(dyn Error + 'static)), |&cause| {
            cause.source()
        });
        causes.find_map(|cause| cause.downcast_ref().map(io::Error::kind))
    }
}

/// A checkpoint or model directory could not be written.
#[derive(Debug, thiserror::Error)]
#[error("{} could not be saved: {}; {}, then continue with --out {} --resume; what was saved before \
    is whole", path.display(), bare(cause), remedy(cause.io_kind().unwrap_or(ErrorKind::Other)),
    run_of(path).display())]
pub struct SaveError {
    /// The folder.
    pub path: PathBuf,
    /// The cause.
    pub cause: Box<TrainError>,
}

/// The run folder of the checkpoint or model directory `path`.
fn run_of(path: &Path) -> &Path {
    let folder = path.parent().unwrap_or(path);
    if folder.ends_with("checkpoints") {
        folder.parent().unwrap_or(folder)
    } else {
        folder
    }
}

/// The error without its remedy.
fn bare(error: &TrainError) -> String {
    match error {
        TrainError::Io { path, cause } => format!("{}: {cause}", path.display()),
        other => other.to_string(),
    }
}

/// The remedy for an error of the operating system.
fn remedy(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "free some space on that disk",
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => "make the folder writable",
        ErrorKind::NotFound => "the folder was moved or removed: put it back",
        _ => "check the disk",
    }
}
