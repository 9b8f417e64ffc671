//! Documents sent and fetched as files.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use burnformer_documents::{BrokenOffice, Format, Office, OfficeKind};
use serde::Serialize;
use utoipa::ToSchema;

use super::body::{Content, MOST_FIELDS, open};
use super::error::{ApiError, ErrorBody, Refused};
use super::form::check_count;
use super::{Service, Shared, extensions};
use crate::compute::{LARGE, compute};
use crate::engine::Choice;
use crate::text::best;

/// The answer to `/translate_file`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FileResponse {
    /// The address from which the translated file can be fetched for ten minutes.
    pub translated_file_url: String,
}

/// A request to `/translate_file`, for the interface's description.
#[derive(ToSchema)]
#[allow(dead_code)]
pub(crate) struct FileRequest {
    /// A file whose name ends in .txt, .html, .htm, .md, .markdown, .srt, .vtt, .po, .pot, .docx,
    /// .pptx, .xlsx, .odt, .odp, .ods or .epub.
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
    responses((status = 200, body = FileResponse), Refused))]
pub(crate) async fn translate_file(
    State(service): State<Shared>,
    headers: HeaderMap,
    request: Request,
) -> Result<Json<FileResponse>, ApiError> {
    let (client, fields) = open(request, &service, MOST_FIELDS, FileFields::read).await?;
    let FileFields { name, format, text, source, target, office } = fields;
    let texts = vec![text];
    client.check_texts("file", 1, texts.iter().map(String::as_str))?;
    let pairs = client.sourced(&source, &target, &texts, format).await?.0;
    let choice = Choice { n_best: 1, ..Choice::default() };
    let text = best(client.translate(texts, &pairs, format, choice, Arc::default()).await?);
    let bytes = match office {
        None => text.concat().into(),
        Some(office) => {
            compute(&client.sender, LARGE, move |_| office.write(&text.concat())).await?
        }
    };
    let kept = client.files.put(&client.sender, &plain(&name), bytes);
    let key = kept.ok_or_else(ApiError::too_many)?;
    let (origin, prefix) = (origin(&headers), prefix(&client, &headers));
    let translated_file_url = format!("{origin}{prefix}/download_file/{key}");
    Ok(Json(FileResponse { translated_file_url }))
}

/// The address by which the client found the server: a proxy that ends TLS says so in
/// `X-Forwarded-Proto`. A value that is no host is ignored.
fn origin(headers: &HeaderMap) -> String {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let scheme = if text("x-forwarded-proto") == Some("https") { "https" } else { "http" };
    let host = |name| text(name).filter(|host| is_host(host));
    let host = host("x-forwarded-host").or(host("host")).unwrap_or("localhost");
    format!("{scheme}://{host}")
}

/// The beginning of every path as the client sees it: a proxy that adds one says so in
/// `X-Forwarded-Prefix`.
pub(crate) fn prefix<'a>(service: &'a Service, headers: &'a HeaderMap) -> &'a str {
    let told = headers.get("x-forwarded-prefix").and_then(|value| value.to_str().ok());
    let told = told.map(|text| text.trim_end_matches('/'));
    told.filter(|text| text.is_empty() || is_prefix(text)).unwrap_or(&service.prefix)
}

/// Returns whether `text` is the beginning of a path, and nothing that a URL could misunderstand.
pub(crate) fn is_prefix(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~/".contains(c);
    text.starts_with('/')
        && text.chars().all(is_plain)
        && !["//", ".."].iter().any(|s| text.contains(s))
}

/// Returns whether `text` is a host with or without a port, and nothing more.
fn is_host(text: &str) -> bool {
    let is_plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "-._~[]:".contains(c));
    is_plain && text.parse::<Authority>().is_ok_and(|authority| !authority.host().is_empty())
}

/// The file of a request, and from which language to which it is to be translated.
struct FileFields {
    name: String,
    format: Format,
    text: String,
    source: String,
    target: String,
    /// The document of which `text` is a page of HTML.
    office: Option<Office>,
}

impl FileFields {
    fn read(content: Content) -> Result<Self, ApiError> {
        let Content::Form(mut parts) = content else {
            return Err(ApiError::media_type("application/json"));
        };
        check_count(&parts, MOST_FIELDS)?;
        let mut take = |name: &str| {
            let index = parts.iter().rposition(|part| part.name == name);
            let part = index.map(|index| parts.swap_remove(index));
            part.filter(|part| name == "file" || !part.bytes.is_empty())
                .ok_or_else(|| ApiError::missing(name))
        };
        let [file, source, target] = ["file", "source", "target"].map(&mut take);
        let (file, source, target) = (file?, source?.text()?, target?.text()?);
        let name = file.file_name;
        if let Some(kind) = OfficeKind::from_extension(extension(&name)) {
            let refused =
                |error: BrokenOffice| ApiError::bad("file", error.to_string(), "a whole document");
            let office = Office::read(file.bytes.into(), kind).map_err(refused)?;
            let (text, format) = (office.html(), Format::Html);
            return Ok(Self { name, format, text, source, target, office: Some(office) });
        }
        let format = format_of(&name)?;
        let wrong = |_| ApiError::bad("file", "the file is not UTF-8", "convert it to UTF-8");
        let text = String::from_utf8(file.bytes.into()).map_err(wrong)?;
        Ok(Self { name, format, text, source, target, office: None })
    }
}

fn extension(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(_, extension)| extension)
}

fn format_of(name: &str) -> Result<Format, ApiError> {
    Format::from_extension(extension(name)).ok_or_else(|| {
        let error = format!("{name:?} is of no known format");
        let names = extensions().join(", ");
        ApiError::bad("file", error, format!("a name that ends in {names}"))
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
    let gone = "there is no such file, or its ten minutes are over";
    let bytes = service.files.get(&name);
    let bytes = bytes.ok_or_else(|| ApiError::new(StatusCode::NOT_FOUND, gone))?;
    let file = name.split_once('.').map_or("translation", |(_, file)| file);
    let disposition = HeaderValue::from_str(&format!("attachment; filename=\"{file}\""));
    let disposition = disposition.unwrap_or(HeaderValue::from_static("attachment"));
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream")),
        (header::CONTENT_DISPOSITION, disposition),
    ];
    Ok((headers, bytes).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let ipv6 = [("host", "[::1]:5000")];
        assert_eq!(origin(&ipv6), "http://[::1]:5000");
        for host in ["a@b", "a/b", "a b", "a?b", "a\"b", "a<b", "", ":80"] {
            let wrong = [("host", "a:1"), ("x-forwarded-host", host)];
            assert_eq!(origin(&wrong), "http://a:1", "{host}");
        }
    }

    #[test]
    fn names_lose_what_a_path_or_a_header_could_misunderstand() {
        assert_eq!(plain("../\"a b\".txt"), ".._.a_b_.txt".replace("_.a", "__a"));
        assert!(plain(&"x".repeat(1000)).len() == 100);
        assert!(matches!(format_of("a.HTML"), Ok(Format::Html)));
        assert!(format_of("a.exe").is_err() && format_of("").is_err());
    }
}
