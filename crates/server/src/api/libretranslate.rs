//! The interface of LibreTranslate.

use axum::Json;
use axum::extract::State;
use burnformer_documents::{Detection, Format};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::body::{LenientFields, Shape, Texts, number};
use super::error::{ApiError, Errors, Result};
use super::source::TextsWithLanguages;
use super::{Shared, extensions, format, within};
use crate::engine::Choice;
use crate::language::name;
use crate::text::best;

/// A request to `/translate`. In a form, a `q` that occurs several times, or as `q[]`, is a list.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct TranslateRequest {
    /// The text, or a list of texts.
    pub q: Texts,
    /// The code of the language of the text, or `auto`.
    #[schema(example = "de")]
    pub source: String,
    /// The code of the language to translate into.
    #[schema(example = "en")]
    pub target: String,
    /// The name of a format, such as `html` or `po`. The default is `text`.
    #[schema(example = "text", nullable = false)]
    pub format: Option<String>,
    /// The number of alternatives besides the translation. The default is 0.
    #[serde(default, deserialize_with = "number")]
    #[schema(nullable = false)]
    pub alternatives: Option<usize>,
    /// The API key, if the server requires one.
    #[allow(dead_code)]
    pub api_key: Option<String>,
}

/// One value for one text, a list for a list of texts.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum OneOrMany<T> {
    /// For one text.
    One(T),
    /// For a list of texts.
    Many(Vec<T>),
}

impl<T> OneOrMany<T> {
    /// Returns the values for `all` texts of a request of this `shape`.
    pub fn like(shape: Shape, mut all: Vec<T>) -> Self {
        match shape {
            Shape::One => Self::One(all.remove(0)),
            Shape::Many => Self::Many(all),
        }
    }
}

/// The answer to `/translate`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TranslateResponse {
    /// The translation, or a list of them.
    pub translated_text: OneOrMany<String>,
    /// The detected language, if `source` was `auto`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detected_language: Option<OneOrMany<Detection>>,
    /// Other translations, if they were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alternatives: Option<OneOrMany<Vec<String>>>,
}

/// Translates text.
#[utoipa::path(post, path = "/translate", tag = "LibreTranslate",
    request_body(content(
        (TranslateRequest = "application/json"), (TranslateRequest = "application/x-www-form-urlencoded"),
        (TranslateRequest = "multipart/form-data"))),
    responses((status = 200, body = TranslateResponse), Errors))]
pub(crate) async fn translate(
    LenientFields(client, request): LenientFields<TranslateRequest>,
) -> Result<Json<TranslateResponse>> {
    let shape = request.q.shape();
    let texts = request.q.into_list();
    let is_missing = texts.is_empty() || shape == Shape::One && texts[0].is_empty();
    let empty = [
        is_missing,
        request.source.is_empty(),
        request.target.is_empty(),
    ];
    if let Some((field, _)) = ["q", "source", "target"]
        .iter()
        .zip(empty)
        .find(|(_, empty)| *empty)
    {
        return Err(ApiError::missing(field));
    }
    let format = format(request.format.as_deref())?;
    client.check_texts("q", texts.len(), texts.iter().map(String::as_str))?;
    let most = client.limits.alternatives;
    let alternatives = within("alternatives", request.alternatives, 0..=most)?.unwrap_or(0);
    let choice = Choice {
        n_best: alternatives + 1,
        ..Choice::default()
    };
    let permit = client
        .permit(texts.iter().map(String::as_str), choice.n_best)
        .await?;
    let TextsWithLanguages {
        read,
        pairs,
        detected,
    } = client
        .sourced(&request.source, &request.target, texts, format, permit)
        .await?;
    let translations = client.translate(read, &pairs, choice, Vec::new()).await?;
    let others = (alternatives > 0).then(|| {
        let others = translations.iter().map(|all| all[1..].to_vec());
        OneOrMany::like(shape, others.collect())
    });
    Ok(Json(TranslateResponse {
        alternatives: others,
        detected_language: detected.map(|found| OneOrMany::like(shape, found)),
        translated_text: OneOrMany::like(shape, best(translations)),
    }))
}

/// A request to `/detect`.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct DetectRequest {
    /// The text.
    pub q: Texts,
    /// The API key, if the server requires one.
    #[allow(dead_code)]
    pub api_key: Option<String>,
}

/// Detects the language of a text: one of the served languages, unless it is clearly another.
#[utoipa::path(post, path = "/detect", tag = "LibreTranslate",
    request_body(content(
        (DetectRequest = "application/json"), (DetectRequest = "application/x-www-form-urlencoded"),
        (DetectRequest = "multipart/form-data"))),
    responses((status = 200, body = Vec<Detection>), Errors))]
pub(crate) async fn detect(
    LenientFields(client, request): LenientFields<DetectRequest>,
) -> Result<Json<Vec<Detection>>> {
    let texts = request.q.into_list();
    client.check_texts("q", texts.len(), texts.iter().map(String::as_str))?;
    let all = texts.join("\n");
    if all.is_empty() {
        return Err(ApiError::missing("q"));
    }
    let permit = client.permit([&*all], 1).await?;
    let read = client.read(vec![all], Format::Text, None, permit).await?;
    let found = client.detect(&read, None).await?;
    Ok(Json(found))
}

/// A language that is served.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ServedLanguage {
    /// The code of the language.
    pub code: String,
    /// The English name of the language.
    pub name: String,
    /// The codes of its target languages.
    pub targets: Vec<String>,
}

/// Lists the source languages and the target languages of each.
#[utoipa::path(get, path = "/languages", tag = "LibreTranslate",
    responses((status = 200, body = Vec<ServedLanguage>)))]
pub(crate) async fn languages(State(service): State<Shared>) -> Json<Vec<ServedLanguage>> {
    Json(
        service
            .all_codes()
            .into_iter()
            .map(|code: &str| {
                let targets = service.models.pairs().filter(|pair| pair.source == code);
                let targets = targets.map(|pair| pair.target.clone()).collect();
                ServedLanguage {
                    code: code.into(),
                    name: name(code),
                    targets,
                }
            })
            .collect(),
    )
}

/// The settings that LibreTranslate's page requests from its server.
#[utoipa::path(get, path = "/frontend/settings", tag = "LibreTranslate",
    responses((status = 200, body = Object)))]
pub(crate) async fn settings(State(service): State<Shared>) -> Json<Value> {
    let first = service.models.pairs().next().expect("a server has a model");
    let source = json!({"code": first.source, "name": name(&first.source)});
    let target = json!({"code": first.target, "name": name(&first.target)});
    let key = service.keys.are_required();
    Json(json!({
        "about": service.about, "apiKeys": key, "charLimit": service.limits.characters, "textLimit": service.limits.texts,
        "filesTranslation": true, "frontendTimeout": 500, "keyRequired": key,
        "language": {"source": source, "target": target}, "paper": !service.pages.is_empty(),
        "suggestions": false, "supportedFilesFormat": extensions(),
    }))
}
