use std::path::PathBuf;

use burnformer_train::{ConfigFileError, TrainError};

/// A result with the error [`StudyError`] by default.
pub(crate) type Result<T, E = StudyError> = std::result::Result<T, E>;

/// The reasons why a study cannot start or resume.
#[derive(thiserror::Error)]
pub enum StudyError {
    /// A row cannot be trained or measured.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// The operating system returned an error.
    #[error("{}: {cause}; check the folder of the study", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        cause: std::io::Error,
    },
    /// The file of a row is damaged or belongs to other settings.
    #[error("{}: {what}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The problem and its remedy.
        what: String,
    },
    /// The configuration of a row cannot be trained.
    #[error(
        "row {name} ({change}): {source}; change it with --set for all rows, or leave the row out with --rows"
    )]
    Row {
        /// The name of the row.
        name: String,
        /// The difference from the first row.
        change: String,
        /// The error in the configuration.
        source: Box<ConfigFileError>,
    },
}

burnformer_text::debug_as_message!(StudyError);
