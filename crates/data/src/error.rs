//! The error of this crate, which holds the errors of its modules.

use std::io;
use std::path::PathBuf;

use crate::corpus::TextError;
use crate::sampler::SamplerError;
use crate::tokenizer::TokenizerError;

/// The result type of this crate's functions.
pub type Result<T, E = DataError> = std::result::Result<T, E>;

/// Bad input or a bad setting. Every message names the file, the line (counted from 1) if there is
/// one, the value, and a remedy.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// A file cannot be opened, or text cannot be read from it.
    #[error(transparent)]
    Text(#[from] TextError),
    /// A tokeniser cannot be trained, loaded or used.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
    /// A corpus gives no batch, or not the batches of a saved position.
    #[error(transparent)]
    Sampler(#[from] SamplerError),
    /// A setting is out of its range.
    #[error("{name} = {value}: {remedy}")]
    InvalidSetting {
        /// The name of the setting.
        name: &'static str,
        /// The value that was given.
        value: String,
        /// The values that are allowed.
        remedy: &'static str,
    },
    /// Cleaning dropped every pair. The report counts them by reason.
    #[error(
        "no sentence pair is left after cleaning ({0}); relax the limits or check that the text is what you meant"
    )]
    NothingLeft(Box<crate::CleaningReport>),
    /// A file cannot be written.
    #[error("{0}: cannot be written: {1}; check the folder, its permissions and the free space")]
    Unwritable(PathBuf, io::Error),
    /// A cache file is damaged. `prepare` does not report this error: it builds the file again.
    #[error("{0}: the cache is damaged: {1}; delete it and it is built again")]
    DamagedCache(PathBuf, String),
}

burnformer_text::debug_as_message!(DataError);

impl DataError {
    /// Checks a setting: an error that names it and its `value` unless `good`.
    pub(crate) fn check(
        good: bool,
        name: &'static str,
        value: impl ToString,
        remedy: &'static str,
    ) -> Result<()> {
        if good {
            return Ok(());
        }
        Err(Self::InvalidSetting {
            name,
            value: value.to_string(),
            remedy,
        })
    }
}
