//! The interface of DeepL for its unchanged clients: version 2, and version 3 of glossaries,
//! languages and translation memories.

pub(crate) mod documents;
pub(crate) mod editing;
pub(crate) mod glossaries;
pub(crate) mod languages;
mod markup;
pub(crate) mod memories;

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::Response;
use burnformer_documents::{Format, Splitting};
use burnformer_terminology::Glossary;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use self::markup::{Prepared, unmarked};
use super::body::{LenientFields, MAX_FIELDS, Texts, number};
use super::error::{ApiError, ErrorBody, Errors, Result};
use super::source::TextsWithLanguages;
use super::{AUTO, Client};
use crate::compute::{Price, compute};
use crate::engine::Choice;
use crate::language::LanguagePair;
use crate::text::{Reading, best};

/// Writes errors on DeepL's paths as DeepL does.
pub(crate) async fn errors(request: Request, next: Next) -> Response {
    let is_deepls = ["/v2/", "/v3/"]
        .iter()
        .any(|it| request.uri().path().starts_with(it));
    let mut response = next.run(request).await;
    let body = response
        .extensions_mut()
        .remove::<ErrorBody>()
        .filter(|_| is_deepls);
    let Some(ErrorBody {
        error,
        field,
        remedy,
    }) = body
    else {
        return response;
    };
    let field = field.map(|field| match &*field {
        "source" | "target" => format!("{field}_lang: "),
        _ => format!("{field}: "),
    });
    let message = field.unwrap_or_default() + &error;
    let body = json!({"message": message, "detail": remedy.unwrap_or_default()});
    *response.body_mut() = Body::from(body.to_string());
    response
}

/// A request without fields, except for `type` of `/v2/languages`.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct DeeplRequest {
    /// `source` (the default) or `target`.
    r#type: Option<String>,
}

/// Returns the usage: a count of 0 and no limit.
///
/// Nothing is counted. The limit of 1,000,000,000,000 characters is DeepL's value for no limit.
#[utoipa::path(get, path = "/v2/usage", tag = "DeepL", responses((status = 200, body = Object), Errors))]
pub(crate) async fn deepl_usage(_: LenientFields<DeeplRequest>) -> Json<Value> {
    Json(json!({"character_count": 0, "character_limit": 1_000_000_000_000_u64}))
}

/// Lists the language pairs that glossaries may have.
#[utoipa::path(get, path = "/v2/glossary-language-pairs", tag = "DeepL", responses((status = 200, body = Object), Errors))]
pub(crate) async fn glossary_pairs(
    LenientFields(client, _): LenientFields<DeeplRequest>,
) -> Json<Value> {
    Json(json!({"supported_languages": client.models.pairs().map(languages).collect::<Vec<_>>()}))
}

/// The languages of a glossary.
fn languages(pair: &LanguagePair) -> Value {
    let [source, target] = [&pair.source, &pair.target].map(|code| code.to_lowercase());
    json!({"source_lang": source, "target_lang": target})
}

/// A language code as DeepL writes it: `PT-BR`.
fn capitals(code: &str) -> String {
    code.replace('_', "-").to_ascii_uppercase()
}

/// A request to `/v2/translate`. Other fields of DeepL (`splitting_tags`) are ignored.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct DeeplTextsRequest {
    /// The texts.
    text: Texts,
    /// The code of the language of the texts. Without it, the language of each text is detected.
    source_lang: Option<String>,
    /// The code of the language to translate into.
    target_lang: String,
    /// `xml` or `html`. Without it, texts are plain.
    tag_handling: Option<String>,
    /// Names of XML elements that are not translated, as a list or separated by commas.
    ignore_tags: Option<Texts>,
    /// Where texts are divided: `1` at the ends of sentences and at line breaks, `nonewlines` only
    /// at the ends of sentences, `0` nowhere. The default is `nonewlines` for HTML and `1` for
    /// other texts.
    split_sentences: Option<String>,
    /// If true, the translation of a sentence begins with a capital and ends with a mark if and
    /// only if the sentence does.
    #[serde(default, deserialize_with = "switch")]
    #[schema(value_type = Option<bool>)]
    preserve_formatting: bool,
    /// Text before each of the texts, which is not translated. A model that was trained with context
    /// reads its last sentences; others ignore it.
    context: Option<String>,
    /// `default`, `prefer_less` or `prefer_more`. They change nothing.
    formality: Option<String>,
    /// The name of a model of DeepL. It is only echoed: there is one model for each language pair.
    model_type: Option<String>,
    /// The identifier of a glossary for these languages, or a list of identifiers.
    #[serde(alias = "glossary_ids")]
    glossary_id: Option<Texts>,
    /// The identifier of a translation memory of the server. Its exact matches are reused, with or
    /// without this field.
    translation_memory_id: Option<String>,
    /// The percentage of equal words from which a segment of the memory is used. Only exact matches
    /// are, whatever it is.
    #[serde(default, deserialize_with = "number")]
    #[schema(value_type = Option<usize>)]
    translation_memory_threshold: Option<usize>,
    /// Refused, like `custom_instructions`.
    #[serde(default, deserialize_with = "refused")]
    #[serde(alias = "custom_instructions")]
    #[schema(value_type = Option<String>)]
    #[allow(dead_code)]
    style_id: (),
}

/// One translation of an answer.
#[derive(Serialize)]
struct DeeplTranslation {
    detected_source_language: String,
    text: String,
    billed_characters: usize,
    model_type_used: Option<String>,
}

/// Translates texts.
#[utoipa::path(post, path = "/v2/translate", tag = "DeepL",
    request_body(content(
        (DeeplTextsRequest = "application/json"), (DeeplTextsRequest = "application/x-www-form-urlencoded"))),
    responses((status = 200, body = Object), Errors))]
pub(crate) async fn deepl_translate(
    LenientFields(client, request): LenientFields<DeeplTextsRequest>,
) -> Result<Json<Value>> {
    one_of("formality", request.formality.as_deref(), &FORMALITIES)?;
    let markup = one_of(
        "tag_handling",
        request.tag_handling.as_deref(),
        &["xml", "html"],
    )?;
    let splitting = splitting(request.split_sentences.as_deref(), markup == "html")?;
    let texts = request.text.into_list();
    let tags = items(request.ignore_tags);
    if texts.is_empty() {
        return Err(ApiError::missing("text"));
    }
    client.check_texts("text", texts.len(), texts.iter().map(String::as_str))?;
    let context = request.context.unwrap_or_default();
    client.check_texts("context", 1, [&*context])?;
    if tags.len() > MAX_FIELDS {
        let error = format!("more than {MAX_FIELDS} ignore_tags");
        return Err(ApiError::bad("ignore_tags", error, "name fewer"));
    }
    let format = if markup.is_empty() {
        Format::Text
    } else {
        Format::Html
    };
    let price = Price::of_bytes(texts.iter().map(String::len).sum()) * (tags.len() + 1);
    let is_markup_xml = markup == "xml";
    let Prepared {
        texts,
        counts,
        is_xml,
        tags,
    } = compute(&client.sender, price, move |cancel| {
        Prepared::new(texts, tags, is_markup_xml, cancel)
    })
    .await?;
    let source = request
        .source_lang
        .filter(|it| !it.is_empty())
        .unwrap_or(AUTO.into());
    let held = texts.iter().chain([&context]).map(String::as_str);
    let permit = client.permit(held, 1).await?;
    let reading = Reading {
        format,
        splitting: Some(splitting),
    };
    let TextsWithLanguages {
        mut read, pairs, ..
    } = client
        .sourced(&source, &request.target_lang, texts, reading, permit)
        .await?;
    read.keeps_formatting = request.preserve_formatting;
    read.before = context;
    let glossaries = chosen_glossaries(&client, request.glossary_id, &source, &pairs[0])?;
    let memory = request.translation_memory_id.as_deref();
    let threshold = request.translation_memory_threshold;
    memories::check(&client, memory, threshold, &pairs)?;
    let choice = Choice::default();
    let all = best(client.translate(read, &pairs, choice, glossaries).await?);
    let model = request.model_type.map(|model| model.replace("prefer_", ""));
    let answer = compute(&client.sender, price, move |cancel| {
        let mut translations = Vec::with_capacity(pairs.len());
        for ((pair, text), count) in pairs.iter().zip(all).zip(counts) {
            cancel.unwind_if_cancelled();
            translations.push(DeeplTranslation {
                detected_source_language: capitals(&pair.source),
                text: if is_xml { unmarked(&text, &tags) } else { text },
                billed_characters: count,
                model_type_used: model.clone(),
            });
        }
        json!({"translations": translations})
    });
    Ok(Json(answer.await?))
}

/// The values of `formality` that demand nothing: models do not support it.
const FORMALITIES: [&str; 3] = ["default", "prefer_less", "prefer_more"];

/// Where texts are divided, by the value of `split_sentences`.
///
/// # Errors
/// Returns an error if the value is unknown.
fn splitting(value: Option<&str>, is_html: bool) -> Result<Splitting> {
    let values = ["0", "1", "nonewlines"];
    Ok(match &*one_of("split_sentences", value, &values)? {
        "0" => Splitting::Nothing,
        "1" => Splitting::Lines,
        "" if !is_html => Splitting::Lines,
        _ => Splitting::Sentences,
    })
}

/// Deserializes a switch. Forms send it as `0` or `1`.
fn switch<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    match Value::deserialize(from)? {
        Value::Null => Ok(false),
        Value::Bool(value) => Ok(value),
        value => match &*value.to_string().replace('"', "").to_lowercase() {
            "" | "0" | "false" => Ok(false),
            "1" | "true" => Ok(true),
            _ => Err(D::Error::custom("expected 0 or 1, or true or false")),
        },
    }
}

/// Deserializes an option that no model here supports and that would change the translation. Only
/// null is accepted.
fn refused<'de, D: Deserializer<'de>>(from: D) -> Result<(), D::Error> {
    match Option::<Value>::deserialize(from)? {
        None => Ok(()),
        Some(_) => Err(D::Error::custom(
            "no model of this server can follow it; leave it out",
        )),
    }
}

/// The `value` of the option `field`, trimmed and in lower case; empty if there is no value.
///
/// # Errors
/// Returns an error if the value is not among `values`.
fn one_of(field: &str, value: Option<&str>, values: &[&str]) -> Result<String> {
    let value = value.unwrap_or_default().trim().to_lowercase();
    if value.is_empty() || values.contains(&&*value) {
        return Ok(value);
    }
    let error = format!("{value} is not supported");
    Err(ApiError::bad(
        field,
        error,
        format!("one of {}", values.join(", ")),
    ))
}

/// The error for a glossary that does not exist.
fn no_glossary() -> ApiError {
    let error = "there is no such glossary; make it again, since glossaries are forgotten when the server ends";
    ApiError::new(StatusCode::NOT_FOUND, error)
}

/// The error for a glossary without a dictionary for `pair`.
fn no_dictionary(pair: &LanguagePair) -> ApiError {
    let LanguagePair { source, target } = pair;
    let error = format!(
        "the glossary has no terms from {source} into {target}; leave it out, or make one for these languages"
    );
    ApiError::new(StatusCode::NOT_FOUND, error)
}

/// The terms for `pair` in the glossaries with these identifiers, for texts in the language
/// `source`.
///
/// # Errors
/// Returns an error if there is no such glossary, or if it has no terms for the pair.
fn chosen_glossaries(
    client: &Client,
    ids: Option<Texts>,
    source: &str,
    pair: &LanguagePair,
) -> Result<Vec<Arc<Glossary>>> {
    let ids = items(ids);
    // DeepL allows five glossaries.
    if source == AUTO && !ids.is_empty() || ids.len() > 5 {
        let error = format!(
            "{} glossaries for texts in the language {source:?}",
            ids.len()
        );
        return Err(ApiError::bad(
            "glossary_id",
            error,
            "send source_lang, and 5 at most",
        ));
    }
    let mut glossaries = Vec::new();
    for id in &ids {
        let stored = client.glossaries.get_for(&client.sender, id);
        let stored = stored.ok_or_else(no_glossary)?;
        let mut all = stored.terms.iter();
        let (_, terms) = all
            .find(|(other, _)| other == pair)
            .ok_or_else(|| no_dictionary(pair))?;
        glossaries.push(terms.clone());
    }
    Ok(glossaries)
}

/// The items of a list. An item may itself be a list separated by commas.
fn items(texts: Option<Texts>) -> Vec<String> {
    let texts = texts.map(Texts::into_list).unwrap_or_default();
    let items = texts.iter().flat_map(|text| text.split(','));
    items
        .map(|item| item.trim().to_owned())
        .filter(|item| !item.is_empty())
        .collect()
}
