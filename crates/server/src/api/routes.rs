//! All paths of the server. Each path is described at its handler.

use std::collections::BTreeSet;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};
use utoipa::OpenApi as _;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::deepl::documents;
use super::error::{ApiError, ErrorBody};
use super::{
    Shared, attention, deepl, divide, files, libretranslate, page, paper, status, stream, v1,
};

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Burnformer",
        description = "Translation over HTTP: LibreTranslate's interface, DeepL's and one of our own."
    ),
    components(schemas(ErrorBody))
)]
struct Description;

/// The paths with a description. To add one, add a line here and `#[utoipa::path]` above its
/// handler.
fn described() -> OpenApiRouter<Shared> {
    OpenApiRouter::with_openapi(Description::openapi())
        .routes(routes!(libretranslate::translate))
        .routes(routes!(libretranslate::detect))
        .routes(routes!(libretranslate::languages))
        .routes(routes!(libretranslate::settings))
        .routes(routes!(files::translate_file))
        .routes(routes!(files::download))
        .routes(routes!(deepl::deepl_translate))
        .routes(routes!(documents::deepl_document))
        .routes(routes!(documents::deepl_document_status))
        .routes(routes!(documents::deepl_document_result))
        .routes(routes!(deepl::languages::deepl_languages))
        .routes(routes!(deepl::languages::deepl_resource_languages))
        .routes(routes!(deepl::memories::deepl_memories))
        .routes(routes!(deepl::memories::deepl_memory))
        .routes(routes!(deepl::deepl_usage))
        .routes(routes!(deepl::glossary_pairs))
        .nest("/v2", deepl::glossaries::router())
        .nest(
            "/v3",
            deepl::glossaries::router().merge(deepl::editing::router()),
        )
        .routes(routes!(v1::translate))
        .routes(routes!(v1::sentences))
        .routes(routes!(divide::divide))
        .routes(routes!(stream::stream))
        .routes(routes!(attention::attention))
        .routes(routes!(attention::view))
        .routes(routes!(status::health))
        .routes(routes!(status::ready))
        .routes(routes!(status::metrics))
}

/// The paths of the OpenAPI document; the second is LibreTranslate's.
const DOCUMENT: [&str; 2] = ["/openapi.json", "/spec"];

/// All paths: the described paths, the OpenAPI document, the files of the web page, and the pages
/// of the paper. With `keys`, requests need a key.
pub(crate) fn router(keys: bool) -> Router<Shared> {
    let (router, paths) = described().split_for_parts();
    let mut document = serde_json::to_value(paths).expect("a document is JSON");
    loosen(&mut document);
    secure(&mut document, keys);
    let pages = page::FILES
        .into_iter()
        .fold(router, |router, (path, kind, text)| {
            router.route(path, get(page::file(kind, text)))
        })
        .merge(paper::router());
    let describe = get(
        async move |State(service): State<Shared>, headers: HeaderMap| {
            let mut document = document.clone();
            let prefix = files::prefix(&service, &headers);
            if !prefix.is_empty() {
                document["servers"] = json!([{"url": prefix}]);
            }
            Json(document)
        },
    );
    DOCUMENT
        .into_iter()
        .fold(pages, |router, path| router.route(path, describe.clone()))
        .fallback(async || ApiError::new(StatusCode::NOT_FOUND, "not found; see /docs"))
        .method_not_allowed_fallback(async || {
            ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method not allowed")
        })
}

/// Declares that requests with a body need a key, in a header or in the field `api_key`, if the
/// server requires one. Gives each operation its own name.
fn secure(document: &mut Value, required: bool) {
    document["components"]["securitySchemes"] = json!({"key": {
        "type": "http", "scheme": "bearer", "description": "A key of the server; the field api_key does as well."
    }});
    let paths = document["paths"].as_object_mut().into_iter().flatten();
    let mut names = BTreeSet::new();
    for (path, operations) in paths {
        for (method, operation) in operations.as_object_mut().into_iter().flatten() {
            if required && operation["requestBody"].is_object() {
                // The empty object allows the key in the field.
                operation["security"] = json!([{"key": []}, {}]);
            }
            if !names.insert(operation["operationId"].to_string()) {
                let name = format!("{method}{path}").replace(['/', '{', '}', '-'], "_");
                operation["operationId"] = name.into();
            }
        }
    }
}

/// Replaces every `oneOf` by `anyOf`: an empty list matches both variants, one text and many texts.
fn loosen(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if let Some(schemas) = fields.remove("oneOf") {
                fields.insert("anyOf".into(), schemas);
            }
            fields.values_mut().for_each(loosen);
        }
        Value::Array(values) => values.iter_mut().for_each(loosen),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paths in axum's router, from its debug output (`RouteId(3): "/health"`), without its
    /// internal fallback.
    fn served(router: &Router<Shared>) -> BTreeSet<String> {
        let text = format!("{router:?}");
        let quoted = text
            .split("RouteId(")
            .filter_map(|rest| rest.split('"').nth(1));
        quoted
            .filter(|path| path.starts_with('/') && !path.starts_with("/{*__"))
            .map(String::from)
            .collect()
    }

    #[test]
    fn every_path_is_described_or_a_file_of_the_page() {
        let (_, paths) = super::described().split_for_parts();
        let described: BTreeSet<String> = paths.paths.paths.into_keys().collect();
        let router = router(false);
        assert!(described.contains("/v1/sentences") && described.contains("/download_file/{name}"));
        let pages = page::FILES
            .map(|(path, ..)| path)
            .into_iter()
            .chain(DOCUMENT)
            .chain(paper::PATHS);
        let known = described
            .into_iter()
            .chain(pages.map(String::from))
            .collect();
        assert_eq!(
            served(&router),
            known,
            "describe it by #[utoipa::path], and add it by `routes!`"
        );
    }
}
