//! The HTTP interfaces.

pub(crate) mod attention;
pub(crate) mod body;
pub(crate) mod error;
pub(crate) mod files;
mod glossary;
pub(crate) mod libretranslate;
pub(crate) mod openapi;
pub(crate) mod page;
pub(crate) mod status;
pub(crate) mod v1;

use std::sync::Arc;
use std::time::Instant;

use burnformer_documents::Format;
use burnformer_glossary::Glossary;
use tokio::sync::Semaphore;

use self::error::ApiError;
use self::files::Files;
use crate::auth::Keys;
use crate::cache::Cache;
use crate::detect::{Detection, detect};
use crate::engine::Choice;
use crate::metrics::Metrics;
use crate::models::{LanguagePair, Models};
use crate::queue::Queue;
use crate::settings::Limits;
use crate::text::{Path, Translations};

/// The code that asks for the language to be found out.
pub(crate) const AUTO: &str = "auto";

/// What every request needs.
pub(crate) struct Service {
    pub models: Models,
    pub cache: Cache,
    pub metrics: Arc<Metrics>,
    pub keys: Keys,
    pub limits: Limits,
    pub files: Files,
    /// Permits to compute attention weights, one for each batch that may be translated at the same time.
    pub looking: Arc<Semaphore>,
}

pub(crate) type Shared = Arc<Service>;

impl Service {
    /// Fails unless `key` may ask.
    pub fn check_key(&self, key: Option<&str>) -> Result<(), ApiError> {
        if self.keys.allow(key) { Ok(()) } else { Err(ApiError::key()) }
    }

    /// Fails if `texts` are more, or have more characters, than the limits allow.
    pub fn check_texts<T: AsRef<str>>(
        &self,
        field: &'static str,
        texts: &[T],
    ) -> Result<(), ApiError> {
        if texts.len() > self.limits.texts {
            let message =
                format!("{} texts are more than the {} allowed", texts.len(), self.limits.texts);
            return Err(ApiError::bad(field, message, "send less at a time".into()));
        }
        let characters: usize = texts.iter().map(|text| text.as_ref().chars().count()).sum();
        if characters > self.limits.characters {
            let limit = self.limits.characters;
            let message = format!("{characters} characters are more than the {limit} allowed");
            return Err(ApiError::bad(field, message, "send less at a time".into()));
        }
        Ok(())
    }

    /// The codes of all languages that can be translated from, or to; sorted.
    pub fn codes(&self, side: fn(&LanguagePair) -> &String) -> Vec<&str> {
        let mut codes: Vec<&str> = self.models.pairs().map(|pair| side(pair).as_str()).collect();
        codes.sort_unstable();
        codes.dedup();
        codes
    }

    /// The languages that `texts` are most probably in, among those that can be translated; the first of them, with no
    /// confidence, where nothing can be told.
    pub fn detect(&self, text: &str) -> Detection {
        let codes = self.codes(|pair| &pair.source);
        let first = codes.first().copied().unwrap_or_default().to_owned();
        detect(text, &codes).unwrap_or(Detection { language: first, confidence: 0.0 })
    }

    /// Translates `texts`, each whole, within the time that the limits allow, with the terms of `glossary` and of the
    /// model's own.
    pub async fn translate(
        &self,
        texts: &[String],
        pair: &LanguagePair,
        format: Format,
        choice: Choice,
        glossary: &Glossary,
    ) -> Result<Vec<Translations>, ApiError> {
        if pair.source == pair.target {
            return Ok(texts.iter().map(|text| vec![text.clone()]).collect());
        }
        let queue = self.queue(pair).await?;
        let name = pair.to_string();
        let glossaries = self.glossaries(glossary, pair);
        let path = self.path(&queue, choice, &name, &glossaries);
        let all = async {
            let mut translated = Vec::with_capacity(texts.len());
            for some in texts.chunks(64) {
                // The sentences of several texts share batches.
                let mut waiting = Vec::with_capacity(some.len());
                for text in some {
                    waiting.push(path.translate(text, format, &pair.source));
                }
                for done in futures_util::future::join_all(waiting).await {
                    translated.push(done?);
                }
            }
            Ok(translated)
        };
        self.in_time(all).await
    }

    /// What the sentences of a request go through: the queue of the model for `pair`, searched by `choice`.
    pub fn path<'a>(
        &'a self,
        queue: &'a Queue,
        choice: Choice,
        pair: &'a str,
        glossaries: &'a [&'a Glossary],
    ) -> Path<'a> {
        Path { queue, cache: &self.cache, metrics: &self.metrics, choice, pair, glossaries }
    }

    /// The glossary of a request, before that of the model for `pair`.
    pub fn glossaries<'a>(&'a self, own: &'a Glossary, pair: &LanguagePair) -> Vec<&'a Glossary> {
        [own].into_iter().chain(self.models.glossary(pair)).collect()
    }

    /// The result of `work`, unless it takes longer than the limits allow; then it is given up.
    pub async fn in_time<T>(
        &self,
        work: impl Future<Output = Result<T, ApiError>>,
    ) -> Result<T, ApiError> {
        let begun = Instant::now();
        let result = tokio::time::timeout(self.limits.time, work).await;
        self.metrics.answered(begun.elapsed());
        result.unwrap_or_else(|_| Err(ApiError::too_slow(self.limits.time)))
    }

    /// The queue of the model for `pair`.
    pub async fn queue(&self, pair: &LanguagePair) -> Result<Arc<Queue>, ApiError> {
        match self.models.queue(pair).await {
            Some(queue) => queue.map_err(|error| ApiError::failed(error.to_string())),
            None => Err(self.unsupported(pair)),
        }
    }

    /// Why `pair` cannot be translated.
    fn unsupported(&self, pair: &LanguagePair) -> ApiError {
        let sources = self.codes(|pair| &pair.source);
        if !sources.contains(&&*pair.source) {
            let remedy = format!("one of {}", sources.join(", "));
            return ApiError::bad("source", format!("{} is not supported", pair.source), remedy);
        }
        let targets = self.models.pairs().filter(|known| known.source == pair.source);
        let targets: Vec<&str> = targets.map(|known| known.target.as_str()).collect();
        let remedy =
            format!("what {} is translated into here: {}", pair.source, targets.join(", "));
        ApiError::bad("target", format!("{} is not supported", pair.target), remedy)
    }
}

/// Reads a format that a client names.
pub(crate) fn format(name: Option<&str>) -> Result<Format, ApiError> {
    let name = name.unwrap_or("text");
    name.parse().map_err(|_| {
        ApiError::bad(
            "format",
            format!("{name:?} is no format"),
            "text, html, markdown or srt".into(),
        )
    })
}
