use std::path::PathBuf;

/// A result with the error [`ShortlistError`] by default.
pub(crate) type Result<T, E = ShortlistError> = std::result::Result<T, E>;

/// The reason why a shortlist cannot be made or used.
#[derive(Debug, thiserror::Error)]
pub enum ShortlistError {
    /// The file cannot be read.
    #[error("{0}: {1}; check the path and its permissions")]
    Unreadable(PathBuf, std::io::Error),
    /// The file cannot be written.
    #[error("{0}: {1}; check the folder, its permissions and the free space")]
    Unwritable(PathBuf, std::io::Error),
    /// The file is not a shortlist, or was changed after it was written.
    #[error(
        "{0}: {1}; the file is damaged or not a shortlist, make it anew with `burnformer shortlist`"
    )]
    Damaged(PathBuf, String),
    /// The file has another version of the format.
    #[error(
        "{0}: a shortlist of format version {1}, this program reads version 1; make it anew with `burnformer shortlist`"
    )]
    Version(PathBuf, u64),
    /// The model has a vocabulary of another size.
    #[error(
        "the shortlist is for a {side} vocabulary of {shortlist} tokens, and that of the model has {model}; \
         make one for this model with `burnformer shortlist`"
    )]
    Vocabulary {
        /// `source` or `target`.
        side: &'static str,
        /// The number of tokens for which the shortlist was made.
        shortlist: usize,
        /// The number of tokens of the model.
        model: usize,
    },
    /// The model has another tokeniser with other ids.
    #[error(
        "the shortlist is for another {0} tokeniser than that of the model; \
         make one for this model with `burnformer shortlist`"
    )]
    Tokenizer(&'static str),
    /// A setting is out of its range.
    #[error("{name} = {value}: {remedy}")]
    Setting {
        /// The name of the setting.
        name: &'static str,
        /// The given value.
        value: String,
        /// The values that are allowed.
        remedy: &'static str,
    },
    /// A token lies outside its vocabulary.
    #[error(
        "the {side} id {id} is outside the vocabulary of {vocab} tokens; encode with the model's tokeniser"
    )]
    UnknownId {
        /// `source` or `target`.
        side: &'static str,
        /// The id.
        id: u32,
        /// The number of tokens in the vocabulary.
        vocab: usize,
    },
    /// There are no pairs to learn from.
    #[error(
        "the text has no pair with 1 to {} tokens on each side; give parallel text in the languages of the model",
        super::MAX_LINE_TOKENS
    )]
    NoPairs,
}
