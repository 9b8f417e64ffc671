//! Documents uploaded and downloaded as files.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use burnformer_documents::{BrokenFile, Cost, OfficeKind, WholeFile};
use burnformer_terminology::Glossary;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use utoipa::{PartialSchema, ToSchema};

use super::body::{Content, MAX_FIELDS, header_text, open, read_form};
use super::error::{ApiError, ErrorBody, Errors, Result};
use super::form::check_count;
use super::source::TextsWithLanguages;
use super::{Client, MAX_WORK, Service, Shared, memory_of};
use crate::compute::{Price, compute};
use crate::language::LanguagePair;
use crate::sender::Permit;
use crate::settings::Limits;
use crate::store::{FileState, StoredFile, unguessable};
use crate::text::ReadTexts;

/// The answer to `/translate_file`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FileResponse {
    /// The URL of the translated file. It is valid for ten minutes.
    pub translated_file_url: String,
    /// What in the file stays in the source language, such as `names of sheets`. Missing if nothing
    /// does.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub left: String,
}

/// A request to `/translate_file`.
#[derive(Deserialize, ToSchema)]
pub(crate) struct FileRequest {
    /// A file with one of the extensions listed by `/frontend/settings`.
    #[serde(default)]
    #[schema(format = Binary, required)]
    #[allow(dead_code)]
    file: String,
    /// The code of the language of the file, or `auto`.
    source: String,
    /// The code of the language to translate into.
    target: String,
    /// The API key, if the server requires one.
    #[allow(dead_code)]
    api_key: Option<String>,
}

/// Translates a file.
#[utoipa::path(post, path = "/translate_file", tag = "LibreTranslate",
    request_body(content = FileRequest, content_type = "multipart/form-data"),
    responses((status = 200, body = FileResponse), Errors))]
pub(crate) async fn translate_file(
    State(service): State<Shared>,
    headers: HeaderMap,
    request: Request,
) -> Result<Json<FileResponse>> {
    let limits = service.limits;
    let (client, (sent, request)) = open(request, &service, MAX_FIELDS, move |content| {
        read_file::<FileRequest>(content, &limits)
    })
    .await?;
    let empty = [("source", &request.source), ("target", &request.target)];
    if let Some((field, _)) = empty.iter().find(|(_, value)| value.is_empty()) {
        return Err(ApiError::missing(field));
    }
    let upload = sent
        .unpacked(&client, &request.source, &request.target)
        .await?;
    let key = format!("{}.{}", unguessable(), plain(&upload.name));
    let left = upload.untranslated.clone();
    upload.keep(&client, &key, None, Vec::new()).await?;
    let origin = origin(&headers);
    let prefix = prefix(&client, &headers);
    let translated_file_url = format!("{origin}{prefix}/download_file/{key}");
    Ok(Json(FileResponse {
        translated_file_url,
        left,
    }))
}

/// An uploaded file, and the cost of unpacking it.
pub(super) struct SentFile {
    pub name: String,
    bytes: Vec<u8>,
    cost: Cost,
}

/// Reads the file of a form, without unpacking it, and the other fields.
pub(super) fn read_file<T: DeserializeOwned + PartialSchema>(
    content: Content,
    limits: &Limits,
) -> Result<(SentFile, T)> {
    let Content::Form(mut parts) = content else {
        return Err(ApiError::media_type("application/json"));
    };
    check_count(&parts, MAX_FIELDS)?;
    let index = parts.iter().rposition(|part| part.name == "file");
    let part = parts.swap_remove(index.ok_or_else(|| ApiError::missing("file"))?);
    let name = part.file_name;
    let cost = WholeFile::cost(&part.bytes, extension(&name)).map_err(broken)?;
    let sent = SentFile {
        name,
        bytes: part.bytes.into(),
        cost,
    };
    Ok((sent, read_form(parts, MAX_FIELDS, limits, true)?))
}

fn broken(error: BrokenFile) -> ApiError {
    ApiError::bad(
        "file",
        error.to_string(),
        "send the file as its program saved it",
    )
}

impl SentFile {
    /// Unpacks the file once there is room for its unpacked contents, and finds its languages.
    ///
    /// # Errors
    /// Returns an error if the file is broken, if it needs too much memory or is too long, if there
    /// is no room for it, or if a language is not served.
    pub async fn unpacked(self, client: &Client, source: &str, target: &str) -> Result<Upload> {
        let Self { name, bytes, cost } = self;
        let kind = extension(&name).to_owned();
        let memory = if OfficeKind::from_extension(&kind).is_some() {
            usize::try_from(cost.memory()).unwrap_or(usize::MAX)
        } else {
            MAX_WORK.min(2 * memory_of(&bytes))
        };
        if memory > MAX_WORK {
            let error = format!(
                "file would take {} MiB of memory, more than the {} allowed",
                memory >> 20,
                MAX_WORK >> 20
            );
            return Err(ApiError::too_large("file", &error));
        }
        let mut permit = client.permit_of(memory).await?;
        let price = Price::of_file(cost);
        let file = compute(&client.sender, price, move |_| {
            WholeFile::read(bytes, &kind).map(|file| (file.untranslated(), file))
        });
        let (untranslated, mut file) = file.await?.map_err(broken)?;
        client.check_texts("file", 1, [&*file.text])?;
        permit.shrink(file.size() + 2 * memory_of(file.text.as_bytes()));
        let text = std::mem::take(&mut file.text);
        let size = text.len();
        let characters = text.chars().count();
        // The permit of the file covers its text.
        let none = client.work.permit(&client.sender);
        let TextsWithLanguages { read, pairs, .. } = client
            .sourced(source, target, vec![text], file.format, none)
            .await?;
        Ok(Upload {
            name,
            untranslated,
            file,
            read,
            pairs,
            size,
            characters,
            _permit: permit,
        })
    }
}

/// An unpacked file to translate.
pub(super) struct Upload {
    pub name: String,
    /// The language pair of the translation.
    pub pairs: Vec<LanguagePair>,
    /// What in the file stays in the source language.
    untranslated: String,
    file: WholeFile,
    /// The text of the file.
    read: ReadTexts,
    /// The size of the text in bytes.
    size: usize,
    /// The size of the text in characters.
    characters: usize,
    _permit: Permit,
}

impl Upload {
    /// The size of the text in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Translates the file and stores it under `id`.
    ///
    /// # Errors
    /// Returns an error if the translation fails or there is no room.
    pub async fn keep(
        self,
        client: &Client,
        id: &str,
        secret: Option<String>,
        glossaries: Vec<Arc<Glossary>>,
    ) -> Result<()> {
        let text = client
            .translate_one(self.read, &self.pairs, glossaries)
            .await?;
        let price = Price::of_text(text.len() + self.file.size());
        let pair = self.pairs[0].clone();
        let languages = [pair.source, pair.target];
        let file = self.file;
        let bytes = compute(&client.sender, price, move |_: &_| {
            file.write(text, languages.each_ref().map(|it| Some(&**it)))
        })
        .await?;
        let size = bytes.len();
        let stored = StoredFile {
            name: self.name,
            secret,
            state: FileState::Done {
                bytes: bytes.into(),
                source_chars: self.characters,
                untranslated: self.untranslated,
            },
        };
        put(client, id, stored, size)
    }
}

/// Stores a file of `size` bytes under `id`.
///
/// # Errors
/// Returns an error if there is no room.
pub(super) fn put(client: &Client, id: &str, file: StoredFile, size: usize) -> Result<()> {
    let is_kept = client.files.put(&client.sender, id, file, size);
    is_kept.then_some(()).ok_or_else(ApiError::too_many)
}

/// The origin that the client used to reach the server. A proxy that terminates TLS sends
/// `X-Forwarded-Proto`. A value that is not a host is ignored.
fn origin(headers: &HeaderMap) -> String {
    let scheme = if header_text(headers, "x-forwarded-proto") == Some("https") {
        "https"
    } else {
        "http"
    };
    let host = ["x-forwarded-host", "host"]
        .into_iter()
        .filter_map(|name| header_text(headers, name))
        .find(|host| is_host(host))
        .unwrap_or("localhost");
    format!("{scheme}://{host}")
}

/// The prefix of every path as the client sees it. A proxy that adds one sends it in
/// `X-Forwarded-Prefix`.
pub(crate) fn prefix<'a>(service: &'a Service, headers: &'a HeaderMap) -> &'a str {
    let prefix = headers
        .get("x-forwarded-prefix")
        .and_then(|value| value.to_str().ok());
    let prefix = prefix.map(|text| text.trim_end_matches('/'));
    prefix
        .filter(|text| text.is_empty() || is_prefix(text))
        .unwrap_or(&service.prefix)
}

/// Returns whether `text` is the beginning of a path, without characters that have a meaning in
/// URLs.
pub(crate) fn is_prefix(text: &str) -> bool {
    text.starts_with('/')
        && text
            .chars()
            .all(|c: char| c.is_ascii_alphanumeric() || "-._~/".contains(c))
        && !["//", ".."].iter().any(|s| text.contains(s))
}

/// Returns whether `text` is only a host, with or without a port.
fn is_host(text: &str) -> bool {
    let is_plain = text
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "-._~[]:".contains(c));
    is_plain
        && text
            .parse::<Authority>()
            .is_ok_and(|authority| !authority.host().is_empty())
}

pub(super) fn extension(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(_, extension)| extension)
}

/// `name` without characters that have a meaning in paths or headers.
fn plain(name: &str) -> String {
    let name: String = name
        .chars()
        .map(|c: char| {
            if c.is_ascii_alphanumeric() || c == '.' || c == '-' {
                c
            } else {
                '_'
            }
        })
        .collect();
    name[name.len().saturating_sub(100)..].to_owned()
}

/// Downloads a translated file.
#[utoipa::path(get, path = "/download_file/{name}", tag = "LibreTranslate",
    params(("name" = String, Path, description = "The last part of translatedFileUrl")),
    responses((status = 200, body = String, content_type = "application/octet-stream"), (status = 404, body = ErrorBody)))]
pub(crate) async fn download(
    State(service): State<Shared>,
    Path(name): Path<String>,
) -> Result<Response> {
    let file = service.files.get(&name).filter(|file| file.is_for(None));
    let StoredFile { name, state, .. } = file.ok_or_else(gone)?;
    match state {
        FileState::Done { bytes, .. } => Ok(attachment(&name, &bytes)),
        _ => Err(gone()),
    }
}

fn gone() -> ApiError {
    let message = "there is no such file, or its ten minutes are over";
    ApiError::new(StatusCode::NOT_FOUND, message)
}

/// An answer with a file.
pub(super) fn attachment(name: &str, bytes: &[u8]) -> Response {
    let file = format!("attachment; filename=\"{}\"", plain(name));
    let kind = [(header::CONTENT_TYPE, "application/octet-stream")];
    (kind, [(header::CONTENT_DISPOSITION, file)], bytes.to_vec()).into_response()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn the_url_of_a_file_has_the_origin_that_the_client_used() {
        let origin = |pairs: &[(&'static str, &str)]| {
            let pairs = pairs.iter().map(|(name, value)| {
                (
                    header::HeaderName::from_static(name),
                    HeaderValue::from_str(value).unwrap(),
                )
            });
            origin(&pairs.collect())
        };
        assert_eq!(
            origin(&[("host", "127.0.0.1:5000")]),
            "http://127.0.0.1:5000"
        );
        let behind_proxy = [("host", "127.0.0.1:5000"), ("x-forwarded-proto", "https")];
        assert_eq!(origin(&behind_proxy), "https://127.0.0.1:5000");
        let renamed = [behind_proxy[1], ("x-forwarded-host", "example.org")];
        assert_eq!(origin(&renamed), "https://example.org");
        assert_eq!(
            origin(&[("x-forwarded-proto", "javascript")]),
            "http://localhost"
        );
        let ipv6 = [("host", "[::1]:5000")];
        assert_eq!(origin(&ipv6), "http://[::1]:5000");
        for host in ["a@b", "a/b", "a b", "a?b", "a\"b", "a<b", "", ":80"] {
            let wrong = [("host", "a:1"), ("x-forwarded-host", host)];
            assert_eq!(origin(&wrong), "http://a:1", "{host}");
        }
    }

    #[test]
    fn file_names_lose_characters_of_paths_and_headers() {
        assert_eq!(plain("../\"a b\".txt"), "..__a_b_.txt");
        assert!(plain(&"x".repeat(1000)).len() == 100);
        assert_eq!(
            [extension("a.b.HTML"), extension("a"), extension("")],
            ["HTML", "", ""]
        );
    }
}
