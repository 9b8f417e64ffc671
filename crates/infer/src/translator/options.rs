use crate::batching::Batching;
use crate::settings::SearchSettings;

/// What to do with a source that does not fit a model's learned positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LongSources {
    /// Refuse with [`InferError::SourceTooLong`](crate::InferError::SourceTooLong).
    #[default]
    Refuse,
    /// Translate the tokens that fit; the rest of the sentence is lost.
    Truncate,
}

/// How a [`Translator`](crate::Translator) translates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TranslateOptions {
    /// What to look for; the model directory's own by [`Translator::options`](crate::Translator::options).
    pub search: SearchSettings,
    /// How many sentences to translate together.
    pub batching: Batching,
    /// What to do with sources that do not fit.
    pub long_sources: LongSources,
}
