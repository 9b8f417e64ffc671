//! The pages of `cargo xtask web` under `/paper`. Browsers compute what they show, so a class of
//! readers costs the server nothing but the files.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path as UrlPath, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;

use super::Shared;
use super::error::ApiError;

/// The paths of the pages.
pub(crate) const PATHS: [&str; 3] = ["/paper", "/paper/", "/paper/{*path}"];
/// The page that `/paper/` shows.
const FIRST: &str = "paper.html";
/// The Content-Security-Policy of the pages: they run WebAssembly in workers.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; \
     connect-src 'self'; style-src 'self'; img-src 'self'; manifest-src 'self'; base-uri 'none'; \
     frame-ancestors 'none'";
/// The depth of folders that is read: `models/de-en` and `code/CRATE/FOLDER/FOLDER`.
const MAX_DEPTH: usize = 6;

/// The files of a folder of pages, by their paths below it. They are read at the start, so that no
/// request opens a file.
#[derive(Debug, Default)]
pub(crate) struct Pages(BTreeMap<String, Bytes>);

impl Pages {
    /// Reads all files in `folder`.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read, or if the folder has no page of the paper.
    pub fn load(folder: &Path) -> io::Result<Self> {
        let mut files = BTreeMap::new();
        read(folder, "", MAX_DEPTH, &mut files)?;
        if !files.contains_key(FIRST) {
            let message = format!("there is no {FIRST}; cargo xtask web --only paper makes it");
            return Err(io::Error::new(io::ErrorKind::NotFound, message));
        }
        Ok(Self(files))
    }

    /// Returns whether there are no pages.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Adds the files in `folder` and its folders to `files`. Links are left out.
fn read(
    folder: &Path,
    prefix: &str,
    depth: usize,
    files: &mut BTreeMap<String, Bytes>,
) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        let path = format!("{prefix}{name}");
        if kind.is_file() {
            files.insert(path, fs::read(entry.path())?.into());
        } else if kind.is_dir() && depth > 0 {
            read(&entry.path(), &format!("{path}/"), depth - 1, files)?;
        }
    }
    Ok(())
}

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
    let Some(bytes) = service.pages.0.get(path) else {
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
    fn files_are_named_by_their_paths_and_a_folder_without_the_page_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("models/de-en")).unwrap();
        fs::write(folder.path().join("models/de-en/config.json"), "{}").unwrap();
        let error = Pages::load(folder.path()).unwrap_err().to_string();
        assert!(error.contains("cargo xtask web --only paper"), "{error}");
        fs::write(folder.path().join(FIRST), "<p>").unwrap();
        let pages = Pages::load(folder.path()).unwrap();
        let names: Vec<&String> = pages.0.keys().collect();
        assert_eq!(names, ["models/de-en/config.json", "paper.html"]);
        assert_eq!(content_type("models/de-en/config.json"), "application/json");
    }
}
