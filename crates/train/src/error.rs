use std::error::Error;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use burnformer_core::model_dir::ModelDirError;
use burnformer_core::{ConfigError, Precision};
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
    #[error("{}: {cause}; {}", path.display(), remedy(cause.kind()))]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
    /// A run directory that is already in use, without `--resume`.
    #[error("{}: holds a run already; continue it with --resume, or choose another --out", path.display())]
    RunExists {
        /// The run directory.
        path: PathBuf,
    },
    /// A folder that holds no run, but something that a run would overwrite.
    #[error(
        "{}: holds no run, but {}, which training would overwrite; choose another --out, or move it away",
        path.display(), found.strip_prefix(path).unwrap_or(found).display()
    )]
    FolderTaken {
        /// The folder.
        path: PathBuf,
        /// What would be overwritten.
        found: PathBuf,
    },
    /// The file of a study's row.
    #[error("{}: {what}", path.display())]
    Study {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to do.
        what: String,
    },
    /// A run directory that another process trains in.
    #[error(
        "{}: another process{} trains in this folder; wait for it, or choose another --out", path.display(),
        if holder.is_empty() { String::new() } else { format!(" ({holder})") }
    )]
    RunInUse {
        /// The run directory.
        path: PathBuf,
        /// The other process's id, where it is known.
        holder: String,
    },
    /// A checkpoint of another corpus, tokeniser or configuration.
    #[error(
        "{}: the run cannot go on from here: {what}; set it back, or start a new run with another --out",
        path.display()
    )]
    CannotResume {
        /// The checkpoint.
        path: PathBuf,
        /// What changed.
        what: String,
    },
    /// No checkpoint of a run is whole.
    #[error(
        "{}: every checkpoint is damaged:\n{}\ncopy one back from a backup, or start a new run with another --out",
        path.display(), damage.join("\n")
    )]
    AllDamaged {
        /// The run directory.
        path: PathBuf,
        /// What is wrong with each, newest first.
        damage: Vec<String>,
    },
    /// A checkpoint or model directory could not be written.
    #[error(
        "{} could not be saved: {}; {}, then continue with --resume; what was saved before is whole",
        path.display(), bare(cause), remedy(cause.io_kind().unwrap_or(ErrorKind::Other))
    )]
    NotSaved {
        /// The folder.
        path: PathBuf,
        /// Why.
        cause: Box<TrainError>,
    },
    /// The memory of the process, or of what it is about to do, is above the limit.
    #[error("{what} {:.2} GB, above {limit_name} {:.2} GB; {advice}", *bytes as f64 / 1e9, *limit as f64 / 1e9)]
    Memory {
        /// What needs the memory.
        what: &'static str,
        /// How much it needs.
        bytes: u64,
        /// Where the limit comes from.
        limit_name: &'static str,
        /// The limit.
        limit: u64,
        /// Which setting to lower.
        advice: String,
    },
    /// A model directory whose vocabularies are not those of its tokenisers.
    #[error(
        "{}: the {side} tokeniser has {tokens} tokens, but the model has {rows}; choose the model's own tokenisers",
        dir.display()
    )]
    StartModel {
        /// The model directory.
        dir: PathBuf,
        /// The side.
        side: &'static str,
        /// Tokens of the tokeniser.
        tokens: usize,
        /// Tokens that the model knows.
        rows: usize,
    },
    /// A device that does not compute in the configured type.
    #[error(
        "training.precision is \"{precision}\", in which {device} does not compute; set it to \"float32\", or \
         choose another --device"
    )]
    Precision {
        /// The type.
        precision: Precision,
        /// The device, as its backend calls it.
        device: String,
    },
    /// Nothing to resume.
    #[error("{}: no checkpoint to resume from; start the run without --resume", path.display())]
    NothingToResume {
        /// The run directory.
        path: PathBuf,
    },
    /// A checkpoint whose state does not fit.
    #[error("{}: {message}", path.display())]
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
    /// More devices than an update of a resumed run has batches.
    #[error(
        "{devices} devices, but an update of this run is {batches} of its batches (training.accumulate), which its \
         result depends on; name at most {batches} with --device, or start a new run with another --out"
    )]
    TooManyDevices {
        /// Devices named.
        devices: usize,
        /// Batches an update.
        batches: usize,
    },
    /// Averaging no models, or models of different shapes.
    #[error("averaging: {0}")]
    Average(String),
    /// The numbers stopped being numbers, and going back did not help.
    #[error(
        "update {step}: loss {loss}, gradient norm {norm}: the run diverged again after going back {rollbacks} times, \
         with the learning rate lowered to {rate_scale} of the schedule's; lower schedule.factor or raise \
         schedule.warmup, or set optimizer.clip_norm to 1, and continue with --resume"
    )]
    Diverged {
        /// The update.
        step: u64,
        /// Its loss.
        loss: f64,
        /// Its gradient norm.
        norm: f64,
        /// Times the run went back.
        rollbacks: u64,
        /// What the schedule's rate was multiplied by.
        rate_scale: f64,
    },
}

impl TrainError {
    pub(crate) fn io(path: &Path, cause: std::io::Error) -> Self {
        Self::Io { path: path.into(), cause }
    }

    pub(crate) fn not_saved(path: &Path, cause: Self) -> Self {
        Self::NotSaved { path: path.into(), cause: Box::new(cause) }
    }

    /// What the system said, if that is what went wrong.
    pub(crate) fn io_kind(&self) -> Option<ErrorKind> {
        if let Self::Io { cause, .. } = self {
            return Some(cause.kind());
        }
        let mut error: Option<&(dyn Error + 'static)> = Some(self);
        while let Some(cause) = error {
            if let Some(io) = cause.downcast_ref::<std::io::Error>() {
                return Some(io.kind());
            }
            error = cause.source();
        }
        None
    }
}

/// The error without its remedy.
fn bare(error: &TrainError) -> String {
    match error {
        TrainError::Io { path, cause } => format!("{}: {cause}", path.display()),
        other => other.to_string(),
    }
}

/// What to do about a refusal of the file system.
fn remedy(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "free some space on that disk",
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => "make the folder writable",
        ErrorKind::NotFound => "the folder was moved or removed: put it back",
        _ => "check the disk",
    }
}
