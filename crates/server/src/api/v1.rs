//! The interface of this server: scores, alternatives, links, forced prefixes, the search's options.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use burnformer_glossary::wanted;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::body::{Fields, Texts, number};
use super::error::{ApiError, ErrorBody};
use super::libretranslate::{Detected, alternatives, source};
use super::{AUTO, Shared, format, glossary};
use crate::engine::{Candidate, Choice, Work};
use crate::models::LanguagePair;

/// A request to `/v1/translate`.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct DocumentsRequest {
    /// The text, or several; each of any length, in `format`.
    pub texts: Texts,
    /// The code of their language; without it, it is found out.
    pub source: Option<String>,
    /// The code of the language to translate into.
    #[schema(example = "en")]
    pub target: String,
    /// `text` (the default), `html`, `markdown` or `srt`.
    pub format: Option<String>,
    /// The number of hypotheses of the beam search, from 1; the model's own unless it is given.
    #[serde(default, deserialize_with = "number")]
    pub beam: Option<usize>,
    /// The exponent α of the length penalty, from 0 to 10; the model's own unless it is given.
    pub length_penalty: Option<f64>,
    /// Prescribed translations: pairs of a source term and its translation, or several separated by `|`.
    #[schema(example = json!([["Haus", "house|houses"]]))]
    pub glossary: Option<Vec<[String; 2]>>,
}

/// The answer to `/v1/translate`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DocumentsResponse {
    /// The translations, in the order of the texts.
    pub translations: Vec<String>,
    /// The code of the language that they were translated from.
    pub source: String,
    /// How that was found out, where no `source` was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detected: Option<Detected>,
}

/// Translates texts of any length, with their markup.
#[utoipa::path(post, path = "/v1/translate", operation_id = "translate_texts", tag = "v1", request_body = DocumentsRequest,
    responses((status = 200, body = DocumentsResponse), (status = 400, body = ErrorBody), (status = 403, body = ErrorBody),
        (status = 413, body = ErrorBody), (status = 415, body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(crate) async fn translate(
    State(service): State<Shared>,
    headers: HeaderMap,
    Fields(request): Fields<DocumentsRequest>,
) -> Result<Json<DocumentsResponse>, ApiError> {
    service.check_key(bearer(&headers))?;
    let format = format(request.format.as_deref())?;
    let (texts, _) = request.texts.into_list();
    service.check_texts("texts", &texts)?;
    let choice = choice(&service, request.beam, request.length_penalty, 1)?;
    let asked = request.source.as_deref().unwrap_or(AUTO);
    let (source, detected) = source(&service, asked, &texts)?;
    let pair = LanguagePair { source, target: request.target };
    let glossary = glossary::read(request.glossary, &service.limits)?;
    let translations = service.translate(&texts, &pair, format, choice, &glossary).await?;
    let first = |mut all: Vec<String>| all.swap_remove(0);
    let translations = translations.into_iter().map(first).collect();
    Ok(Json(DocumentsResponse {
        translations,
        source: pair.source,
        detected: detected.map(Into::into),
    }))
}

/// A request to `/v1/sentences`.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct SentencesRequest {
    /// Single sentences, which are not cut.
    pub sentences: Vec<SentenceRequest>,
    /// The code of their language.
    #[schema(example = "de")]
    pub source: String,
    /// The code of the language to translate into.
    #[schema(example = "en")]
    pub target: String,
    /// The number of translations of each sentence beside the best one.
    #[serde(default, deserialize_with = "number")]
    pub alternatives: Option<usize>,
    /// Whether to tell which part of a translation comes from which part of its sentence.
    #[serde(default)]
    pub links: bool,
    /// The number of hypotheses of the beam search, from 1; the model's own unless it is given.
    #[serde(default, deserialize_with = "number")]
    pub beam: Option<usize>,
    /// The exponent α of the length penalty, from 0 to 10; the model's own unless it is given.
    pub length_penalty: Option<f64>,
    /// Prescribed translations: pairs of a source term and its translation, or several separated by `|`.
    #[schema(example = json!([["Haus", "house|houses"]]))]
    pub glossary: Option<Vec<[String; 2]>>,
}

/// A sentence, or a sentence and what its translation has to begin with.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum SentenceRequest {
    /// A sentence.
    Plain(String),
    /// A sentence whose translation has a given beginning.
    WithPrefix {
        /// The sentence.
        text: String,
        /// The beginning of its translation, whole words.
        #[serde(default)]
        prefix: String,
    },
}

impl SentenceRequest {
    /// The sentence and the prefix of its translation.
    fn into_parts(self) -> (String, String) {
        match self {
            Self::Plain(text) => (text, String::new()),
            Self::WithPrefix { text, prefix } => (text, prefix),
        }
    }
}

/// The answer to `/v1/sentences`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SentencesResponse {
    /// The translations of each sentence, best first.
    pub sentences: Vec<Vec<ScoredTranslation>>,
}

/// A translation of a sentence.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ScoredTranslation {
    /// The translation.
    pub text: String,
    /// Its log-probability over the length penalty.
    pub score: f64,
    /// For each token its place in the sentence and in the translation, where that was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkedPlaces>,
}

/// A token of a translation and the part of the sentence that it comes from; places are counted in characters.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LinkedPlaces {
    /// Beginning and end in the sentence.
    pub source: [usize; 2],
    /// Beginning and end in the translation.
    pub target: [usize; 2],
}

/// Translates single sentences, with scores, alternatives, links and forced prefixes.
#[utoipa::path(post, path = "/v1/sentences", tag = "v1", request_body = SentencesRequest,
    responses((status = 200, body = SentencesResponse), (status = 400, body = ErrorBody), (status = 403, body = ErrorBody),
        (status = 413, body = ErrorBody), (status = 415, body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(crate) async fn sentences(
    State(service): State<Shared>,
    headers: HeaderMap,
    Fields(request): Fields<SentencesRequest>,
) -> Result<Json<SentencesResponse>, ApiError> {
    service.check_key(bearer(&headers))?;
    let alternatives = alternatives(&service, request.alternatives)?;
    let choice = choice(&service, request.beam, request.length_penalty, alternatives + 1)?;
    let SentencesRequest { sentences, links, source, target, glossary, .. } = request;
    let glossary = glossary::read(glossary, &service.limits)?;
    let pair = LanguagePair { source, target };
    let glossaries = service.glossaries(&glossary, &pair);
    let work: Vec<Work> = sentences
        .into_iter()
        .map(SentenceRequest::into_parts)
        .map(|(text, prefix)| Work { terms: wanted(&glossaries, &text), text, prefix, links })
        .collect();
    let texts: Vec<&str> = work.iter().flat_map(|work| [&*work.text, &*work.prefix]).collect();
    service.check_texts("sentences", &texts)?;
    if pair.source == pair.target {
        let same =
            |work: Work| ScoredTranslation { text: work.text, score: 0.0, links: Vec::new() };
        return Ok(Json(SentencesResponse {
            sentences: work.into_iter().map(|work| vec![same(work)]).collect(),
        }));
    }
    let queue = service.queue(&pair).await?;
    let name = pair.to_string();
    let path = service.path(&queue, choice, &name, &glossaries);
    let all = service.in_time(async { Ok(path.sentences(work.clone()).await?) }).await?;
    let scored = work.iter().zip(all);
    let scored = scored
        .map(|(work, all)| all.into_iter().map(|one| scored_one(&work.text, one)).collect())
        .collect();
    Ok(Json(SentencesResponse { sentences: scored }))
}

fn scored_one(sentence: &str, candidate: Candidate) -> ScoredTranslation {
    let place = |text: &str, range: std::ops::Range<usize>| {
        let characters = |end: usize| text[..end].chars().count();
        [characters(range.start), characters(range.end)]
    };
    let links = candidate.links.into_iter().map(|link| LinkedPlaces {
        source: place(sentence, link.source),
        target: place(&candidate.text, link.target),
    });
    ScoredTranslation {
        links: links.collect(),
        score: candidate.score,
        text: candidate.text.clone(),
    }
}

/// The key of `Authorization: Bearer KEY`.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, key) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
}

/// The search's options, checked.
fn choice(
    service: &super::Service,
    beam: Option<usize>,
    length_penalty: Option<f64>,
    n_best: usize,
) -> Result<Choice, ApiError> {
    let widest = service.limits.alternatives;
    if let Some(beam) = beam.filter(|beam| !(1..=widest).contains(beam)) {
        let message = format!("a beam of {beam} is not allowed");
        return Err(ApiError::bad("beam", message, format!("a number from 1 to {widest}")));
    }
    let alpha = match length_penalty {
        None => None,
        Some(alpha) if (0.0..=10.0).contains(&alpha) => Some((alpha * 1000.0).round() as u32),
        Some(alpha) => {
            let message = format!("a length penalty of {alpha} is not allowed");
            return Err(ApiError::bad("length_penalty", message, "a number from 0 to 10".into()));
        }
    };
    Ok(Choice { beam, alpha, n_best })
}
