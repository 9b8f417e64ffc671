//! The server's own interface: scores, alternatives, links, forced prefixes and search options.

use std::ops::Range;
use std::sync::Arc;

use axum::Json;
use burnformer_documents::Detection;
use burnformer_infer::{SearchSettings, SettingsError};
use burnformer_terminology::Glossary;
use burnformer_text::character_offsets;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::body::{Fields, Texts, number};
use super::error::{ApiError, Errors, Result};
use super::libretranslate::OneOrMany;
use super::source::TextsWithLanguages;
use super::{AUTO, Client, format, within};
use crate::compute::{Price, compute};
use crate::engine::{Candidate, Choice, Sentence};
use crate::pipeline::with_terms;
use crate::queue::Watcher;
use crate::text::best;

/// A request to `/v1/translate`.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct DocumentsRequest {
    /// The text, or a list of texts, each of any length, in `format`.
    pub texts: Texts,
    /// The code of the language of the texts. Without it, the language of each text is detected.
    pub source: Option<String>,
    /// The code of the language to translate into.
    #[schema(example = "en")]
    pub target: String,
    /// The name of a format, such as `html` or `po`. The default is `text`.
    pub format: Option<String>,
    /// Text before each of the texts, which is not translated. A model that was trained with context
    /// reads its last sentences; others ignore it.
    pub context: Option<String>,
    /// The beam size, from 1 to the server's largest number of alternatives + 1. The default is the
    /// model's.
    #[serde(default, deserialize_with = "number")]
    pub beam: Option<usize>,
    /// The exponent α of the length penalty, from 0 to 10. The default is the model's.
    pub length_penalty: Option<f64>,
    /// Prescribed translations: pairs of a source term and its translation. Several translations
    /// are separated by `|`.
    #[schema(example = json!([["Haus", "house|houses"]]))]
    pub glossary: Option<Vec<[String; 2]>>,
    /// The API key, if the server requires one.
    #[allow(dead_code)]
    pub api_key: Option<String>,
}

/// The answer to `/v1/translate`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DocumentsResponse {
    /// The translations, in the order of the texts.
    pub translations: Vec<String>,
    /// The code of the source language of the first text.
    pub source: String,
    /// The code of the language between, if two models translate the first text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub through: Option<String>,
    /// The detected language, or a list with one for each text. Missing if `source` was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detected: Option<OneOrMany<Detection>>,
}

/// Translates texts of any length and keeps their markup.
#[utoipa::path(post, path = "/v1/translate", operation_id = "translate_texts", tag = "v1", request_body = DocumentsRequest,
    responses((status = 200, body = DocumentsResponse), Errors))]
pub(crate) async fn translate(
    Fields(client, request): Fields<DocumentsRequest>,
) -> Result<Json<DocumentsResponse>> {
    let format = format(request.format.as_deref())?;
    let shape = request.texts.shape();
    let texts = request.texts.into_list();
    client.check_texts("texts", texts.len(), texts.iter().map(String::as_str))?;
    let context = request.context.unwrap_or_default();
    client.check_texts("context", 1, [&*context])?;
    let choice = choice(&client, request.beam, request.length_penalty, 1)?;
    let asked = request.source.as_deref().unwrap_or(AUTO);
    let held = texts.iter().chain([&context]).map(String::as_str);
    let permit = client.permit(held, 1).await?;
    let TextsWithLanguages {
        mut read,
        pairs,
        detected,
    } = client
        .sourced(asked, &request.target, texts, format, permit)
        .await?;
    read.before = context;
    let glossary = vec![glossary_of(&client, request.glossary).await?];
    let all = client.translate(read, &pairs, choice, glossary).await?;
    let pair = pairs.into_iter().next();
    let through = pair.as_ref().and_then(|pair| client.models.through(pair));
    let through = through.map(String::from);
    let source = pair.map(|pair| pair.source).unwrap_or_default();
    let detected = detected.map(|found| OneOrMany::like(shape, found));
    Ok(Json(DocumentsResponse {
        translations: best(all),
        source,
        through,
        detected,
    }))
}

/// A request to `/v1/sentences`.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct SentencesRequest {
    /// Single sentences. They are not split.
    pub sentences: Vec<SentenceRequest>,
    /// The code of the language of the sentences.
    #[schema(example = "de")]
    pub source: String,
    /// The code of the language to translate into.
    #[schema(example = "en")]
    pub target: String,
    /// The number of translations of each sentence besides the best one.
    #[serde(default, deserialize_with = "number")]
    pub alternatives: Option<usize>,
    /// If true, the answer links each part of a translation to the part of the sentence that it
    /// translates.
    #[serde(default)]
    pub links: bool,
    /// The beam size, from `alternatives` + 1 to the server's largest number of alternatives + 1. The
    /// default is the model's, or `alternatives` + 1 if that is more.
    #[serde(default, deserialize_with = "number")]
    pub beam: Option<usize>,
    /// The exponent α of the length penalty, from 0 to 10. The default is the model's.
    pub length_penalty: Option<f64>,
    /// Prescribed translations: pairs of a source term and its translation. Several translations
    /// are separated by `|`.
    #[schema(example = json!([["Haus", "house|houses"]]))]
    pub glossary: Option<Vec<[String; 2]>>,
    /// The API key, if the server requires one.
    #[allow(dead_code)]
    pub api_key: Option<String>,
}

/// A sentence, or a sentence with a forced prefix for its translation.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "a sentence, or an object with `text` and `prefix`, is expected"
)]
pub(crate) enum SentenceRequest {
    /// A sentence.
    Plain(String),
    /// A sentence with a forced prefix for its translation.
    WithPrefix {
        /// The sentence.
        text: String,
        /// The beginning of its translation, in whole words.
        #[serde(default)]
        prefix: String,
    },
}

impl SentenceRequest {
    /// The sentence and the prefix of its translation.
    fn parts(&self) -> [&str; 2] {
        match self {
            Self::Plain(text) => [text, ""],
            Self::WithPrefix { text, prefix } => [text, prefix],
        }
    }
}

/// The answer to `/v1/sentences`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SentencesResponse {
    /// The translations of each sentence, best first.
    pub sentences: Vec<Vec<ScoredTranslation>>,
    /// The code of the language between, if two models translate the sentences.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub through: Option<String>,
}

/// A translation of a sentence.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(crate) struct ScoredTranslation {
    /// The translation.
    pub text: String,
    /// The log-probability divided by the length penalty.
    pub score: f64,
    /// The range of each token in the sentence and in the translation, if links were requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkedPlaces>,
    /// Quality warnings: `loop`, `copy`, `length`, `parts`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
    /// The confidence, from 0 to 1: the mean chrF/100 of translations of this probability on
    /// held-out text; 0 if there is a warning in `doubts`. Missing for models without calibration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// If true, a second search found the translation: the first had a loop, or lost a number, a
    /// placeholder, a bracket or a joining sign.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub second_search: bool,
    /// If true, the translation comes from a translation memory of the server.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub memory: bool,
}

/// A token of a translation and the part of the sentence that it comes from. Positions count
/// characters.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LinkedPlaces {
    /// Start and end in the sentence.
    pub source: [usize; 2],
    /// Start and end in the translation.
    pub target: [usize; 2],
}

/// Translates single sentences, with scores, alternatives, links and forced prefixes.
#[utoipa::path(post, path = "/v1/sentences", tag = "v1", request_body = SentencesRequest,
    responses((status = 200, body = SentencesResponse), Errors))]
pub(crate) async fn sentences(
    Fields(client, request): Fields<SentencesRequest>,
) -> Result<Json<SentencesResponse>> {
    Ok(Json(translated(&client, request, None).await?))
}

/// Translates single sentences. `watcher` follows their best translations.
pub(super) async fn translated(
    client: &Client,
    request: SentencesRequest,
    watcher: Option<Watcher>,
) -> Result<SentencesResponse> {
    let most = client.limits.alternatives;
    let alternatives = within("alternatives", request.alternatives, 0..=most)?.unwrap_or(0);
    let choice = choice(
        client,
        request.beam,
        request.length_penalty,
        alternatives + 1,
    )?;
    let SentencesRequest {
        sentences,
        links,
        source,
        target,
        glossary,
        ..
    } = request;
    let texts = sentences.iter().flat_map(SentenceRequest::parts);
    client.check_texts("sentences", sentences.len(), texts)?;
    let pair = client.pair(&source, &target)?;
    let glossary = glossary_of(client, glossary).await?;
    if pair.source == pair.target {
        return Ok(unchanged(&sentences));
    }
    let size = sentences
        .iter()
        .flat_map(SentenceRequest::parts)
        .map(str::len)
        .sum();
    let price = Price::of_text(size);
    let scored = async {
        let texts = sentences.iter().flat_map(SentenceRequest::parts);
        let _permit = client.permit(texts, choice.n_best).await?;
        let pipeline = client.pipeline(&pair, choice, vec![glossary]).await?;
        let glossaries = pipeline.glossaries.clone();
        let mut left = client.limits.characters;
        let sentences = compute(&client.sender, price, move |cancel| {
            let mut with_their_terms = Vec::with_capacity(sentences.len());
            for request in &sentences {
                cancel.unwind_if_cancelled();
                let [text, prefix] = request.parts().map(String::from);
                let sentence = Sentence {
                    text,
                    prefix,
                    links,
                    ..Sentence::default()
                };
                with_their_terms.push(with_terms(sentence, &glossaries, &mut left)?);
            }
            Ok::<_, ApiError>(with_their_terms)
        })
        .await??;
        let candidates = pipeline.watched_sentences(sentences.clone(), watcher);
        let candidates = candidates.await?;
        Ok(compute(&client.sender, price * choice.n_best, move |_| {
            sentences.iter().zip(candidates).map(scored).collect()
        })
        .await?)
    };
    let sentences = client.in_time(scored).await?;
    let through = client.models.through(&pair).map(String::from);
    Ok(SentencesResponse { sentences, through })
}

/// The answer for sentences that are in the target language already.
fn unchanged(sentences: &[SentenceRequest]) -> SentencesResponse {
    let unchanged = |sentence: &SentenceRequest| {
        let [text, _] = sentence.parts().map(String::from);
        vec![ScoredTranslation {
            text,
            ..ScoredTranslation::default()
        }]
    };
    SentencesResponse {
        sentences: sentences.iter().map(unchanged).collect(),
        through: None,
    }
}

/// The translations of a sentence, with positions in characters.
fn scored((sentence, candidates): (&Sentence, Vec<Candidate>)) -> Vec<ScoredTranslation> {
    let sources = character_offsets(&sentence.text);
    candidates
        .into_iter()
        .map(|candidate| scored_translation(candidate, &sources))
        .collect()
}

/// A translation of a sentence with the character offsets `sources`.
fn scored_translation(candidate: Candidate, sources: &[usize]) -> ScoredTranslation {
    let targets = character_offsets(&candidate.text);
    let links = candidate.links.into_iter().map(|link| LinkedPlaces {
        source: in_characters(link.source, sources),
        target: in_characters(link.target, &targets),
    });
    ScoredTranslation {
        links: links.collect(),
        score: candidate.score,
        text: candidate.text,
        doubts: candidate.doubts.iter().map(ToString::to_string).collect(),
        confidence: candidate.confidence,
        second_search: candidate.is_second,
        memory: candidate.is_known,
    }
}

/// The start and end of a range of bytes, in characters.
pub(super) fn in_characters(range: Range<usize>, offsets: &[usize]) -> [usize; 2] {
    [offsets[range.start], offsets[range.end]]
}

/// Validates the search options. A server limits them more than a program: a client's beam takes the
/// time of others.
fn choice(
    client: &Client,
    beam: Option<usize>,
    length_penalty: Option<f64>,
    n_best: usize,
) -> Result<Choice> {
    let beam = within("beam", beam, 1..=client.limits.alternatives + 1)?;
    let alpha = within("length_penalty", length_penalty, 0.0..=10.0)?;
    let set = SearchSettings::default().set_n_best(n_best, beam);
    set.map_err(narrow_beam)?;
    Ok(Choice {
        beam,
        alpha: alpha.map(|alpha| (alpha * 1000.0).round() as u32),
        n_best,
    })
}

/// The error of a beam that is narrower than the number of translations, with the names of fields in
/// place of settings.
fn narrow_beam(mut error: SettingsError) -> ApiError {
    if let SettingsError::Above { name, most, .. } = &mut error {
        *name = "alternatives + 1";
        *most = "beam";
    }
    let message = error.to_string();
    let remedy = "raise `beam`, lower `alternatives`, or leave `beam` out";
    ApiError::bad("beam", message, remedy)
}

/// Creates the glossary of a request.
async fn glossary_of(client: &Client, pairs: Option<Vec<[String; 2]>>) -> Result<Arc<Glossary>> {
    let pairs = pairs.unwrap_or_default();
    let most = client.limits.terms;
    let price = Price::of_terms(pairs.iter().flatten().map(String::len).sum());
    Ok(compute(&client.sender, price, move |_| terms(pairs, most))
        .await??
        .into())
}

/// Creates a glossary from at most `most` pairs of a source term and its translation. Several
/// translations are separated by `|`.
pub(super) fn terms(pairs: Vec<[String; 2]>, most: usize) -> Result<Glossary> {
    if pairs.len() > most {
        let message = format!("{} terms are more than the {most} allowed", pairs.len());
        return Err(ApiError::bad("glossary", message, "leave out terms"));
    }
    let pairs = pairs.into_iter().map(|[source, target]| (source, target));
    Glossary::from_pairs(pairs).map_err(|error| {
        let remedy = "pairs of a source term and its translation, each term once";
        ApiError::bad("glossary", error.to_string(), remedy)
    })
}
