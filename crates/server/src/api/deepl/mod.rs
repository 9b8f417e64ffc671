//! DeepL's interface (version 2), so that its clients work unchanged.

mod options;
pub(crate) mod texts;

use axum::Json;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::body::Fields;
use super::error::{ApiError, ErrorBody, Refused};
use crate::language::name;

/// Writes the errors of DeepL's paths as DeepL does.
pub(crate) async fn errors(request: Request, next: Next) -> Response {
    let is_deepls = request.uri().path().starts_with("/v2/");
    let mut response = next.run(request).await;
    let body = response.extensions_mut().remove::<ErrorBody>().filter(|_| is_deepls);
    let Some(ErrorBody { error, field, remedy }) = body else { return response };
    let field = field.map(|field| match &*field {
        "source" | "target" => format!("{field}_lang: "),
        _ => format!("{field}: "),
    });
    let message = field.unwrap_or_default() + &error;
    let body = json!({"message": message, "detail": remedy.unwrap_or_default()});
    *response.body_mut() = Body::from(body.to_string());
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

/// A request without fields but `type`, which `/v2/languages` has.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct DeeplRequest {
    /// `source` (the default) or `target`.
    r#type: Option<String>,
}

/// Lists the languages that can be translated from, or into. English and Portuguese are listed as
/// their varieties, since DeepL's clients refuse `EN` and `PT` as a target.
#[utoipa::path(get, path = "/v2/languages", tag = "DeepL",
    params(("type" = Option<String>, Query, description = "`source` (the default) or `target`")),
    responses((status = 200, body = Object), Refused))]
pub(crate) async fn deepl_languages(
    Fields(client, request): Fields<DeeplRequest, true>,
) -> Result<Json<Value>, ApiError> {
    let kind = options::known("type", request.r#type.as_deref(), &["source", "target"])?;
    let is_target = kind == "target";
    let codes = client.codes(if is_target { |pair| &pair.target } else { |pair| &pair.source });
    let varieties = |code: &str| match code {
        "en" if is_target => vec!["en-GB".to_owned(), "en-US".to_owned()],
        "pt" if is_target => vec!["pt-BR".to_owned(), "pt-PT".to_owned()],
        _ => vec![code.to_owned()],
    };
    let language = |code: String| json!({"language": capitals(&code), "name": name(&code), "supports_formality": false});
    Ok(Json(codes.into_iter().flat_map(varieties).map(language).collect()))
}

/// Tells that nothing is counted and that there is no limit: DeepL's own number for that.
#[utoipa::path(get, path = "/v2/usage", tag = "DeepL", responses((status = 200, body = Object), Refused))]
pub(crate) async fn deepl_usage(_: Fields<DeeplRequest, true>) -> Json<Value> {
    Json(json!({"character_count": 0, "character_limit": 1_000_000_000_000_u64}))
}

/// Lists the pairs of languages for which there may be glossaries.
#[utoipa::path(get, path = "/v2/glossary-language-pairs", tag = "DeepL", responses((status = 200, body = Object), Refused))]
pub(crate) async fn glossary_pairs(_: Fields<DeeplRequest, true>) -> Json<Value> {
    Json(json!({"supported_languages": []}))
}

/// A code as DeepL writes it: `PT-BR`.
fn capitals(code: &str) -> String {
    code.replace('_', "-").to_ascii_uppercase()
}
