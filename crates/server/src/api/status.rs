//! Health, readiness and metrics of the server.

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use serde::Serialize;
use utoipa::ToSchema;

use super::Shared;
use super::error::{ApiError, ErrorBody, Result};

/// The answer to `/health` and `/ready`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Status {
    /// `ok`.
    pub status: &'static str,
}

/// Answers as long as the process runs.
#[utoipa::path(get, path = "/health", tag = "status", responses((status = 200, body = Status)))]
pub(crate) async fn health() -> Json<Status> {
    Json(Status { status: "ok" })
}

/// Answers 200 while requests are accepted, 503 after a model could not be loaded.
///
/// There is always room for a new sender, however many requests wait.
#[utoipa::path(get, path = "/ready", tag = "status",
    responses((status = 200, body = Status), (status = 503, body = ErrorBody)))]
pub(crate) async fn ready(State(service): State<Shared>) -> Result<Json<Status>> {
    match service.models.failed() {
        Some(pair) => Err(ApiError::not_ready(pair)),
        None => Ok(health().await),
    }
}

/// Metrics for Prometheus.
#[utoipa::path(get, path = "/metrics", tag = "status",
    responses((status = 200, body = String, content_type = "application/openmetrics-text")))]
pub(crate) async fn metrics(State(service): State<Shared>) -> impl IntoResponse {
    let text = service
        .metrics
        .text(service.models.waiting(), service.models.loaded());
    (
        [(
            header::CONTENT_TYPE,
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
        )],
        text,
    )
}
