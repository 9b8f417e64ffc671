use crate::shortlist::ShortlistError;
use burnformer_core::model_dir::ModelDirError;
use burnformer_data::DataError;

use crate::model::EnsembleError;
use crate::search::SentenceError;
use crate::settings::SettingsError;
use crate::translator::{LanguageError, TermError, TranslatorError};

/// A result with the error [`InferError`] by default.
pub(crate) type Result<T, E = InferError> = std::result::Result<T, E>;

/// The reasons why text cannot be translated or scored.
#[derive(thiserror::Error)]
pub enum InferError {
    /// The model directory cannot be read or trusted.
    #[error(transparent)]
    ModelDir(#[from] ModelDirError),
    /// A tokeniser cannot be read or written.
    #[error(transparent)]
    Tokenizer(#[from] DataError),
    /// A shortlist cannot be used with the model.
    #[error(transparent)]
    Shortlist(#[from] ShortlistError),
    /// A model and its tokenisers do not fit together.
    #[error(transparent)]
    Translator(#[from] TranslatorError),
    /// Models do not fit into an ensemble.
    #[error(transparent)]
    Ensemble(#[from] EnsembleError),
    /// A setting is out of its range, or settings cannot be read or written.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The model does not know a language, or needs a language that is not given.
    #[error(transparent)]
    Language(#[from] LanguageError),
    /// The model's vocabulary cannot write a term.
    #[error(transparent)]
    Term(#[from] TermError),
    /// A sentence cannot be translated or scored.
    #[error("sentence {sentence}: {error}")]
    Sentence {
        /// The number of the sentence, from 1.
        sentence: usize,
        /// The problem.
        error: SentenceError,
    },
    /// The numbers of sources and targets, or of sources and prefixes, differ.
    #[error("{sources} sources but {others} {what}; give one for each source")]
    Count {
        /// Number of sources.
        sources: usize,
        /// Number of the others.
        others: usize,
        /// The kind of the other entries.
        what: &'static str,
    },
    /// The model has no attention weights to show.
    #[error("this kind of model has no attention to show; give a single model that has")]
    NoAttention,
}

burnformer_text::debug_as_message!(InferError);

impl SentenceError {
    /// The error of the sentence with this number, from 1.
    pub(crate) fn of(self, sentence: usize) -> InferError {
        InferError::Sentence {
            sentence,
            error: self,
        }
    }
}

impl InferError {
    /// The number, from 1, of the sentence that caused the error, if there is one.
    pub fn sentence(&self) -> Option<usize> {
        match self {
            Self::Sentence { sentence, .. } => Some(*sentence),
            _ => None,
        }
    }

    /// The error of another sentence, the one with this number from 1, if it is the error of a
    /// sentence.
    pub(crate) fn renumbered(self, number: usize) -> Self {
        match self {
            Self::Sentence { error, .. } => error.of(number),
            other => other,
        }
    }

    /// Adds `offset`, the number of sentences before a chunk, to the number of the sentence that
    /// caused the error.
    pub fn offset(mut self, offset: usize) -> Self {
        if let Self::Sentence { sentence, .. } = &mut self {
            *sentence += offset;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use burnformer_core::model_dir::ModelDirProblem;

    use super::*;

    #[test]
    fn an_error_that_main_returns_is_printed_as_a_sentence() {
        let error = InferError::from(ModelDirProblem::NoDirectory.at("runs/x"));
        let printed = format!("{error:?}");
        assert!(
            printed.starts_with("runs/x: no such folder; give a model directory"),
            "{printed}"
        );
    }
}
