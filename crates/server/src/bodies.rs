//! Request bodies, read completely before they are parsed, and the bodies of large answers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::{Body, BodyDataStream, HttpBody as _};
use axum::extract::{Request, State};
use axum::http::header;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use tokio::time::timeout;

use crate::api::Shared;
use crate::api::body::key_of_head;
use crate::api::error::{ApiError, Result};
use crate::api::limits::MAX_PATH;
use crate::connections::{Connection, Waiting};
use crate::sender::{Budget, Permit, Sender, client};

/// Paths that are answered at once, by the connection thread.
const STATE: [&str; 2] = ["/health", "/ready"];
/// A path that, like [`STATE`], is answered however many requests there are.
const METRICS: &str = "/metrics";
/// The maximum number of bytes to read from a client after its request was refused as too large.
/// Many clients send the whole body before they read the answer. If the connection were closed at
/// once, they would report a broken connection instead of the answer.
const MAX_DISCARDED: usize = 64 << 20;
/// The maximum time for reading these bytes.
const MAX_DISCARD_TIME: Duration = Duration::from_secs(5);
/// The maximum size in bytes of all bodies held at once, from their first byte to the answer.
const ALL_BODIES: usize = 128 << 20;
/// The first bytes of each body that always have room.
const SMALL_BODY: usize = 16 << 10;
/// A client makes progress when it has sent this many more bytes of its body, or a sixteenth of it.
/// A client that sends little therefore cannot hold much room.
const PROGRESS: usize = 1 << 10;
/// How long a body may wait for room, and how long it may keep its room without progress when less
/// than half is left.
const MAX_STALL: Duration = Duration::from_secs(2);

/// Returns the budget for the bodies of all requests, each of up to `most` bytes, and for large
/// answers.
pub(crate) fn budget(most: usize) -> Arc<Budget> {
    Budget::new(most.saturating_mul(4).max(ALL_BODIES))
}

/// Reads the body of a request, then answers it. Requests for the state of the server are answered
/// at once.
pub(crate) async fn read(State(service): State<Shared>, request: Request, next: Next) -> Response {
    if STATE.contains(&request.uri().path()) {
        return next.run(request).await;
    }
    let connection = request.extensions().get::<Connection>().cloned();
    let connection = connection.expect("a connection, which is told with every request");
    connection
        .elsewhere(whole_request(service, connection.clone(), request, next))
        .await
}

/// Reads the body of a request before anything else sees it, within the limits on size and time. It
/// counts for the sender as far as the head identifies it.
async fn whole_request(
    service: Shared,
    connection: Connection,
    request: Request,
    next: Next,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let limits = service.limits;
    let length = parts.uri.path().len();
    if length > MAX_PATH {
        discard(body.into_data_stream()).await;
        return ApiError::long_path(length, MAX_PATH).into_response();
    }
    let address = client(connection.peer, &parts.headers, &service.proxies);
    let sender = match Sender::of(address, key_of_head(&parts), &service.keys) {
        None if !body.is_end_stream() => {
            discard(body.into_data_stream()).await;
            return ApiError::key().into_response();
        }
        known => known.unwrap_or(Sender::Address(address)),
    };
    let permit = service.bodies.permit(&sender);
    let whole = whole(body, limits.body, permit, || {
        connection.waits(Waiting::for_client(true))
    });
    let (body, permit) = match timeout(limits.time, whole).await {
        Ok(Ok(whole)) => whole,
        Ok(Err(error)) => return error.into_response(),
        Err(_) => return ApiError::too_late(limits.time).into_response(),
    };
    let mut turn = service.requests.permit(&sender);
    if parts.uri.path() != METRICS && !turn.grow(1) {
        tracing::warn!("too many requests at the same time: refused one");
        return ApiError::too_many().into_response();
    }
    connection.waits(Waiting::ForServer);
    parts.extensions.insert(sender.clone());
    let response = next.run(Request::from_parts(parts, Body::from(body))).await;
    drop((permit, turn));
    connection.waits(Waiting::for_client(false));
    kept(response, service.bodies.permit(&sender))
}

/// Returns `response` with a `permit` for its bytes that is held until the client has read them,
/// since the client may be slow.
fn kept(mut response: Response, mut permit: Permit) -> Response {
    let size = response.body().size_hint().lower() as usize;
    if size <= SMALL_BODY {
        return response;
    } else if !permit.grow(size) {
        return ApiError::too_many().into_response();
    }
    response
        .headers_mut()
        .insert(header::CONTENT_LENGTH, size.into());
    response.map(|body| {
        Body::from_stream(body.into_data_stream().map(move |part| {
            let _ = &permit;
            part
        }))
    })
}

/// Returns all bytes of `body`, and the `permit` for the bytes beyond [`SMALL_BODY`]. Calls
/// `progress` while the bytes arrive.
///
/// # Errors
/// Returns an error if there are more than `most` bytes, if they do not arrive, or if there is no
/// room for them.
async fn whole(
    body: Body,
    most: usize,
    mut permit: Permit,
    progress: impl Fn(),
) -> Result<(Vec<u8>, Permit)> {
    if body.size_hint().lower() > (most + MAX_DISCARDED) as u64 {
        return Err(ApiError::too_large("body", "the body is too large"));
    }
    let mut stream = body.into_data_stream();
    let mut bytes = Vec::new();
    let mut noted = 0;
    let mut at = Instant::now();
    loop {
        let chunk = match timeout(MAX_STALL, stream.next()).await {
            Ok(Some(chunk)) => {
                chunk.map_err(|_| ApiError::body("the body cannot be read", "send it whole"))?
            }
            Ok(None) => return Ok((bytes, permit)),
            Err(_) => Default::default(),
        };
        if bytes.len() + chunk.len() > most {
            discard(stream).await;
            return Err(ApiError::too_large("body", "the body is too large"));
        }
        bytes.extend_from_slice(&chunk);
        if bytes.len() >= noted + PROGRESS.max(noted / 16) || noted == 0 && !bytes.is_empty() {
            progress();
            (noted, at) = (bytes.len(), Instant::now());
        }
        let more = bytes.len().saturating_sub(SMALL_BODY + permit.amount);
        if timeout(MAX_STALL, permit.wait(more)).await.is_err() {
            return Err(ApiError::too_many());
        }
        if permit.amount > 0 && permit.is_short() && at.elapsed() > MAX_STALL {
            return Err(ApiError::too_late(MAX_STALL));
        }
    }
}

/// Reads and drops the rest of a refused body, within [`MAX_DISCARDED`] and [`MAX_DISCARD_TIME`].
async fn discard(mut stream: BodyDataStream) {
    let mut discarded = 0;
    let discard = async {
        while let Some(Ok(chunk)) = stream.next().await {
            discarded += chunk.len();
            if discarded > MAX_DISCARDED {
                return;
            }
        }
    };
    let _ = timeout(MAX_DISCARD_TIME, discard).await;
}

#[cfg(test)]
mod tests {
    use futures_util::stream;
    use tokio::time::sleep;

    use super::*;

    /// A body that sends its first bytes at once, then `step` bytes every half second.
    fn slow(first: usize, step: usize) -> Body {
        Body::from_stream(stream::unfold(0, move |number: usize| async move {
            if number > 0 {
                sleep(Duration::from_millis(500)).await;
            }
            let part = vec![b'a'; if number == 0 { first } else { step }];
            (number < 12).then_some((Ok::<_, std::io::Error>(part), number + 1))
        }))
    }

    async fn has_come(sender: &str, body: Body, budget: &Arc<Budget>) -> bool {
        let sender = Sender::Key(sender.into());
        whole(body, 1 << 20, budget.permit(&sender), || ())
            .await
            .is_ok()
    }

    #[tokio::test]
    async fn a_body_keeps_its_room_by_proportional_progress() {
        let large = Budget::new(1 << 20);
        let short = Budget::new(180 << 10);
        let mut others = short.permit(&Sender::Key("two".into()));
        assert!(others.grow(40 << 10));
        let all = tokio::join!(
            has_come("one", slow(100 << 10, 1 << 10), &large),
            has_come("one", slow(100 << 10, 1 << 10), &short),
            has_come("three", slow(20 << 10, 1 << 10), &short),
        );
        assert_eq!(all, (true, false, true));
    }

    #[tokio::test]
    async fn a_large_answer_holds_room_until_it_is_read() {
        let budget = Budget::new(100_000);
        let permit = || budget.permit(&Sender::Key("one".into()));
        let answer = || "a".repeat(40_000).into_response();
        let first = kept(answer(), permit());
        assert_eq!(first.headers()[header::CONTENT_LENGTH], "40000");
        assert_eq!(kept(answer(), permit()).status(), 503);
        assert_eq!(kept("small".into_response(), permit()).status(), 200);
        drop(first);
        assert_eq!(kept(answer(), permit()).status(), 200);
    }
}
