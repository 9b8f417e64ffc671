//! The web page. Its files are part of the program.

use axum::http::{HeaderValue, header};
use axum::response::IntoResponse;

/// A file of the page with its type. Browsers ask again each time, so that a new version of the program shows at once.
fn file(kind: &'static str, text: impl IntoResponse) -> impl IntoResponse {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    (headers, text)
}

/// A page made for one request.
pub(crate) fn html(text: String) -> impl IntoResponse {
    file("text/html; charset=utf-8", text)
}

pub(crate) async fn index() -> impl IntoResponse {
    file("text/html; charset=utf-8", include_str!("../../page/index.html"))
}

pub(crate) async fn script() -> impl IntoResponse {
    file("text/javascript; charset=utf-8", include_str!("../../page/page.js"))
}

pub(crate) async fn style() -> impl IntoResponse {
    file("text/css; charset=utf-8", include_str!("../../page/page.css"))
}

pub(crate) async fn docs() -> impl IntoResponse {
    file("text/html; charset=utf-8", include_str!("../../page/docs.html"))
}

pub(crate) async fn docs_script() -> impl IntoResponse {
    file("text/javascript; charset=utf-8", include_str!("../../page/docs.js"))
}

pub(crate) async fn attention_script() -> impl IntoResponse {
    file("text/javascript; charset=utf-8", burnformer_view::PAGE_SCRIPT)
}

pub(crate) async fn attention_style() -> impl IntoResponse {
    file("text/css; charset=utf-8", burnformer_view::PAGE_STYLE)
}
