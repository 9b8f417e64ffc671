//! Options by their names, as Python's package and pages pass them.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::Translator;
use super::options::{LongSources, TranslateOptions};
use crate::error::InferError;

/// Options of a translation by their names. Those that are not given are the model's.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct NamedOptions {
    /// The source language, as [`Translator::languages`] takes it.
    pub source_language: Option<String>,
    /// The target language, likewise.
    pub target_language: Option<String>,
    /// If true, a pair of languages may be one on which the model was not trained.
    pub zero_shot: bool,
    /// The longest sentence in tokens, with `</s>`.
    pub longest: Option<usize>,
    /// If true, longer sentences are truncated instead of being refused.
    pub truncate: bool,
    /// Keys of `generation.json`.
    #[serde(flatten)]
    pub settings: Map<String, Value>,
}

impl NamedOptions {
    /// Returns the options of `translator`, overridden by the given ones.
    ///
    /// # Errors
    /// Returns an error for a key that does not exist, a value of another type or out of its range,
    /// and languages that the model does not translate.
    pub fn resolve(&self, translator: &Translator) -> Result<TranslateOptions, InferError> {
        let mut options = translator.options();
        options.change(&self.settings)?;
        let source = self.source_language.as_deref();
        let target = self.target_language.as_deref();
        options.languages = if self.zero_shot {
            translator.zero_shot_languages(source, target)?
        } else {
            translator.languages(source, target)?
        };
        options.longest = self.longest.unwrap_or(options.longest);
        if self.truncate {
            options.long_sources = LongSources::Truncate;
        }
        Ok(options)
    }
}
