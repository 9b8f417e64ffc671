use std::io;
use std::path::{Path, PathBuf};

use burnformer_data::{DataError, TextError};
use burnformer_documents::{BrokenCatalogue, BrokenFile};
use burnformer_files::ReadProblem;
use burnformer_infer::InferError;

/// An error with the file that it is about.
#[derive(Debug, thiserror::Error)]
#[error("{}{problem}", place(path.as_ref(), *line))]
pub struct TranslationError {
    /// The file, unless the problem names it itself.
    pub path: Option<PathBuf>,
    /// The line, counted from 1, if there is one.
    pub line: Option<u64>,
    /// The problem and its remedy.
    #[source]
    pub problem: Box<TranslationProblem>,
}

/// The reasons why a file cannot be read or translated.
#[derive(Debug, thiserror::Error)]
pub enum TranslationProblem {
    /// The text cannot be read.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The file cannot be read, or is above the limit of its kind.
    #[error(transparent)]
    Unreadable(#[from] ReadProblem),
    /// The file is not of its format.
    #[error(transparent)]
    File(#[from] BrokenFile),
    /// The catalogue is broken.
    #[error(transparent)]
    Catalogue(#[from] BrokenCatalogue),
    /// The translator refuses a sentence, or fails.
    #[error(transparent)]
    Translator(#[from] InferError),
    /// A TMX file has no unit.
    #[error("no unit; export the memory as TMX 1.4")]
    NoUnit,
    /// A text has no file with its translations.
    #[error(
        "is no catalogue and no table by its name, and no text with its translations follows it; \
        name two texts, or a .po, .xlf, .tmx, .tsv or .csv"
    )]
    Unpaired,
    /// The memory is too large.
    #[error("the memory has more than {0} MiB of text; name fewer files, or divide this one")]
    TooLarge(usize),
    /// The languages are swapped.
    #[error(
        "its words go from the model's target language ({to}) into its source language ({from}); \
        change its columns or files round, or name a model of the other direction"
    )]
    Direction {
        /// The model's source language.
        from: String,
        /// The model's target language.
        to: String,
    },
    /// A row of a table does not have two columns.
    #[error(
        "the row has {0} columns between commas, semicolons, tabs or `|`, and a memory has two, \
        source and translation; put a text with such signs in quotes, or take columns away"
    )]
    Columns(usize),
}

impl TranslationProblem {
    /// Returns the error for the file `path`.
    pub(crate) fn of(self, path: &Path) -> TranslationError {
        TranslationError {
            path: Some(path.into()),
            line: None,
            problem: Box::new(self),
        }
    }
}

impl From<TranslationProblem> for TranslationError {
    fn from(problem: TranslationProblem) -> Self {
        Self {
            path: None,
            line: None,
            problem: Box::new(problem),
        }
    }
}

impl From<DataError> for TranslationError {
    fn from(error: DataError) -> Self {
        TranslationProblem::from(error).into()
    }
}

impl From<TextError> for TranslationError {
    fn from(error: TextError) -> Self {
        DataError::from(error).into()
    }
}

impl From<io::Error> for TranslationError {
    fn from(error: io::Error) -> Self {
        TranslationProblem::Unreadable(ReadProblem::Unreadable(error)).into()
    }
}

impl From<InferError> for TranslationError {
    fn from(error: InferError) -> Self {
        TranslationProblem::from(error).into()
    }
}

impl From<BrokenCatalogue> for TranslationError {
    fn from(error: BrokenCatalogue) -> Self {
        TranslationProblem::from(error).into()
    }
}

/// Returns `path` and `line` as the beginning of a message.
fn place(path: Option<&PathBuf>, line: Option<u64>) -> String {
    match (path, line) {
        (None, _) => String::new(),
        (Some(path), None) => format!("{}: ", path.display()),
        (Some(path), Some(line)) => format!("{}:{line}: ", path.display()),
    }
}
