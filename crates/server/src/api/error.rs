//! Errors as a client sees them.

use std::time::Duration;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use crate::compute::Panicked;
use crate::engine::EngineError;
use crate::models::LanguagePair;
use crate::queue::QueueError;

/// What every answer that is no success holds.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct ErrorBody {
    /// What is wrong, in a sentence.
    pub error: String,
    /// The field of the request that is at fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// What would be right.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// Why a request is not answered by a success.
#[derive(Clone, Debug)]
pub(crate) struct ApiError {
    status: StatusCode,
    body: ErrorBody,
    retry: Option<Duration>,
}

impl ApiError {
    fn new(
        status: StatusCode,
        error: String,
        field: Option<String>,
        remedy: Option<String>,
    ) -> Self {
        Self { status, body: ErrorBody { error, field, remedy }, retry: None }
    }

    /// 400: `field` has a wrong value.
    pub fn bad(field: &str, error: String, remedy: String) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error, Some(field.into()), Some(remedy))
    }

    /// 400: the body cannot be read.
    pub fn body(error: String, remedy: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error, None, Some(remedy.into()))
    }

    /// 403: no key, or a wrong one.
    pub fn key() -> Self {
        let remedy = "send a valid key as api_key, or as Authorization: Bearer KEY";
        let error = "Invalid API key".to_owned();
        Self::new(StatusCode::FORBIDDEN, error, Some("api_key".into()), Some(remedy.into()))
    }

    /// 403: what this server does not do.
    pub fn disabled(error: &str) -> Self {
        Self::new(StatusCode::FORBIDDEN, error.into(), None, None)
    }

    /// 404.
    pub fn not_found(error: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, error.into(), None, None)
    }

    /// 405.
    pub fn method() -> Self {
        let error = "this path does not take this method".into();
        Self::new(StatusCode::METHOD_NOT_ALLOWED, error, None, None)
    }

    /// 408: the body did not come in time.
    pub fn too_late(limit: Duration) -> Self {
        let error = format!("the body did not come whole within {} s", limit.as_secs());
        let remedy = Some("send it faster, or less at a time".to_owned());
        Self::new(StatusCode::REQUEST_TIMEOUT, error, None, remedy)
    }

    /// 413.
    pub fn too_large(field: &str, error: String) -> Self {
        let remedy = "send less at a time".to_owned();
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, error, Some(field.into()), Some(remedy))
    }

    /// 415.
    pub fn media_type(found: &str) -> Self {
        let error = format!("the content type {found:?} is not understood");
        let remedy = "application/json or application/x-www-form-urlencoded".to_owned();
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, error, None, Some(remedy))
    }

    /// 503: the server is up, but the model for `pair` cannot be loaded.
    pub fn not_ready(pair: &LanguagePair) -> Self {
        Self { status: StatusCode::SERVICE_UNAVAILABLE, ..Self::not_loaded(pair) }
    }

    /// 503: every connection has a request that is not answered.
    pub fn too_many() -> Self {
        let error = "too many requests at the same time".into();
        let remedy = Some("try again when fewer ask".to_owned());
        Self {
            retry: Some(Duration::from_secs(10)),
            ..Self::new(StatusCode::SERVICE_UNAVAILABLE, error, None, remedy)
        }
    }

    /// 503: too slow.
    pub fn too_slow(limit: Duration) -> Self {
        let error = format!("the translation takes longer than {} s", limit.as_secs());
        let remedy = Some("send less at a time, or try again when fewer ask".to_owned());
        Self {
            retry: Some(Duration::from_secs(10)),
            ..Self::new(StatusCode::SERVICE_UNAVAILABLE, error, None, remedy)
        }
    }

    /// 500: the model cannot be loaded, which the log explains.
    pub fn not_loaded(pair: &LanguagePair) -> Self {
        let error =
            format!("the model for {pair} cannot be loaded; the log of the server says why");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, error, None, None)
    }

    /// 500: a defect of the server or its model.
    pub fn failed(error: String) -> Self {
        tracing::error!(error, "request failed");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, error, None, None)
    }
}

impl From<Panicked> for ApiError {
    fn from(_: Panicked) -> Self {
        Self::failed("the server failed on this request; this is a defect".into())
    }
}

impl From<QueueError> for ApiError {
    fn from(error: QueueError) -> Self {
        let message = error.to_string();
        match error {
            QueueError::Full { retry, .. } => Self {
                retry: Some(retry),
                ..Self::new(StatusCode::SERVICE_UNAVAILABLE, message, None, None)
            },
            QueueError::Stopped | QueueError::Unloaded => Self {
                retry: Some(Duration::from_secs(1)),
                ..Self::new(StatusCode::SERVICE_UNAVAILABLE, message, None, None)
            },
            QueueError::Engine(EngineError::Request(message)) => {
                Self::new(StatusCode::BAD_REQUEST, message, None, None)
            }
            QueueError::Engine(EngineError::Failed(message)) => Self::failed(message),
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.body)).into_response();
        if let Some(retry) = self.retry {
            response
                .headers_mut()
                .insert(header::RETRY_AFTER, HeaderValue::from(retry.as_secs().max(1)));
        }
        response
    }
}
