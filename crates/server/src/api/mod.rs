//! The HTTP interfaces.

mod attention;
pub(crate) mod body;
pub(crate) mod deepl;
mod divide;
pub(crate) mod error;
pub(crate) mod files;
mod form;
mod libretranslate;
pub(crate) mod limits;
mod page;
mod paper;
pub(crate) mod routes;
mod source;
mod status;
mod stream;
mod v1;

use std::collections::BTreeSet;
use std::fmt::Display;
use std::ops::{Deref, RangeInclusive};
use std::sync::Arc;
use std::time::Instant;

use burnformer_documents::{Format, WholeFile};
use ipnet::IpNet;

use self::error::{ApiError, Result};
use crate::cache::Cache;
use crate::language::{self, LanguagePair};
use crate::metrics::Metrics;
use crate::models::Models;
use crate::pages::Pages;
use crate::sender::{Budget, Keys, Permit, Sender};
use crate::settings::Limits;
use crate::store::{Store, StoredFile, StoredGlossary};

/// The language code that asks for detection.
pub(crate) const AUTO: &str = "auto";

/// The state shared by all requests.
pub(crate) struct Service {
    pub models: Arc<Models>,
    pub cache: Cache,
    pub metrics: Arc<Metrics>,
    pub keys: Keys,
    pub limits: Limits,
    pub files: Store<StoredFile>,
    pub glossaries: Store<Arc<StoredGlossary>>,
    /// The budget for the bytes of request bodies and large answers.
    pub bodies: Arc<Budget>,
    /// The budget for the memory of work on texts.
    pub work: Arc<Budget>,
    /// The budget for requests that are received completely and not answered yet.
    pub requests: Arc<Budget>,
    /// The prefix of every path as seen by clients, unless a proxy sends another.
    pub prefix: String,
    /// The trusted proxies.
    pub proxies: Vec<IpNet>,
    /// The text about the models for the web page.
    pub about: String,
    /// The pages under `/paper`; empty if there are none.
    pub pages: Pages,
}

pub(crate) type Shared = Arc<Service>;

/// The sender of a request, after its key was checked, and the service.
pub(crate) struct Client {
    pub service: Shared,
    pub sender: Sender,
}

impl Deref for Client {
    type Target = Service;

    fn deref(&self) -> &Service {
        &self.service
    }
}

/// The maximum memory in bytes for the work on all requests, as estimated by [`Client::permit`].
pub(crate) const ALL_WORK: usize = 384 << 20;

/// The maximum memory in bytes for the work on one request. A file that needs more is refused.
/// Texts have limits of their own; their estimate is capped at this, since they take less.
pub(crate) const MAX_WORK: usize = 288 << 20;

/// Work below this memory in bytes needs no permit.
const SMALL_WORK: usize = 192 << 10;

/// The estimated memory of a document and of the candidates of its sentences, per translation, in
/// bytes for each byte of text.
const BYTES_PER_BYTE: usize = 16;
/// The same for each byte that may end a sentence or begin a tag.
const BYTES_PER_END: usize = 1024;

impl Client {
    /// Waits for room for work on `texts` with `ranks` translations each. Small work needs no room,
    /// so it never waits for large work.
    ///
    /// # Errors
    /// Returns an error if there is no room within the time limit.
    pub async fn permit<'a>(
        &self,
        texts: impl IntoIterator<Item = &'a str>,
        ranks: usize,
    ) -> Result<Permit> {
        let bytes = texts
            .into_iter()
            .map(|text| memory_of(text.as_bytes()))
            .sum::<usize>()
            .saturating_mul(ranks + 1);
        self.permit_of(bytes.min(MAX_WORK)).await
    }

    /// Waits for room for this many bytes of work, unless it is small.
    ///
    /// # Errors
    /// Returns an error if there is no room within the time limit.
    pub async fn permit_of(&self, bytes: usize) -> Result<Permit> {
        let mut permit = self.work.permit(&self.sender);
        if bytes <= SMALL_WORK {
            return Ok(permit);
        }
        let waited = tokio::time::timeout(self.limits.time, permit.wait(bytes)).await;
        waited.map_err(|_| ApiError::too_slow(self.limits.time))?;
        Ok(permit)
    }
}

/// The estimated memory of the work on `text`, per translation, in bytes.
pub(crate) fn memory_of(text: &[u8]) -> usize {
    let ends = text.iter().filter(|byte| b"\n.!?<".contains(byte)).count();
    BYTES_PER_BYTE * text.len() + BYTES_PER_END * (ends + 1)
}

impl Service {
    /// Returns an error if `count` texts are too many, or if `texts` together have more characters
    /// than the limits allow.
    pub fn check_texts<'a>(
        &self,
        field: &'static str,
        count: usize,
        texts: impl IntoIterator<Item = &'a str>,
    ) -> Result<()> {
        let Limits {
            texts: most,
            characters: limit,
            ..
        } = self.limits;
        let remedy = "send less at a time";
        if count > most {
            let message = format!("{count} {field} are more than the {most} allowed");
            return Err(ApiError::bad(field, message, remedy));
        }
        let characters: usize = texts.into_iter().map(|text| text.chars().count()).sum();
        if characters > limit {
            let message =
                format!("{field} has {characters} characters, more than the {limit} allowed");
            return Err(ApiError::bad(field, message, remedy));
        }
        Ok(())
    }

    /// Returns the sorted codes of all languages on this side of the language pairs.
    pub fn codes(&self, side: fn(&LanguagePair) -> &String) -> Vec<&str> {
        let codes = self.models.pairs().map(|pair| side(pair).as_str());
        codes.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The codes of all languages, sorted.
    pub fn all_codes(&self) -> BTreeSet<&str> {
        self.models
            .pairs()
            .flat_map(|pair| [pair.source.as_str(), &pair.target])
            .collect()
    }

    /// Resolves the language pair that a client names to the codes that the models use.
    ///
    /// # Errors
    /// Returns an error if no model translates the pair, unless both languages are the same.
    pub fn pair(&self, source: &str, target: &str) -> Result<LanguagePair> {
        let known = known_code("source", source, &self.codes(|pair| &pair.source), "")?;
        let targets = self.models.pairs().filter(|pair| pair.source == known);
        let targets: Vec<&str> = targets.map(|pair| pair.target.as_str()).collect();
        let same = language::resolve(target, &[known]);
        let found = known_code("target", target, &targets, &format!(", from {known}"));
        let target = found.or_else(|error| same.ok_or(error))?;
        Ok(LanguagePair {
            source: known.into(),
            target: target.into(),
        })
    }

    /// Returns the result of `work`, which is cancelled if it takes longer than the limits allow.
    pub async fn in_time<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let begun = Instant::now();
        let result = tokio::time::timeout(self.limits.time, work).await;
        self.metrics.seconds.observe(begun.elapsed().as_secs_f64());
        result.unwrap_or_else(|_| Err(ApiError::too_slow(self.limits.time)))
    }
}

/// Returns the `known` code that matches `code`, the value of `field` in the request.
///
/// # Errors
/// Returns an error if no known code matches, with a list of the known codes, followed by `why`
/// there are no others.
pub(crate) fn known_code<'a>(
    field: &str,
    code: &str,
    known: &[&'a str],
    why: &str,
) -> Result<&'a str> {
    language::resolve(code, known).ok_or_else(|| {
        let remedy = format!("one of {}{why}", known.join(", "));
        ApiError::bad(field, format!("{code} is not supported"), remedy)
    })
}

/// Checks that the value of `field`, if there is one, is in `range`.
pub(crate) fn within<T: PartialOrd + Display>(
    field: &str,
    value: Option<T>,
    range: RangeInclusive<T>,
) -> Result<Option<T>> {
    match value {
        Some(value) if !range.contains(&value) => {
            let remedy = format!("a number from {} to {}", range.start(), range.end());
            Err(ApiError::bad(
                field,
                format!("{value} is not allowed as {field}"),
                remedy,
            ))
        }
        value => Ok(value),
    }
}

/// Parses the name of a format.
pub(crate) fn format(name: Option<&str>) -> Result<Format> {
    let name = name.filter(|name| !name.is_empty()).unwrap_or("text");
    name.parse().map_err(|_| {
        let message = format!("{name} format is not supported");
        ApiError::bad("format", message, Format::names())
    })
}

/// The accepted file extensions.
pub(crate) fn extensions() -> Vec<String> {
    WholeFile::extensions()
        .map(|extension| format!(".{extension}"))
        .collect()
}
