//! The web page. Its files are compiled into the program.

use axum::http::header;
use axum::response::IntoResponse;

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// The files of the page: path, content type and text of each. They are the only paths without an
/// OpenAPI description.
pub(crate) const FILES: [(&str, &str, &str); 7] = [
    ("/", HTML, include_str!("../../page/index.html")),
    ("/page.js", SCRIPT, include_str!("../../page/page.js")),
    ("/page.css", CSS, include_str!("../../page/page.css")),
    ("/docs", HTML, include_str!("../../page/docs.html")),
    ("/docs.js", SCRIPT, include_str!("../../page/docs.js")),
    ("/attention.js", SCRIPT, burnformer_infer::view::PAGE_SCRIPT),
    ("/attention.css", CSS, burnformer_infer::view::PAGE_STYLE),
];

/// A file of the page with its content type. Browsers revalidate it each time, so that a new
/// version of the program shows at once.
pub(super) fn file<T: IntoResponse + Clone>(
    kind: &'static str,
    text: T,
) -> impl IntoResponse + Clone + use<T> {
    (
        [
            (header::CONTENT_TYPE, kind),
            (header::CACHE_CONTROL, "no-cache"),
        ],
        text,
    )
}

/// A page made for one request.
pub(crate) fn html(text: String) -> impl IntoResponse {
    file(HTML, text)
}
