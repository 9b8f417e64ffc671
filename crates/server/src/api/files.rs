//! Documents sent and fetched as files.

use std::time::{Duration, Instant};

use axum::Json;
use axum::body::Bytes;
use axum::extract::multipart::{Multipart, MultipartError};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use burnformer_documents::Format;
use burnformer_glossary::Glossary;
use lru::LruCache;
use serde::Serialize;
use std::sync::Mutex;
use utoipa::ToSchema;

use super::Shared;
use super::error::{ApiError, ErrorBody};
use super::libretranslate::source;
use crate::engine::Choice;
use crate::models::LanguagePair;
use crate::queue::locked;

/// Which files are taken, by the end of their name.
pub(crate) const EXTENSIONS: [(&str, Format); 6] = [
    ("txt", Format::Text),
    ("html", Format::Html),
    ("htm", Format::Html),
    ("md", Format::Markdown),
    ("markdown", Format::Markdown),
    ("srt", Format::Srt),
];

/// How many bytes of translated files are kept.
pub(crate) const MOST_KEPT: usize = 64 << 20;

/// How long a translated file can be fetched.
const KEPT: Duration = Duration::from_secs(600);

/// The translated files that wait to be fetched, the oldest left out first.
pub(crate) struct Files {
    most: usize,
    inner: Mutex<Inner>,
}

struct Inner {
    files: LruCache<String, Stored>,
    bytes: usize,
    random: std::collections::hash_map::RandomState,
    count: u64,
}

struct Stored {
    since: Instant,
    text: String,
}

impl Files {
    /// Room for files of `most` bytes together.
    pub fn new(most: usize) -> Self {
        let inner =
            Inner { files: LruCache::unbounded(), bytes: 0, random: Default::default(), count: 0 };
        Self { most, inner: Mutex::new(inner) }
    }

    /// Keeps a file and returns the name under which it can be fetched, which cannot be guessed.
    fn put(&self, name: &str, text: String) -> String {
        use std::hash::BuildHasher;
        let mut inner = locked(&self.inner);
        inner.count += 1;
        let [a, b] = [0u8, 1].map(|half| inner.random.hash_one((half, inner.count)));
        let key = format!("{a:016x}{b:016x}.{name}");
        inner.bytes += text.len();
        inner.files.put(key.clone(), Stored { since: Instant::now(), text });
        while let Some((_, oldest)) = inner.files.peek_lru() {
            if inner.files.len() == 1 || (inner.bytes <= self.most && oldest.since.elapsed() < KEPT)
            {
                break;
            }
            let (_, oldest) = inner.files.pop_lru().expect("the oldest file");
            inner.bytes -= oldest.text.len();
        }
        key
    }

    fn get(&self, key: &str) -> Option<String> {
        let inner = locked(&self.inner);
        let stored = inner.files.peek(key)?;
        (stored.since.elapsed() < KEPT).then(|| stored.text.clone())
    }
}

/// The answer to `/translate_file`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FileResponse {
    /// Where the translated file can be fetched for ten minutes.
    pub translated_file_url: String,
}

/// A request to `/translate_file`, for the interface's description.
#[derive(ToSchema)]
#[allow(dead_code)]
pub(crate) struct FileRequest {
    /// A file whose name ends in .txt, .html, .htm, .md, .markdown or .srt.
    #[schema(format = Binary)]
    file: String,
    /// The code of its language, or `auto`.
    source: String,
    /// The code of the language to translate into.
    target: String,
    /// The key, where the server asks for one.
    api_key: Option<String>,
}

/// Translates a file.
#[utoipa::path(post, path = "/translate_file", tag = "LibreTranslate",
    request_body(content = FileRequest, content_type = "multipart/form-data"),
    responses((status = 200, body = FileResponse), (status = 400, body = ErrorBody), (status = 403, body = ErrorBody),
        (status = 413, body = ErrorBody), (status = 415, body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(crate) async fn translate_file(
    State(service): State<Shared>,
    headers: HeaderMap,
    parts: Result<Multipart, axum::extract::multipart::MultipartRejection>,
) -> Result<Json<FileResponse>, ApiError> {
    let parts = parts.map_err(|_| ApiError::media_type("other than multipart/form-data"))?;
    let sent = Sent::read(parts).await?;
    service.check_key(sent.api_key.as_deref())?;
    let missing = |field: &str| {
        ApiError::bad(field, format!("{field} is missing"), "send it as a part of the form".into())
    };
    let (name, bytes) = sent.file.ok_or_else(|| missing("file"))?;
    let asked = sent.source.ok_or_else(|| missing("source"))?;
    let target = sent.target.ok_or_else(|| missing("target"))?;
    let format = format_of(&name)?;
    let text = String::from_utf8(bytes.to_vec()).map_err(|_| {
        ApiError::bad("file", "the file is not UTF-8".into(), "convert it to UTF-8".into())
    })?;
    let texts = [text];
    service.check_texts("file", &texts)?;
    let (source, _) = source(&service, &asked, &texts)?;
    let pair = LanguagePair { source, target };
    let choice = Choice { n_best: 1, ..Choice::default() };
    let translated = service.translate(&texts, &pair, format, choice, &Glossary::default()).await?;
    let text = translated.into_iter().flatten().next().unwrap_or_default();
    let key = service.files.put(&plain(&name), text);
    Ok(Json(FileResponse {
        translated_file_url: format!("{}/download_file/{key}", origin(&headers)),
    }))
}

/// Where the client found the server: a proxy that ends TLS says so in `X-Forwarded-Proto`.
fn origin(headers: &HeaderMap) -> String {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let scheme = if text("x-forwarded-proto") == Some("https") { "https" } else { "http" };
    let host = text("x-forwarded-host").or(text("host")).unwrap_or("localhost");
    format!("{scheme}://{host}")
}

/// The parts of a form.
#[derive(Default)]
struct Sent {
    file: Option<(String, Bytes)>,
    source: Option<String>,
    target: Option<String>,
    api_key: Option<String>,
}

impl Sent {
    async fn read(mut parts: Multipart) -> Result<Self, ApiError> {
        let mut sent = Self::default();
        while let Some(part) = parts.next_field().await.map_err(unreadable)? {
            let name = part.name().unwrap_or_default().to_owned();
            let file_name = part.file_name().unwrap_or_default().to_owned();
            match name.as_str() {
                "file" => sent.file = Some((file_name, part.bytes().await.map_err(unreadable)?)),
                "source" => sent.source = Some(part.text().await.map_err(unreadable)?),
                "target" => sent.target = Some(part.text().await.map_err(unreadable)?),
                "api_key" => sent.api_key = Some(part.text().await.map_err(unreadable)?),
                _ => {}
            }
        }
        Ok(sent)
    }
}

fn unreadable(error: MultipartError) -> ApiError {
    match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            ApiError::too_large("file", "the file is too large".into())
        }
        _ => ApiError::body(error.body_text(), "a form with the parts file, source and target"),
    }
}

fn format_of(name: &str) -> Result<Format, ApiError> {
    let extension =
        name.rsplit_once('.').map_or("", |(_, extension)| extension).to_ascii_lowercase();
    let known = EXTENSIONS.iter().find(|(known, _)| *known == extension);
    known.map(|&(_, format)| format).ok_or_else(|| {
        let names = EXTENSIONS.map(|(extension, _)| format!(".{extension}")).join(", ");
        ApiError::bad(
            "file",
            format!("{name:?} is of no known format"),
            format!("a name that ends in {names}"),
        )
    })
}

/// `name` without what a path or a header could misunderstand.
fn plain(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' || c == '-' { c } else { '_' };
    let name: String = name.chars().map(plain).collect();
    name[name.len().saturating_sub(100)..].to_owned()
}

/// Fetches a translated file.
#[utoipa::path(get, path = "/download_file/{name}", tag = "LibreTranslate",
    params(("name" = String, Path, description = "The last part of translatedFileUrl")),
    responses((status = 200, body = String, content_type = "application/octet-stream"), (status = 404, body = ErrorBody)))]
pub(crate) async fn download(
    State(service): State<Shared>,
    Path(name): Path<String>,
) -> Result<Response, ApiError> {
    let gone = || ApiError::not_found("there is no such file, or its ten minutes are over");
    let text = service.files.get(&name).ok_or_else(gone)?;
    let file = name.split_once('.').map_or("translation", |(_, file)| file);
    let disposition = HeaderValue::from_str(&format!("attachment; filename=\"{file}\""));
    let disposition = disposition.unwrap_or(HeaderValue::from_static("attachment"));
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream")),
        (header::CONTENT_DISPOSITION, disposition),
    ];
    Ok((headers, text).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_until_newer_ones_need_their_room() {
        let files = Files::new(10);
        let first = files.put("a.txt", "12345678".into());
        assert_eq!(files.get(&first).as_deref(), Some("12345678"));
        let second = files.put("a.txt", "123456".into());
        assert_ne!(first, second);
        assert_eq!(files.get(&first), None);
        assert_eq!(files.get(&second).as_deref(), Some("123456"));
        assert_eq!(files.get("0.a.txt"), None);
    }

    #[test]
    fn a_file_is_fetched_from_where_the_client_found_the_server() {
        let origin = |pairs: &[(&'static str, &str)]| {
            let pairs = pairs.iter().map(|(name, value)| {
                (header::HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
            });
            origin(&pairs.collect())
        };
        assert_eq!(origin(&[("host", "127.0.0.1:5000")]), "http://127.0.0.1:5000");
        let behind_proxy = [("host", "127.0.0.1:5000"), ("x-forwarded-proto", "https")];
        assert_eq!(origin(&behind_proxy), "https://127.0.0.1:5000");
        let renamed = [behind_proxy[1], ("x-forwarded-host", "example.org")];
        assert_eq!(origin(&renamed), "https://example.org");
        assert_eq!(origin(&[("x-forwarded-proto", "javascript")]), "http://localhost");
    }

    #[test]
    fn names_lose_what_a_path_or_a_header_could_misunderstand() {
        assert_eq!(plain("../\"a b\".txt"), ".._.a_b_.txt".replace("_.a", "__a"));
        assert!(plain(&"x".repeat(1000)).len() == 100);
        assert!(matches!(format_of("a.HTML"), Ok(Format::Html)));
        assert!(format_of("a.exe").is_err() && format_of("").is_err());
    }
}
