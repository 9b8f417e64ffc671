use std::error::Error;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use burnformer_core::model_dir::ModelDirError;
use burnformer_core::{ConfigError, Precision};
use burnformer_data::DataError;
use burnformer_infer::InferError;

use crate::config::ConfigFileError;

/// A result whose error, where no other is named, is [`TrainError`].
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
    /// A complete line of a metrics file is not a [`Record`](crate::report::Record).
    #[error("{}:{line}: not a metrics record: {message}; delete that line, the others stand on \
        their own", path.display())]
    Metrics {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The message of the parser.
        message: String,
    },
    /// A new run would mix its numbers with those of an earlier run.
    #[error("{}: holds the metrics of an earlier run; resume that run, or choose an empty run \
        directory", .0.display())]
    OtherMetrics(PathBuf),
    /// The operating system returned an error.
    #[error("{}: {cause}; {}", path.display(), remedy(cause.kind()))]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        cause: std::io::Error,
    },
    /// A new run was to begin in a directory that holds a run.
    #[error("{}: holds a run already; continue it with --out {} --resume, or choose another --out",
        .0.display(), .0.display())]
    RunExists(PathBuf),
    /// A folder holds no run, but something that a run would overwrite.
    #[error("{}: holds no run, but {}, which training would overwrite; choose another --out, or \
        move it away", path.display(), found.strip_prefix(path).unwrap_or(found).display())]
    FolderTaken {
        /// The folder.
        path: PathBuf,
        /// The file that would be overwritten.
        found: PathBuf,
    },
    /// Another process trains in the run directory.
    #[error("{}: another process{} trains in this folder; wait for it, or choose another --out",
        path.display(), if holder.is_empty() { String::new() } else { format!(" ({holder})") })]
    RunInUse {
        /// The run directory.
        path: PathBuf,
        /// The id of the other process, if it is known.
        holder: String,
    },
    /// A checkpoint belongs to another corpus, tokeniser or configuration.
    #[error("{}: the run cannot go on from here: {what}; set it back, or start a new run with \
        another --out", path.display())]
    CannotResume {
        /// The checkpoint.
        path: PathBuf,
        /// The change.
        what: String,
    },
    /// All checkpoints of the run are damaged.
    #[error("{}: every checkpoint is damaged:\n{}\ncopy one back from a backup, or start a new run \
        with another --out", path.display(), damage.join("\n"))]
    AllDamaged {
        /// The run directory.
        path: PathBuf,
        /// The damage of each checkpoint, the newest first.
        damage: Vec<String>,
    },
    /// A checkpoint or model directory could not be written.
    #[error("{} could not be saved: {}; {}, then continue with --out {} --resume; what was saved before \
        is whole", path.display(), bare(cause), remedy(cause.io_kind().unwrap_or(ErrorKind::Other)),
        run_of(path).display())]
    NotSaved {
        /// The folder.
        path: PathBuf,
        /// The cause.
        cause: Box<TrainError>,
    },
    /// The memory that the process uses, or is about to use, is above the limit.
    #[error("{what} {:.2} GB, above {limit_name} {:.2} GB; {advice}", *bytes as f64 / 1e9, *limit as f64 / 1e9)]
    Memory {
        /// The part that needs the memory.
        what: &'static str,
        /// The memory that it needs.
        bytes: u64,
        /// The name of the limit.
        limit_name: &'static str,
        /// The limit.
        limit: u64,
        /// The setting to lower.
        advice: String,
    },
    /// The model is multilingual: its texts begin with language tokens, which training does not
    /// write.
    #[error("{}: the texts of this model begin with tokens that name their language (M2M100, \
        NLLB), which training does not write; fine-tune a model of one pair of languages",
        .0.display())]
    LanguageTokens(PathBuf),
    /// A model directory whose vocabularies are not those of its tokenisers.
    #[error("{}: the {side} tokeniser has {tokens} tokens, but the model has {rows}; choose the \
        model's own tokenisers", dir.display())]
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
    /// A device does not compute in the configured number type.
    #[error(
        "training.precision is \"{precision}\", in which {device} does not compute; set it to \"float32\", or \
         choose another --device"
    )]
    Precision {
        /// The type.
        precision: Precision,
        /// The device, by the name that its backend gives it.
        device: String,
    },
    /// There is nothing to resume.
    #[error("{}: {}", .0.display(), if .0.exists() {
        "no checkpoint to resume from; start the run without --resume"
    } else {
        "no such folder, so there is no run to resume; check the path"
    })]
    NothingToResume(PathBuf),
    /// The state of a checkpoint cannot be used.
    #[error("{}: {message}", path.display())]
    Checkpoint {
        /// The file.
        path: PathBuf,
        /// The problem.
        message: String,
    },
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
    /// All processes together have more devices than an update of the resumed run has batches.
    #[error(
        "{devices} devices, but an update of this run is {batches} of its batches (training.accumulate), which its \
         result depends on; name at most {batches} with --device (over MPI: start at most {batches} processes), or start \
         a new run with another --out"
    )]
    TooManyDevices {
        /// The number of devices.
        devices: usize,
        /// The number of batches per update.
        batches: usize,
    },
    /// Several processes train together, and one has other texts or tokenisers than process 0.
    #[error(
        "process {0}: its texts or tokenisers are not those of process 0; give all processes the same command and the \
         same files"
    )]
    OtherTexts(usize),
    /// Several processes train together, and one runs another version of the program than process
    /// 0.
    #[error(
        "process {0}: its program is another version than that of process 0; install the same version on all hosts"
    )]
    OtherProgram(usize),
    /// Models cannot be averaged: there are none, or their shapes differ.
    #[error("averaging: {0}")]
    Average(String),
    /// The loss, the gradient or the model was no longer finite, and going back did not help.
    #[error(
        "update {step}: loss {loss}, gradient norm {norm}: the run diverged again after going back {rollbacks} times, \
         with the learning rate lowered to {rate_scale} of the schedule's; lower schedule.factor or raise \
         schedule.warmup, or set optimizer.clip_norm to 1, and continue with --out {} --resume",
        run.display()
    )]
    Diverged {
        /// The folder of the run.
        run: PathBuf,
        /// The update.
        step: u64,
        /// The loss of the update.
        loss: f64,
        /// The norm of the gradient of the update.
        norm: f64,
        /// The number of times that the run went back.
        rollbacks: u64,
        /// The factor by which the schedule's learning rate was multiplied.
        rate_scale: f64,
    },
}

burnformer_files::debug_as_message!(TrainError);

impl TrainError {
    /// Names the file of an error of the operating system.
    pub(crate) fn io(path: &Path) -> impl Fn(std::io::Error) -> Self + '_ {
        |cause| Self::Io { path: path.into(), cause }
    }

    /// The error of the operating system, if that is the cause.
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

/// The folder of the run whose checkpoint or model directory is `path`.
fn run_of(path: &Path) -> &Path {
    let folder = path.parent().unwrap_or(path);
    if folder.ends_with("checkpoints") { folder.parent().unwrap_or(folder) } else { folder }
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
