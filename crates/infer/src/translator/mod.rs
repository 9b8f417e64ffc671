//! The translator: from text to text.

mod context;
mod error;
mod files;
mod languages;
mod links;
mod load;
mod named;
mod options;
mod protections;
mod request;
mod score;
mod stream;
mod terms;
mod translate;
mod until_error;

use std::sync::{Arc, OnceLock};

use burnformer_data::Tokenizers;

use crate::generation::GenerationSettings;
use crate::hypothesis::Hypothesis;
use crate::model::StepModel;
use crate::quality_warning::quality_warnings;
use crate::search::{WordEdges, len_with_eos};
use crate::shortlist::{Shortlist, ShortlistError};

pub use context::begin_documents;
pub use error::{LanguageError, TermError, TranslatorError};
pub use files::{TOKENIZER_FILES, load_settings, load_tokenizers, save_text_files};
pub use links::TextLink;
pub use load::vocabularies;
pub use named::NamedOptions;
pub use options::{Languages, LongSources, MAX_SENTENCE_TOKENS, TranslateOptions};
pub use request::{Report, TextContext, TextRequest};
pub use score::{TargetScore, force_score, perplexity, perplexity_of};

/// A model with its tokenisers. It translates text and scores translations.
///
/// It has no state between calls and can serve several threads at once.
pub struct Translator {
    model: Box<dyn StepModel>,
    tokenizers: Tokenizers,
    settings: GenerationSettings,
    /// The default languages, from the name of the model.
    pair: Option<[String; 2]>,
    /// The tokens between the sentences of a context, in the source and in the target.
    separators: [Option<u32>; 2],
    /// The word boundaries of target tokens, once terms are requested.
    edges: OnceLock<Arc<WordEdges>>,
}

impl Translator {
    /// Returns options with the default settings of the model, and its languages if it has only one
    /// pair.
    pub fn options(&self) -> TranslateOptions {
        let languages = self.languages(None, None);
        let languages = languages.unwrap_or_else(|_| Languages {
            codes: self.pair.clone(),
            ..Languages::default()
        });
        TranslateOptions {
            search: self.settings.search.clone(),
            protections: self.settings.protections,
            languages,
            ..TranslateOptions::default()
        }
    }

    /// The model.
    pub fn model(&self) -> &dyn StepModel {
        &*self.model
    }

    /// The tokenisers.
    pub fn tokenizers(&self) -> &Tokenizers {
        &self.tokenizers
    }

    /// Returns the confidence in `text` as a translation of `source`, between 0 and 1, by the
    /// model's [`Calibration`](crate::Calibration); 0 if the translation has a [quality
    /// warning](crate::QualityWarning). Returns `None` if the model has no calibration, or if no
    /// search found the translation.
    pub fn confidence(&self, source: &str, text: &str, hypothesis: &Hypothesis) -> Option<f64> {
        if hypothesis.tokens.is_empty() && hypothesis.text.is_some() {
            return None;
        }
        let calibration = self.settings.calibration?;
        Some(if quality_warnings(source, text).is_empty() {
            calibration.confidence(hypothesis)
        } else {
            0.0
        })
    }

    /// Checks that `shortlist` is for the vocabularies of the model.
    ///
    /// # Errors
    /// Returns a [`ShortlistError`] if it is for other vocabularies.
    pub fn check_shortlist(&self, shortlist: &Shortlist) -> Result<(), ShortlistError> {
        shortlist
            .vocabularies()
            .check(&vocabularies(&self.tokenizers))
    }

    /// The longest source that `options` and the model allow, in tokens with `</s>`. The tokens of
    /// the languages, which are added to it, are not counted.
    pub fn longest_source(&self, options: &TranslateOptions) -> usize {
        let limit = self.source_limit(options);
        limit.saturating_sub(options.languages.source.len()).max(1)
    }

    /// The longest source of a search, in tokens with `</s>` and the languages.
    pub(super) fn source_limit(&self, options: &TranslateOptions) -> usize {
        options
            .longest
            .min(self.model.max_positions().unwrap_or(usize::MAX))
            .max(1)
    }

    /// Returns whether `sentence` fits into the model without being truncated.
    pub fn fits(&self, sentence: &str, options: &TranslateOptions) -> bool {
        let limit = self.longest_source(options);
        // A token has at least one byte, and `</s>` is one more.
        sentence.len() < limit || self.tokenizers.source.encode(sentence).len() < limit
    }

    /// The longest translation of `source` (ids, with or without `</s>`) that `options` and the
    /// model allow, in tokens with `</s>`. A forced prefix must not be longer.
    pub fn longest_target(&self, source: &[u32], options: &TranslateOptions) -> usize {
        let source_len = len_with_eos(source, self.model.special().eos);
        let source_len = source_len.min(self.longest_source(options));
        options.search.limit(source_len, self.model.max_positions())
    }
}
