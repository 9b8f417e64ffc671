//! Error responses.

use std::time::Duration;

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::{IntoResponses, ToSchema};

use crate::compute::WorkPanicked;
use crate::engine::EngineError;
use crate::language::LanguagePair;
use crate::queue::QueueError;

/// The value of `Retry-After` in seconds. Senders take turns, so the wait is short however many
/// there are.
const LATER: u64 = 5;

/// The body of every error response.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct ErrorBody {
    /// The problem, in a sentence.
    pub error: String,
    /// The field of the request that caused the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The remedy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// The error responses of a path with a request body, for the OpenAPI document.
#[derive(IntoResponses)]
#[allow(dead_code)]
pub(crate) enum Errors {
    /// The body cannot be read, or a field has a wrong value.
    #[response(status = 400)]
    Wrong(ErrorBody),
    /// The API key is missing or wrong.
    #[response(status = 403)]
    Key(ErrorBody),
    /// The body is too large.
    #[response(status = 413)]
    TooLarge(ErrorBody),
    /// The content type is not supported.
    #[response(status = 415)]
    MediaType(ErrorBody),
    /// The server is busy. `Retry-After` says when to try again.
    #[response(status = 503)]
    Busy(ErrorBody),
}

/// A result with [`ApiError`] as the default error.
pub(crate) type Result<T, E = ApiError> = std::result::Result<T, E>;

/// An error that is sent to the client.
#[derive(Clone, Debug)]
pub(crate) struct ApiError {
    status: StatusCode,
    body: ErrorBody,
}

impl ApiError {
    /// Creates an error with this `status`.
    pub fn new(status: StatusCode, error: impl Into<String>) -> Self {
        let body = ErrorBody {
            error: error.into(),
            field: None,
            remedy: None,
        };
        Self { status, body }
    }

    pub fn field(mut self, field: &str) -> Self {
        self.body.field = Some(field.into());
        self
    }

    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.body.remedy = Some(remedy.into());
        self
    }

    /// 400: `field` has a wrong value.
    pub fn bad(field: &str, error: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error)
            .field(field)
            .remedy(remedy)
    }

    /// 400: the body cannot be read.
    pub fn body(error: impl Into<String>, remedy: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error).remedy(remedy)
    }

    /// 400: the request needs `field`. The sentence is LibreTranslate's.
    pub fn missing(field: &str) -> Self {
        let error = format!("Invalid request: missing {field} parameter");
        Self::bad(
            field,
            error,
            "send it in JSON or a form, as /openapi.json describes",
        )
    }

    /// 403: the API key is missing or wrong.
    pub fn key() -> Self {
        let remedy = "send a valid key as api_key, or as Authorization: Bearer KEY";
        Self::new(StatusCode::FORBIDDEN, "Invalid API key")
            .field("api_key")
            .remedy(remedy)
    }

    /// 408: the body did not arrive in time.
    pub fn too_late(limit: Duration) -> Self {
        let error = format!(
            "the body did not arrive completely within {} s",
            limit.as_secs()
        );
        Self::new(StatusCode::REQUEST_TIMEOUT, error).remedy("send it faster, or less at a time")
    }

    /// 414: the path has too many characters.
    pub fn long_path(length: usize, max: usize) -> Self {
        let error = format!("the path has {length} characters, more than the {max} allowed");
        Self::new(StatusCode::URI_TOO_LONG, error).remedy("send a shorter one")
    }

    /// 413.
    pub fn too_large(field: &str, error: &str) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, error)
            .field(field)
            .remedy("send less at a time")
    }

    /// 415.
    pub fn media_type(found: &str) -> Self {
        let error = format!("the content type {found:?} is not understood");
        let remedy = "multipart/form-data, application/x-www-form-urlencoded or, but for files, application/json";
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, error).remedy(remedy)
    }

    /// 415: the body is compressed.
    pub fn content_encoding(found: &str) -> Self {
        let error = format!("bodies compressed by {found:?} are not read");
        let remedy = "send the body as it is, without Content-Encoding";
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, error).remedy(remedy)
    }

    /// The body of the response.
    pub fn into_body(self) -> ErrorBody {
        self.body
    }

    /// The problem, in a sentence.
    pub fn sentence(self) -> String {
        self.body.error
    }

    /// 503: try again after a while.
    fn busy(error: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, error)
    }

    /// 503: the server is up, but the model for `pair` cannot be loaded.
    pub fn not_ready(pair: &LanguagePair) -> Self {
        Self {
            status: StatusCode::SERVICE_UNAVAILABLE,
            ..Self::not_loaded(pair)
        }
    }

    /// 503: every connection has an unanswered request.
    pub fn too_many() -> Self {
        Self::busy("too many requests at the same time")
            .remedy("try again when the server is less busy")
    }

    /// 503: the translation takes too long.
    pub fn too_slow(limit: Duration) -> Self {
        let error = format!("the translation takes longer than {} s", limit.as_secs());
        Self::busy(error).remedy("send less at a time, or try again when the server is less busy")
    }

    /// 500: the model cannot be loaded. The log has the cause.
    pub fn not_loaded(pair: &LanguagePair) -> Self {
        let error =
            format!("the model for {pair} cannot be loaded; the log of the server says why");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, error)
    }

    /// 500: a defect of the server or its model.
    pub fn failed(error: impl Into<String>) -> Self {
        let error = error.into();
        tracing::error!(error, "request failed");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, error)
    }
}

impl From<WorkPanicked> for ApiError {
    fn from(_: WorkPanicked) -> Self {
        Self::failed("internal error; please report it")
    }
}

impl From<QueueError> for ApiError {
    fn from(error: QueueError) -> Self {
        let message = error.to_string();
        match error {
            QueueError::Full | QueueError::Stopped => Self::busy(message),
            QueueError::Engine(EngineError::Request(_)) => {
                Self::new(StatusCode::BAD_REQUEST, message)
            }
            QueueError::Engine(EngineError::Failed(_)) => Self::failed(message),
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.body.clone())).into_response();
        response.extensions_mut().insert(self.body);
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            response
                .headers_mut()
                .insert(header::RETRY_AFTER, LATER.into());
        }
        response
    }
}
