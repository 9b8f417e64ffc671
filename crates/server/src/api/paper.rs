//! The pages of `cargo xtask web` under `/paper`. Browsers compute what they show, so a class of
//! readers costs the server nothing but the files.

use axum::Router;
use axum::extract::{Path as UrlPath, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;

use super::Shared;
use super::error::ApiError;
use crate::pages::FIRST;

/// The paths of the pages.
pub(crate) const PATHS: [&str; 3] = ["/paper", "/paper/", "/paper/{*path}"];
/// The Content-Security-Policy of the pages: they run WebAssembly in workers.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; \
     connect-src 'self'; style-src 'self'; img-src 'self'; manifest-src 'self'; base-uri 'none'; \
     frame-ancestors 'none'";

/// The content type of a file by its extension.
fn content_type(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "webmanifest" => "application/json",
        "wasm" => "application/wasm",
        "svg" => "image/svg+xml",
        "txt" | "tsv" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

/// The routes of [`PATHS`].
pub(super) fn router() -> Router<Shared> {
    let [folder, page, file] = PATHS;
    Router::new()
        .route(folder, get(to_folder))
        .route(page, get(first))
        .route(file, get(any))
}

/// `/paper`, without the `/` by which the page finds its files.
async fn to_folder() -> Redirect {
    Redirect::permanent("paper/")
}

/// `/paper/`: the page of the paper.
async fn first(State(service): State<Shared>) -> Response {
    file(&service, FIRST)
}

/// A file of the pages.
async fn any(State(service): State<Shared>, UrlPath(path): UrlPath<String>) -> Response {
    file(&service, &path)
}

fn file(service: &Shared, path: &str) -> Response {
    let Some(bytes) = service.pages.get(path) else {
        return missing(service).into_response();
    };
    let headers = [
        (header::CONTENT_TYPE, content_type(path)),
        (header::CACHE_CONTROL, "no-cache"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
    ];
    (headers, bytes.clone()).into_response()
}

/// The error for a file that is not there, or for a server that was started without pages.
fn missing(service: &Shared) -> ApiError {
    if service.pages.is_empty() {
        let remedy =
            "cargo xtask web --only paper makes them; start the server with --paper target/npm";
        let error = "this server was started without the pages of the paper";
        ApiError::new(StatusCode::NOT_FOUND, error).remedy(remedy)
    } else {
        let error = "the pages of the paper have no such file";
        ApiError::new(StatusCode::NOT_FOUND, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_the_content_type_of_its_extension() {
        assert_eq!(content_type("models/de-en/config.json"), "application/json");
        assert_eq!(content_type("LICENSE"), "application/octet-stream");
    }
}
