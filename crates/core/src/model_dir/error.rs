use std::path::{Path, PathBuf};

use crate::config::ConfigError;
use crate::parameters::LoadError;

/// A model directory that cannot be written or trusted.
#[derive(Debug, thiserror::Error)]
pub enum ModelDirError {
    /// The file system refused.
    #[error("{}: {source}; check the path, its permissions and the free space", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The folder does not exist.
    #[error("{}: no such folder; give a model directory, such as runs/NAME/best", dir.display())]
    NoDirectory {
        /// The folder.
        dir: PathBuf,
    },
    /// The folder is no model directory, or its writing was cut short.
    #[error(
        "{}: holds no manifest.json, so it is no finished model directory; \
         a run's are its best/, last/ and average/", dir.display()
    )]
    NoManifest {
        /// The folder.
        dir: PathBuf,
    },
    /// A listed file does not exist.
    #[error("{}: missing, but listed in manifest.json; copy the whole directory anew", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// A folder, pipe or device in the place of a file.
    #[error("{}: is not a file; copy the whole directory anew", path.display())]
    NotAFile {
        /// What is no file.
        path: PathBuf,
    },
    /// The manifest lists, or a link leads to, a file that is not in the directory.
    #[error(
        "{}: manifest.json lists {name:?}, which leaves the folder; \
         a model directory holds its own files, so put a copy there or get the model from a source you trust",
        dir.display()
    )]
    Outside {
        /// The directory.
        dir: PathBuf,
        /// The name listed.
        name: String,
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
    /// The configuration describes a model of another size than the weights.
    #[error(
        "{}: describes {expected} parameters, model.safetensors holds {found}; \
         weights and config.json belong to different models", path.display()
    )]
    Size {
        /// `config.json`.
        path: PathBuf,
        /// Parameters that the configuration describes.
        expected: usize,
        /// Parameters in the weights.
        found: usize,
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
