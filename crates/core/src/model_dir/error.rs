use std::path::{Path, PathBuf};

use crate::config::ConfigError;
use crate::parameters::LoadError;

/// An error in writing or reading a model directory.
#[derive(thiserror::Error)]
pub enum ModelDirError {
    /// The operating system reported an error on a file or folder.
    #[error("{}: {source}; check the path, its permissions and the free space", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The folder does not exist.
    #[error("{}: no such folder; give a model directory, such as runs/NAME/best", dir.display())]
    NoDirectory {
        /// The folder.
        dir: PathBuf,
    },
    /// The path is a file instead of a folder.
    #[error("{}: is a file, but a model is a folder; give a model directory, such as runs/NAME/best", path.display())]
    NotADirectory {
        /// The file.
        path: PathBuf,
    },
    /// The folder has no manifest: it is not a model directory, or writing it was interrupted.
    #[error("{}: holds no manifest.json, so it is not a finished model directory; {}", dir.display(),
        inside.as_ref().map_or("a run's are its best/, last/ and average/".into(),
            |model| format!("name one of the models in it, such as {}", model.display())))]
    NoManifest {
        /// The folder.
        dir: PathBuf,
        /// A model directory in the folder, or in a run in it.
        inside: Option<PathBuf>,
    },
    /// A file that the manifest lists does not exist.
    #[error("{}: missing, but listed in manifest.json; copy the whole directory anew", path.display())]
    Missing {
        /// The missing file.
        path: PathBuf,
    },
    /// A folder, pipe or device stands where a file is expected.
    #[error("{}: is not a file; copy the whole directory anew", path.display())]
    NotAFile {
        /// The path that is not a regular file.
        path: PathBuf,
    },
    /// The manifest lists a file outside of the directory, directly or through a link.
    #[error("{}: manifest.json lists {name:?}, which leaves the folder; a model directory holds \
        its own files, so put a copy there or get the model from a source you trust",
        dir.display())]
    Outside {
        /// The directory.
        dir: PathBuf,
        /// The name in the manifest.
        name: String,
    },
    /// A JSON file does not have the expected content.
    #[error("{}: {message}; the file is damaged, copy it anew", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// The message of the parser, with line and column.
        message: String,
    },
    /// The directory was written in another version of the format.
    #[error("{}: format version {found}, this program reads version 1", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// The version in the file.
        found: u64,
    },
    /// The directory holds a model of another architecture.
    #[error("{}: architecture \"{found}\" is unknown to this program", path.display())]
    Architecture {
        /// The file.
        path: PathBuf,
        /// The architecture in the file.
        found: String,
    },
    /// The directory was saved with another configuration than the one that it is to be loaded
    /// with.
    #[error("{}: holds other values than the configuration to load it with; load it with the one \
        with which it was saved", path.display())]
    Other {
        /// The file.
        path: PathBuf,
    },
    /// The configuration does not describe a model.
    #[error("{}: {source}", path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// The error in the configuration.
        source: ConfigError,
    },
    /// The weights do not match the configuration.
    #[error("{}: {source}; weights and config.json belong to different models", path.display())]
    Parameters {
        /// The file.
        path: PathBuf,
        /// The first name or shape that does not match.
        source: LoadError,
    },
    /// The configuration describes a model with another number of parameters than there are
    /// weights.
    #[error("{}: describes {expected} parameters, model.safetensors holds {found}; weights and \
        config.json belong to different models", path.display())]
    Size {
        /// `config.json`.
        path: PathBuf,
        /// Number of parameters that the configuration describes.
        expected: usize,
        /// Number of parameters in the weights file.
        found: usize,
    },
    /// The file is not a safetensors file of float32 values.
    #[error("{}: {message}; the file is damaged, copy it anew", path.display())]
    Tensors {
        /// The file.
        path: PathBuf,
        /// The damage.
        message: String,
    },
    /// The weights hold numbers that no training leaves in a model that works.
    #[error("{}: tensor {name} holds NaN or infinite numbers; the model is broken, take an earlier one or get it anew", path.display())]
    NotFinite {
        /// The file.
        path: PathBuf,
        /// The tensor.
        name: String,
    },
    /// The size or the hash of the file differs from the manifest.
    #[error("{}: {what} differs from manifest.json; the file was changed or truncated, copy the whole directory anew", path.display())]
    Tampered {
        /// The file.
        path: PathBuf,
        /// The property that differs: `size` or `hash`.
        what: &'static str,
    },
    /// The manifest does not list a file that is needed.
    #[error("{}: not listed in manifest.json; the directory is incomplete", path.display())]
    Unlisted {
        /// The file.
        path: PathBuf,
    },
}

/// The message: a program whose `main` returns the error prints its `Debug` form.
impl std::fmt::Debug for ModelDirError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl ModelDirError {
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Io { path: path.to_path_buf(), source }
    }

    pub(crate) fn json(path: &Path, error: &serde_json::Error) -> Self {
        Self::Json { path: path.to_path_buf(), message: error.to_string() }
    }
}
