use std::path::{Path, PathBuf};

use burnformer_core::ConfigError;
use burnformer_core::model_dir::ModelDirError;
use burnformer_infer::{InferError, SettingsError};

/// The result of the functions of this crate.
pub type Result<T, E = InteropError> = std::result::Result<T, E>;

/// The reasons why a model of another system cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum InteropError {
    /// The operating system returned an error.
    #[error("{0}: {1}; check the path, its permissions and the free space")]
    Io(PathBuf, #[source] std::io::Error),
    /// The size of the file, in bytes, exceeds the free memory.
    #[error(
        "{0}: {1} bytes do not fit into the free memory; free some, or take the model in int8 or \
        another machine"
    )]
    TooLarge(PathBuf, u64),
    /// A file of the format is missing.
    #[error("{}: there is no {wanted}; {remedy}", path.display())]
    Missing {
        /// The searched folder.
        path: PathBuf,
        /// The missing file.
        wanted: String,
        /// The remedy.
        remedy: &'static str,
    },
    /// There is nothing at the given path.
    #[error("{}: no such file or folder; download a model first, such as `pip install \
        huggingface_hub` and `hf download Helsinki-NLP/opus-mt-en-fr --local-dir opus-mt-en-fr`",
        .0.display())]
    NotFound(PathBuf),
    /// The format was not recognised.
    #[error("{}: no model of a known format; give a folder with config.json and model.safetensors \
        or pytorch_model.bin (Hugging Face), with model.bin (CTranslate2), with a .npz or .bin of \
        Marian, a package (.argosmodel, .zip), or name the format", .0.display())]
    UnknownFormat(PathBuf),
    /// The path is a model directory of this program already.
    #[error("{}: is a model directory already; use it as it is, with --model", .0.display())]
    Ours(PathBuf),
    /// The content of a file does not fit its name.
    #[error("{0}: {1}; the file is damaged or incomplete, download it again")]
    Damaged(PathBuf, String),
    /// A pickle needs a class, function or operation that weights do not need.
    #[error(
        "{0}: the pickle would execute or build {1}, which is refused; load it in Python \
        where you trust it, and save the weights with safetensors"
    )]
    Pickle(PathBuf, String),
    /// A tensor of the model is not in the file.
    #[error("{0}: tensor {1} is missing; the weights belong to another configuration")]
    MissingTensor(PathBuf, String),
    /// A tensor in the file does not belong to the model.
    #[error("{}: the model has no place for tensor {name}; {remedy}", path.display())]
    UnknownTensor {
        /// The file.
        path: PathBuf,
        /// The tensor.
        name: String,
        /// The remedy.
        remedy: &'static str,
    },
    /// The shape of a tensor differs from the configuration.
    #[error("{}: tensor {name} has shape {found:?}, the configuration says {expected:?}; weights \
        and configuration belong to different models", path.display())]
    Shape {
        /// The file.
        path: PathBuf,
        /// The tensor.
        name: String,
        /// The shape of the tensor in the file.
        found: Vec<usize>,
        /// The shape in the configuration.
        expected: Vec<usize>,
    },
    /// The model has a feature without a counterpart here.
    #[error("{}: {what} is not supported; {remedy}", path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// The option or type.
        what: String,
        /// The remedy.
        remedy: &'static str,
    },
    /// The configuration does not describe a valid model.
    #[error("{0}: {1}")]
    Config(PathBuf, #[source] ConfigError),
    /// The format cannot express this model.
    #[error("{format} has no place for {what}; {remedy}")]
    CannotExport {
        /// The format.
        format: &'static str,
        /// The feature.
        what: String,
        /// The remedy.
        remedy: &'static str,
    },
    /// The output folder is not empty.
    #[error("{}: the folder exists and is not empty; give another one, or remove it", .0.display())]
    Occupied(PathBuf),
    /// A model directory cannot be read or written.
    #[error(transparent)]
    ModelDir(#[from] ModelDirError),
    /// Search settings cannot be used or written.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The search settings of a model directory cannot be read.
    #[error(transparent)]
    Infer(#[from] InferError),
}

impl InteropError {
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Io(path.into(), source)
    }

    pub(crate) fn damaged(path: &Path, message: impl ToString) -> Self {
        Self::Damaged(path.into(), message.to_string())
    }

    pub(crate) fn missing(path: &Path, wanted: impl ToString, remedy: &'static str) -> Self {
        Self::Missing {
            path: path.into(),
            wanted: wanted.to_string(),
            remedy,
        }
    }

    pub(crate) fn shape(path: &Path, name: &str, found: &[usize], expected: &[usize]) -> Self {
        let found = found.into();
        let expected = expected.into();
        Self::Shape {
            path: path.into(),
            name: name.into(),
            found,
            expected,
        }
    }

    pub(crate) fn unsupported(path: &Path, what: impl ToString, remedy: &'static str) -> Self {
        Self::Unsupported {
            path: path.into(),
            what: what.to_string(),
            remedy,
        }
    }
}
