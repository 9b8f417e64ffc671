use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::shortlist::Shortlist;
use burnformer_terminology::{Glossary, Term, TranslationMemory, wanted};
use burnformer_text::{Writing, apply_edits, is_translatable, visible};

use super::request::TextRequest;
use crate::batching::Batching;
use crate::generation::{GenerationSettings, Protections};
use crate::hypothesis::FinishReason;
use crate::search::Request;
use crate::settings::{SearchSettings, SettingsError};

/// The default of [`TranslateOptions::longest`], in tokens with `</s>`.
pub const MAX_SENTENCE_TOKENS: usize = 1024;

/// The policy for a source that is too long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LongSources {
    /// Return the error [`TooLong`](crate::SentenceError::TooLong).
    #[default]
    Refuse,
    /// Translate the tokens that fit; the rest of the sentence is lost.
    Truncate,
}

/// The languages to translate from and to, if known, and their tokens for a multilingual model,
/// from
/// [`Translator::languages`](crate::Translator::languages). The default has no languages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Languages {
    /// The codes of the two languages.
    pub(super) codes: Option<[String; 2]>,
    /// The tokens at the beginning of every source.
    pub(super) source: Vec<u32>,
    /// The forced tokens at the beginning of every translation.
    pub(super) target: Vec<u32>,
}

impl Languages {
    /// The codes of the source and the target language, if known.
    pub fn codes(&self) -> Option<&[String; 2]> {
        self.codes.as_ref()
    }

    /// The code of the source language, if known.
    pub fn source(&self) -> Option<&str> {
        self.codes.as_ref().map(|codes| &*codes[0])
    }

    /// The tokens at the beginning of every source and of every target.
    pub fn tokens(&self) -> [&[u32]; 2] {
        [&self.source, &self.target]
    }

    /// The number formats of both languages, if they are known and differ.
    pub fn writing(&self) -> Option<Writing> {
        let [from, into] = self.codes.as_ref()?;
        Writing::between(from, into)
    }

    /// Adds the tokens to a request, unless it has nothing to translate.
    pub(super) fn add_to(&self, request: &mut Request, eos: u32) {
        if !request.is_empty(eos) {
            let terms = std::mem::take(&mut request.terms);
            request.terms = terms.moved_by(self.source.len());
            request.source.splice(0..0, self.source.iter().copied());
            request.prefix.splice(0..0, self.target.iter().copied());
            request.languages = self.target.len();
        }
    }
}

/// The options of a [`Translator`](crate::Translator).
#[derive(Clone, Debug, PartialEq)]
pub struct TranslateOptions {
    /// The settings of the search. [`Translator::options`](crate::Translator::options) takes them
    /// from the model directory.
    pub search: SearchSettings,
    /// What is done besides the search, likewise from the model directory.
    pub protections: Protections,
    /// The number of sentences to translate together.
    pub batching: Batching,
    /// The longest sentence, in tokens with `</s>`; a model with learned positions may allow less.
    /// It bounds the cost of a line that is not a sentence, as time and memory are quadratic.
    pub longest: usize,
    /// The policy for longer sources.
    pub long_sources: LongSources,
    /// The languages to translate from and to, for a multilingual model.
    pub languages: Languages,
    /// Required translations of terms, for sources given as text.
    /// [`Translator::check_glossary`] checks whether the model can write them.
    ///
    /// [`Translator::check_glossary`]: crate::Translator::check_glossary
    pub glossary: Option<Arc<Glossary>>,
    /// The translation memory. Exact matches are reused, unless the request has a prefix.
    pub memory: Option<Arc<TranslationMemory>>,
    /// The lexical shortlist: the likely translations of each source token. Translations consist of
    /// likely tokens only, which speeds up large vocabularies. [`Translator::check_shortlist`]
    /// checks whether it fits the model.
    ///
    /// [`Translator::check_shortlist`]: crate::Translator::check_shortlist
    pub shortlist: Option<Arc<Shortlist>>,
}

impl TranslateOptions {
    /// Changes the search and the protections by the names of [`GenerationSettings::with`].
    ///
    /// # Errors
    /// Returns the errors of [`GenerationSettings::with`].
    pub fn change(&mut self, changes: &Map<String, Value>) -> Result<(), SettingsError> {
        let settings = GenerationSettings {
            protections: self.protections,
            ..GenerationSettings::from(self.search.clone())
        };
        let changed = settings.with(changes)?;
        self.search = changed.search;
        self.protections = changed.protections;
        Ok(())
    }

    /// Returns the terms of the glossary in `source`.
    pub(super) fn wanted(&self, source: &str) -> Vec<Term> {
        match &self.glossary {
            Some(glossary) => wanted(&[glossary], source),
            None => Vec::new(),
        }
    }

    /// Returns the translation of `sentence` and the reason, if no search is needed for it: the
    /// memory has one, or nothing is to be translated. The latter holds where parts are kept, as
    /// imported models translate such sources in their own system.
    pub(super) fn answer(&self, sentence: &TextRequest) -> Option<(String, FinishReason)> {
        let source = &sentence.text;
        if let Some(text) = self.remembered(source) {
            return Some((text, FinishReason::Memory));
        }
        if !self.protections.keep_parts || is_translatable(source) || !sentence.wanted.is_empty() {
            return None;
        }
        let visible = visible(source);
        let text = visible.trim();
        if text.is_empty() {
            return None;
        }
        let writing = self.languages.writing();
        let changes = writing.map(|writing| writing.changes(text, text));
        let text = apply_edits(text, &changes.unwrap_or_default());
        Some((text, FinishReason::Kept))
    }

    /// Returns the translation of `segment` from the translation memory, if there is one.
    pub fn remembered(&self, segment: &str) -> Option<String> {
        let memory = self.memory.as_ref()?;
        memory.translation(segment).map(String::from)
    }
}

impl Default for TranslateOptions {
    fn default() -> Self {
        Self {
            search: SearchSettings::default(),
            protections: Protections::default(),
            batching: Batching::default(),
            longest: MAX_SENTENCE_TOKENS,
            long_sources: LongSources::default(),
            languages: Languages::default(),
            glossary: None,
            memory: None,
            shortlist: None,
        }
    }
}

/// The two languages in the name of a model's folder (`opus-mt-de-en`, or `de-en/best` in it).
pub(super) fn pair_of(folder: &Path) -> Option<[String; 2]> {
    let mut names = folder.iter().rev().filter_map(|name| name.to_str());
    let name = names.find(|name| !["best", "last", "model"].contains(name))?;
    let name = name
        .rsplit_once('-')
        .filter(|(_, end)| end.len() == 8 && end.bytes().all(|c| c.is_ascii_hexdigit()))
        .map_or(name, |(name, _)| name);
    let (rest, target) = name.rsplit_once('-')?;
    let source = rest.rsplit(['-', '_', ':', '.']).next()?;
    [source, target]
        .into_iter()
        .all(|code| code.len() == 2 && code.bytes().all(|c| c.is_ascii_lowercase()))
        .then(|| [source.into(), target.into()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_model_tells_its_languages() {
        let pair = |name: &str| pair_of(Path::new(name)).map(|pair| pair.join(" "));
        for name in [
            "opus-mt-de-fr",
            "a/de-fr",
            "de-fr-01234abc",
            "runs/de-fr/best",
        ] {
            assert_eq!(pair(name).as_deref(), Some("de fr"), "{name}");
        }
        for name in [
            "runs/mine/best",
            "m2m-100",
            "my-model",
            "en",
            "",
            "de-fr/mine",
        ] {
            assert_eq!(pair(name), None, "{name}");
        }
    }
}
