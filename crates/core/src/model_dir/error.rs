use std::io;
use std::path::{Path, PathBuf};

use crate::config::ConfigError;
use crate::parameters::LoadError;

/// A result with [`ModelDirError`] as its default error.
pub(crate) type Result<T, E = ModelDirError> = std::result::Result<T, E>;

/// An error in writing or reading a model directory. Its `Debug` form is the message, because Rust
/// prints that form of an error that `main` returns.
#[derive(derive_more::Debug, thiserror::Error)]
#[error("{}: {problem}", path.display())]
#[debug("{self}")]
pub struct ModelDirError {
    /// The file or folder.
    pub path: PathBuf,
    /// The problem, with a remedy.
    #[source]
    pub problem: ModelDirProblem,
}

/// The reasons why a file or folder of a model directory cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum ModelDirProblem {
    /// The operating system reported an error on a file or folder.
    #[error("{0}; check the path, its permissions and the free space")]
    Io(#[source] io::Error),
    /// The content of a file does not fit into the free memory.
    #[error(
        "does not fit into the free memory; free some, or take the model in int8 or another machine"
    )]
    OutOfMemory,
    /// The folder does not exist.
    #[error("no such folder; give a model directory, such as runs/NAME/best")]
    NoDirectory,
    /// The path is a file instead of a folder.
    #[error("is a file, but a model is a folder; give a model directory, such as runs/NAME/best")]
    NotADirectory,
    /// The folder has no manifest: it is not a model directory, or writing it was interrupted. The
    /// path, if any, is a model directory in the folder, or in a run in it.
    #[error("holds no manifest.json, so it is not a finished model directory; {}",
        .0.as_ref().map_or("a run's are its best/, last/ and average/".into(),
            |model| format!("name one of the models in it, such as {}", model.display())))]
    NoManifest(Option<PathBuf>),
    /// A file that the manifest lists does not exist.
    #[error("missing, but listed in manifest.json; copy the whole directory anew")]
    Missing,
    /// The path is a folder, pipe or device instead of a file.
    #[error("is not a file; copy the whole directory anew")]
    NotAFile,
    /// The manifest lists a file of this name outside of the directory, directly or through a link.
    #[error(
        "manifest.json lists {0:?}, which leaves the folder; a model directory holds its own \
        files, so put a copy there or get the model from a source you trust"
    )]
    Outside(String),
    /// The content of a file is not valid: the message of its parser.
    #[error("{0}; the file is damaged, copy it anew")]
    Damaged(String),
    /// The directory was written in this other version of the format.
    #[error("format version {0}, this program reads version 1")]
    Version(u64),
    /// The directory holds a model of this other architecture.
    #[error("architecture \"{0}\" is unknown to this program")]
    Architecture(String),
    /// The configuration in the directory differs from the given one.
    #[error(
        "holds other values than the given configuration; load it with the configuration that it \
        was saved with"
    )]
    Other,
    /// The configuration does not describe a model.
    #[error(transparent)]
    Config(ConfigError),
    /// The weights do not match the configuration: the first name or shape that does not.
    #[error("{0}; weights and config.json belong to different models")]
    Parameters(#[source] LoadError),
    /// The configuration describes a model with another number of parameters than there are
    /// weights.
    #[error(
        "describes {expected} parameters, model.safetensors holds {found}; weights and \
        config.json belong to different models"
    )]
    Size {
        /// Number of parameters that the configuration describes.
        expected: usize,
        /// Number of parameters in the weights file.
        found: usize,
    },
    /// This tensor holds NaN or infinite numbers.
    #[error(
        "tensor {0} holds NaN or infinite numbers; the model is broken, take an earlier one \
        or download it again"
    )]
    NotFinite(String),
    /// The size or the hash of the file differs from the manifest.
    #[error(
        "{0} differs from manifest.json; the file was changed or truncated, copy the whole \
        directory anew"
    )]
    Tampered(&'static str),
    /// The manifest does not list a file that is needed.
    #[error("not listed in manifest.json; the directory is incomplete")]
    Unlisted,
}

impl ModelDirProblem {
    /// Returns the error of the file or folder at `path`.
    pub fn at(self, path: impl Into<PathBuf>) -> ModelDirError {
        ModelDirError {
            path: path.into(),
            problem: self,
        }
    }
}

impl ModelDirError {
    pub(crate) fn io(path: &Path, cause: io::Error) -> Self {
        let problem = if cause.kind() == io::ErrorKind::OutOfMemory {
            ModelDirProblem::OutOfMemory
        } else {
            ModelDirProblem::Io(cause)
        };
        problem.at(path)
    }

    pub(crate) fn damaged(path: &Path, error: impl ToString) -> Self {
        ModelDirProblem::Damaged(error.to_string()).at(path)
    }
}
