//! The translation memories that the server was started with. They answer every request for their
//! pair of languages, so a request that names one is only checked.

use axum::Json;
use axum::extract::Path;
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::super::Client;
use super::super::body::{LenientFields, number};
use super::super::error::{ApiError, Errors, Result};
use super::super::within;
use crate::language::LanguagePair;
use crate::models::MemorySource;

/// The maximum and the default number of memories on a page, as DeepL has them.
const MAX_LISTED: usize = 25;
const FEW_LISTED: usize = 10;

/// A page of a list.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct DeeplPageRequest {
    /// The number of the page, from 0.
    #[serde(default, deserialize_with = "number")]
    #[schema(value_type = Option<usize>)]
    page: Option<usize>,
    /// The number of memories on a page, at most 25; 10 if there is none.
    #[serde(default, deserialize_with = "number")]
    #[schema(value_type = Option<usize>)]
    page_size: Option<usize>,
}

/// Lists the translation memories.
#[utoipa::path(get, path = "/v3/translation_memories", tag = "DeepL",
    params(("page" = Option<usize>, Query), ("page_size" = Option<usize>, Query)),
    responses((status = 200, body = Object), Errors))]
pub(crate) async fn deepl_memories(
    LenientFields(client, request): LenientFields<DeeplPageRequest>,
) -> Result<Json<Value>> {
    let size = within("page_size", request.page_size, 1..=MAX_LISTED)?.unwrap_or(FEW_LISTED);
    let first = request.page.unwrap_or(0).saturating_mul(size);
    let all: Vec<Value> = client.models.memories().map(described).collect();
    let page: Vec<&Value> = all.iter().skip(first).take(size).collect();
    Ok(Json(
        json!({"translation_memories": page, "total_count": all.len()}),
    ))
}

/// Returns a translation memory without its segments.
#[utoipa::path(get, path = "/v3/translation_memories/{id}", tag = "DeepL", params(("id" = String, Path)),
    responses((status = 200, body = Object), Errors))]
pub(crate) async fn deepl_memory(
    Path(id): Path<String>,
    LenientFields(client, _): LenientFields<MemoryRequest>,
) -> Result<Json<Value>> {
    let mut all = client.models.memories();
    let found = all.find(|(pair, _)| pair.to_string() == id);
    let found = found.ok_or_else(|| no_memory(&client, &id))?;
    Ok(Json(described(found)))
}

/// Describes a memory. Its identifier is its pair of languages, which stays the same when the
/// server starts again.
fn described((pair, memory): (&LanguagePair, &MemorySource)) -> Value {
    let [source, target] = [&pair.source, &pair.target].map(|code| code.to_lowercase());
    json!({
        "translation_memory_id": pair.to_string(), "name": memory.name, "source_language": source,
        "target_languages": [target], "segment_count": memory.segments,
    })
}

/// A request without fields.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct MemoryRequest {}

/// Checks the translation memory of a request for texts with these `pairs` of languages.
///
/// # Errors
/// Returns an error if the memory is not the memory of any of the pairs, or if `threshold` is no
/// percentage.
pub(super) fn check(
    client: &Client,
    id: Option<&str>,
    threshold: Option<usize>,
    pairs: &[LanguagePair],
) -> Result<()> {
    within("translation_memory_threshold", threshold, 0..=100)?;
    let Some(id) = id.filter(|id| !id.is_empty()) else {
        return Ok(());
    };
    let mut memories = client.models.memories();
    let is_known = memories.any(|(pair, _)| pairs.contains(pair) && pair.to_string() == id);
    if is_known {
        Ok(())
    } else {
        Err(no_memory(client, id))
    }
}

/// The error for a memory that does not exist.
fn no_memory(client: &Client, id: &str) -> ApiError {
    let all: Vec<String> = client
        .models
        .memories()
        .map(|it| it.0.to_string())
        .collect();
    let remedy = if all.is_empty() {
        "leave it out: the server was started without --memory".into()
    } else {
        format!("one of {}", all.join(", "))
    };
    let error = format!("there is no translation memory {id:?} for these languages");
    ApiError::new(StatusCode::NOT_FOUND, error)
        .field("translation_memory_id")
        .remedy(remedy)
}
