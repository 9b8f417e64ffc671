//! Documents, translated after their request has been answered.

use std::time::Duration;

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::timeout;
use utoipa::ToSchema;

use super::super::body::{LenientFields, MAX_FIELDS, Texts, number, open};
use super::super::error::{ApiError, Errors, Result};
use super::super::files::{attachment, extension, put, read_file};
use super::super::{AUTO, Client, Shared};
use super::{FORMALITIES, chosen_glossaries, memories, one_of, refused};
use crate::store::{FileState, StoredFile, unguessable};

/// A request that starts the translation of a document.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct DeeplDocumentRequest {
    /// A file with one of the extensions listed by `/frontend/settings`.
    #[serde(default)]
    #[schema(format = Binary, required)]
    #[allow(dead_code)]
    file: String,
    /// The code of the language of the document. Without it, the language is detected.
    source_lang: Option<String>,
    /// The code of the language to translate into.
    target_lang: String,
    /// The extension of the file. Formats are not converted.
    output_format: Option<String>,
    /// `default`, `prefer_less` or `prefer_more`. They change nothing.
    formality: Option<String>,
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
    /// Refused.
    #[serde(default, deserialize_with = "refused")]
    #[schema(value_type = Option<String>)]
    #[allow(dead_code)]
    style_id: (),
}

/// Starts the translation of a document.
#[utoipa::path(post, path = "/v2/document", tag = "DeepL",
    request_body(content = DeeplDocumentRequest, content_type = "multipart/form-data"),
    responses((status = 200, body = Object), Errors))]
pub(crate) async fn deepl_document(
    State(service): State<Shared>,
    request: Request,
) -> Result<Json<Value>> {
    let limits = service.limits;
    let (client, (sent, request)) = open(request, &service, MAX_FIELDS, move |content| {
        read_file::<DeeplDocumentRequest>(content, &limits)
    })
    .await?;
    one_of("formality", request.formality.as_deref(), &FORMALITIES)?;
    let end = request.output_format.unwrap_or_default();
    if !end.is_empty() && !end.eq_ignore_ascii_case(extension(&sent.name)) {
        let error = format!("the file cannot become {end}");
        return Err(ApiError::bad("output_format", error, "leave it out"));
    }
    let source = request
        .source_lang
        .filter(|it| !it.is_empty())
        .unwrap_or(AUTO.into());
    let upload = sent
        .unpacked(&client, &source, &request.target_lang)
        .await?;
    let pair = upload.pairs[0].clone();
    let glossaries = chosen_glossaries(&client, request.glossary_id, &source, &pair)?;
    let memory = request.translation_memory_id.as_deref();
    let threshold = request.translation_memory_threshold;
    memories::check(&client, memory, threshold, &upload.pairs)?;
    let id = unguessable();
    let secret = unguessable();
    let answer = json!({"document_id": id, "document_key": secret});
    let mut turn = client.requests.permit(&client.sender);
    if !turn.grow(1) {
        return Err(ApiError::too_many());
    }
    let stored = StoredFile {
        name: upload.name.clone(),
        secret: Some(secret.clone()),
        state: FileState::Translating,
    };
    put(&client, &id, stored.clone(), upload.size())?;
    let work = tokio::spawn(async move {
        let _turn = turn;
        let kept = if pair.source == pair.target {
            Err("Source and target language are equal.".to_owned())
        } else {
            upload
                .keep(&client, &id, Some(secret), glossaries)
                .await
                .map_err(ApiError::sentence)
        };
        // A failed file has freed the room of its text, so there is room for the error.
        let Err(error) = kept else { return Ok(()) };
        let size = error.len();
        let state = FileState::Failed(error);
        put(&client, &id, StoredFile { state, ..stored }, size)
    });
    // DeepL's client polls only every five seconds, so a short document is translated before the
    // answer.
    let _ = timeout(SHORT, work).await;
    Ok(Json(answer))
}

/// How long the answer waits for a short document.
const SHORT: Duration = Duration::from_secs(1);

/// A request about a document.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct DeeplKeyRequest {
    /// The key that was returned with the identifier.
    document_key: String,
}

/// Returns the status of a document.
#[utoipa::path(post, path = "/v2/document/{id}", tag = "DeepL",
    params(("id" = String, Path)), request_body = DeeplKeyRequest,
    responses((status = 200, body = Object), Errors))]
pub(crate) async fn deepl_document_status(
    Path(id): Path<String>,
    LenientFields(client, request): LenientFields<DeeplKeyRequest>,
) -> Result<Json<Value>> {
    Ok(Json(match kept(&client, &id, &request)?.state {
        FileState::Translating => {
            json!({"document_id": id, "status": "translating", "seconds_remaining": 1})
        }
        FileState::Done {
            source_chars,
            untranslated,
            ..
        } => {
            let mut answer =
                json!({"document_id": id, "status": "done", "billed_characters": source_chars});
            if !untranslated.is_empty() {
                answer["left"] = json!(untranslated);
            }
            answer
        }
        FileState::Failed(error) => {
            json!({"document_id": id, "status": "error", "error_message": error})
        }
    }))
}

/// Downloads a translated document.
///
/// It is kept for ten minutes.
#[utoipa::path(post, path = "/v2/document/{id}/result", tag = "DeepL",
    params(("id" = String, Path)), request_body = DeeplKeyRequest,
    responses((status = 200, body = String, content_type = "application/octet-stream"), Errors))]
pub(crate) async fn deepl_document_result(
    Path(id): Path<String>,
    LenientFields(client, request): LenientFields<DeeplKeyRequest>,
) -> Result<Response> {
    let StoredFile { name, state, .. } = kept(&client, &id, &request)?;
    match state {
        FileState::Done { bytes, .. } => Ok(attachment(&name, &bytes)),
        FileState::Failed(error) => Err(ApiError::new(StatusCode::NOT_FOUND, error)),
        FileState::Translating => {
            let error = "the document is not translated yet";
            Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, error))
        }
    }
}

/// Returns the document with this identifier.
///
/// # Errors
/// Returns an error if the document is not kept any more or the key is wrong.
fn kept(client: &Client, id: &str, request: &DeeplKeyRequest) -> Result<StoredFile> {
    let file = client.files.get_for(&client.sender, id);
    file.filter(|file: &StoredFile| file.is_for(Some(&request.document_key)))
        .ok_or_else(|| {
            let error =
                "there is no such document, its key is another, or its ten minutes are over";
            ApiError::new(StatusCode::NOT_FOUND, error)
        })
}
