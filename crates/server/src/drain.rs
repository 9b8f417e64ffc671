//! Reading what is left of a request that is refused.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::Response;
use http_body::{Frame, SizeHint};

use crate::queue::locked;

/// The most bytes that are read for a client whose request was refused already, and the longest time.
const MOST: usize = 64 << 20;
const LONGEST: Duration = Duration::from_secs(5);

/// Reads the rest of the body of a request that is refused before it was read. Many clients send all of a body before
/// they look at the answer: if the connection were closed at once, they would see a broken connection in its place.
pub(crate) async fn drain(request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let body = SharedBody(Arc::new(Mutex::new(body)));
    let rest = body.clone();
    let response = next.run(Request::from_parts(parts, Body::new(body))).await;
    let refused =
        response.status().is_client_error() || response.status() == StatusCode::SERVICE_UNAVAILABLE;
    if refused {
        // What is not read in time is left, and the connection closed.
        let _ = tokio::time::timeout(LONGEST, rest.read_to_end()).await;
    }
    response
}

/// A body of which two know; one of them reads it at a time.
#[derive(Clone)]
struct SharedBody(Arc<Mutex<Body>>);

impl SharedBody {
    async fn read_to_end(mut self) {
        let mut read = 0;
        while let Some(Ok(frame)) = poll_fn(|cx| Pin::new(&mut self).poll_frame(cx)).await {
            read += frame.data_ref().map_or(0, Bytes::len);
            if read > MOST {
                return;
            }
        }
    }
}

impl HttpBody for SharedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut *locked(&self.0)).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        locked(&self.0).is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        locked(&self.0).size_hint()
    }
}
