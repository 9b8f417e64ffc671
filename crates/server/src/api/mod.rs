//! The HTTP interfaces.

mod attention;
mod body;
pub(crate) mod error;
pub(crate) mod files;
mod glossary;
mod libretranslate;
pub(crate) mod openapi;
mod page;
pub(crate) mod routes;
mod source;
mod status;
mod v1;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use axum::http::{HeaderMap, header};
use burnformer_documents::Format;
use tokio::sync::Semaphore;

use self::error::ApiError;
use crate::auth::Keys;
use crate::cache::Cache;
use crate::kept_files::KeptFiles;
use crate::language::{self, LanguagePair};
use crate::metrics::Metrics;
use crate::models::Models;
use crate::settings::Limits;

/// The code that asks for the language to be found out.
pub(crate) const AUTO: &str = "auto";

/// What every request needs.
pub(crate) struct Service {
    pub models: Arc<Models>,
    pub cache: Cache,
    pub metrics: Arc<Metrics>,
    pub keys: Keys,
    pub limits: Limits,
    pub files: KeptFiles,
    /// Room for the bodies of requests.
    pub bodies: Arc<Semaphore>,
    /// Permits to compute attention weights, one for each batch that may be translated at the same
    /// time.
    pub looking: Arc<Semaphore>,
    /// The beginning of every path as clients see it, where no proxy tells it.
    pub prefix: String,
}

pub(crate) type Shared = Arc<Service>;

impl Service {
    /// Fails unless the key of `Authorization: Bearer KEY`, or else `key`, may ask.
    pub fn check_key(&self, headers: &HeaderMap, key: Option<&str>) -> Result<(), ApiError> {
        match self.keys.allow(bearer(headers).or(key)) {
            true => Ok(()),
            false => Err(ApiError::key()),
        }
    }

    /// Fails if there are more than `count` texts allowed, or if `texts` together have more
    /// characters than the limits allow.
    pub fn check_texts<'a>(
        &self,
        field: &'static str,
        count: usize,
        texts: impl IntoIterator<Item = &'a str>,
    ) -> Result<(), ApiError> {
        let Limits { texts: most, characters: limit, .. } = self.limits;
        let refuse = |message: String| Err(ApiError::bad(field, message, "send less at a time"));
        if count > most {
            return refuse(format!("{count} {field} are more than the {most} allowed"));
        }
        match texts.into_iter().map(|text| text.chars().count()).sum::<usize>() {
            characters if characters > limit => {
                refuse(format!("{characters} characters are more than the {limit} allowed"))
            }
            _ => Ok(()),
        }
    }

    /// The codes of all languages that can be translated from, or to; sorted.
    pub fn codes(&self, side: fn(&LanguagePair) -> &String) -> Vec<&str> {
        let codes = self.models.pairs().map(|pair| side(pair).as_str());
        codes.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The codes of all languages, sorted.
    pub fn all_codes(&self) -> BTreeSet<&str> {
        self.models.pairs().flat_map(|pair| [pair.source.as_str(), &pair.target]).collect()
    }

    /// The pair that a client names, by the codes of the models.
    ///
    /// # Errors
    /// If no model translates it, and the languages are not the same.
    pub fn pair(&self, source: &str, target: &str) -> Result<LanguagePair, ApiError> {
        let sources = self.codes(|pair| &pair.source);
        let Some(known) = language::resolve(source, &sources) else {
            let remedy = format!("one of {}", sources.join(", "));
            return Err(ApiError::bad("source", format!("{source} is not supported"), remedy));
        };
        let targets = self.models.pairs().filter(|pair| pair.source == known);
        let targets: Vec<&str> = targets.map(|pair| pair.target.as_str()).collect();
        let same = language::resolve(target, &[known]);
        match language::resolve(target, &targets).or(same) {
            Some(target) => Ok(LanguagePair { source: known.into(), target: target.into() }),
            None => {
                let remedy = format!("one of {}, from {known}", targets.join(", "));
                Err(ApiError::bad("target", format!("{target} is not supported"), remedy))
            }
        }
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
}

/// The key of `Authorization: Bearer KEY`.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, key) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
}

/// Reads a format that a client names.
pub(crate) fn format(name: Option<&str>) -> Result<Format, ApiError> {
    let name = name.filter(|name| !name.is_empty()).unwrap_or("text");
    let wrong = || format!("{name} format is not supported");
    name.parse().map_err(|_| ApiError::bad("format", wrong(), "text, html, markdown or srt"))
}

/// The ends of the names of files that are taken.
pub(crate) fn extensions() -> [String; Format::EXTENSIONS.len()] {
    Format::EXTENSIONS.map(|(extension, _)| format!(".{extension}"))
}
