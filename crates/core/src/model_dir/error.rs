use std::path::{Path, PathBuf};

use crate::config::ConfigError;
use crate::parameters::LoadError;

/// A model directory that cannot be written or trusted.
#[derive(Debug, thiserror::Error)]
pub enum ModelDirError {
    /// The file system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A JSON file is not what it should be.
    #[error("{}: {message}; the file is damaged, copy it anew", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// What the parser said, with line and column.
        message: String,
    },
    /// The directory was written in another format.
    #[error("{}: format version {found}, this program reads version 1", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// The version found.
        found: u64,
    },
    /// The directory holds another kind of model.
    #[error("{}: architecture \"{found}\" is unknown to this program", path.display())]
    Architecture {
        /// The file.
        path: PathBuf,
        /// The architecture found.
        found: String,
    },
    /// The configuration describes no model.
    #[error("{}: {source}", path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: ConfigError,
    },
    /// The weights do not fit the configuration.
    #[error("{}: {source}; weights and config.json belong to different models", path.display())]
    Parameters {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        source: LoadError,
    },
    /// The file is no safetensors file of float32 values.
    #[error("{}: {message}; the file is damaged, copy it anew", path.display())]
    Tensors {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// The file's size or hash is not the manifest's.
    #[error("{}: {what} differs from manifest.json; the file was changed or truncated, copy the whole directory anew", path.display())]
    Tampered {
        /// The file.
        path: PathBuf,
        /// `size` or `hash`.
        what: &'static str,
    },
    /// The manifest does not list a file that is needed.
    #[error("{}: not listed in manifest.json; the directory is incomplete", path.display())]
    Unlisted {
        /// The file.
        path: PathBuf,
    },
}

impl ModelDirError {
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Io { path: path.to_path_buf(), source }
    }
}
