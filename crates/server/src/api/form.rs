//! The parts of forms.

use std::collections::BTreeSet;

use axum::body::{Body, Bytes};
use axum::extract::multipart::{Multipart, MultipartError};
use axum::extract::{FromRequest, Request};
use axum::http::request;
use futures_util::FutureExt;
use percent_encoding::percent_decode;

use super::error::{ApiError, Result};

/// Reads the fields of the query of `head`, and the fields that it lacks from the form in `bytes`
/// with the content type `kind`. If there are many more than `most` fields, the first ones are
/// read.
///
/// # Errors
/// Returns an error if the body is not a form.
pub(super) fn read(
    head: &request::Parts,
    kind: &str,
    bytes: Bytes,
    most: usize,
) -> Result<Vec<Part>> {
    let query = urlencoded(head.uri.query().unwrap_or_default().as_bytes());
    let query: Vec<Part> = query.take(most + 1).collect();
    let mut parts = match kind {
        "multipart/form-data" => {
            let parts = multipart(head, bytes, most).now_or_never();
            parts.unwrap_or_else(|| Err(unread(())))?
        }
        "application/x-www-form-urlencoded" => urlencoded(&bytes).take(most + 1).collect(),
        _ if bytes.is_empty() => Vec::new(),
        kind => return Err(ApiError::media_type(kind)),
    };
    let names: BTreeSet<&str> = query.iter().map(|part| part.name.as_str()).collect();
    parts.retain(|part| !names.contains(&*part.name));
    parts.extend(query);
    Ok(parts)
}

/// Returns an error if there are more than `most` parts.
pub(super) fn check_count(parts: &[Part], most: usize) -> Result<()> {
    parts.get(most).map_or(Ok(()), |part| {
        let message = format!("more than the {most} fields allowed");
        Err(ApiError::bad(&part.name, message, "send less at a time"))
    })
}

/// A field of a form or of a query.
#[derive(Clone, Default)]
pub(super) struct Part {
    pub name: String,
    pub file_name: String,
    pub bytes: Bytes,
}

impl Part {
    /// The text of the part.
    ///
    /// # Errors
    /// Returns an error if the part is not UTF-8.
    pub fn text(self) -> Result<String> {
        String::from_utf8(self.bytes.into()).map_err(|_| {
            let field: String = self.name.chars().take(40).collect();
            let remedy = "encode its text as UTF-8, and its bytes by %, such as %C3%A4 for ä";
            ApiError::bad(&field, format!("the field {field:?} is not UTF-8"), remedy)
        })
    }
}

/// The first parts of a multipart form, at most one more than `most`.
async fn multipart(head: &request::Parts, bytes: Bytes, most: usize) -> Result<Vec<Part>> {
    let mut request = Request::new(Body::from(bytes));
    *request.headers_mut() = head.headers.clone();
    let parts = Multipart::from_request(request, &()).await;
    let mut parts =
        parts.map_err(|_| ApiError::media_type("multipart/form-data without its boundary"))?;
    let mut all = Vec::new();
    while let Some(part) = parts
        .next_field()
        .await
        .map_err(|error| broken(&error))?
        .filter(|_| all.len() <= most)
    {
        let names = [part.name(), part.file_name()];
        let [name, file_name] = names.map(|name| name.unwrap_or_default().to_owned());
        all.push(Part {
            name,
            file_name,
            bytes: part.bytes().await.map_err(|error| broken(&error))?,
        });
    }
    Ok(all)
}

fn broken(error: &MultipartError) -> ApiError {
    ApiError::body(error.body_text(), "send the form whole")
}

/// The fields of a form of `application/x-www-form-urlencoded`.
pub(super) fn urlencoded(text: &[u8]) -> impl Iterator<Item = Part> {
    text.split(|&byte| byte == b'&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let mut sides = pair.splitn(2, |&byte| byte == b'=').map(|side| {
                let spaced: Vec<u8> = side
                    .iter()
                    .map(|&c| if c == b'+' { b' ' } else { c })
                    .collect();
                percent_decode(&spaced).collect::<Vec<u8>>()
            });
            let [name, value] = [(); 2].map(|()| sides.next().unwrap_or_default());
            let name = String::from_utf8_lossy(&name).into_owned();
            Part {
                name,
                bytes: value.into(),
                ..Part::default()
            }
        })
}

/// The error for a body that ends early.
pub(super) fn unread<E>(_: E) -> ApiError {
    ApiError::body("the body cannot be read", "send it whole")
}
