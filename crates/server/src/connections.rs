//! Connections, none of which may hold up the others or the end of the server, however slow its
//! client is.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, BodyDataStream, HttpBody as _};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};
use tokio_io_timeout::TimeoutStream;

use crate::api::error::ApiError;
use crate::api::{Shared, bearer};
use crate::lock::locked;

/// The most connections at the same time, if the system allows so many.
const MOST: usize = 1024;
/// Connections beyond these, which get the state of the server, or are told to come again later.
const SPARE: usize = 8;
/// Paths that are answered however many requests there are.
const LIGHT: [&str; 3] = ["/health", "/ready", "/metrics"];
/// The file descriptors that are left to everything else, such as loading models.
const RESERVED: u64 = 24;
/// How long a server that is stopped waits for requests that have not come whole, and for clients
/// that read slowly.
const BRIEF: Duration = Duration::from_secs(3);
/// The most bytes that are read for a client whose request is too large, and the longest time. Many
/// clients send all of a body before they look at the answer: if the connection were closed at
/// once, they would see a broken one in its place.
const MOST_DISCARDED: usize = 64 << 20;
const LONGEST_DISCARDED: Duration = Duration::from_secs(5);
/// How long a connection may be without a whole request before it can be closed for another one, so
/// that a request on its way arrives however many clients connect at once.
const GRACE: Duration = Duration::from_millis(100);
/// The same after a part of a body has come, as long as no more than half of the connections are
/// so.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The bytes of all bodies that are held together, from their first byte to the answer.
const ALL_BODIES: usize = 128 << 20;
/// The first bytes of each body, which always have room.
const SMALL_BODY: usize = 16 << 10;
/// So many more bytes of a body are progress of its client.
const PROGRESS: usize = 1 << 10;
/// How long a body may wait for room, and how long it may keep its room without progress when
/// little is left.
const LONGEST_STALL: Duration = Duration::from_secs(2);

/// Room for the bodies of all requests, in units of [`PROGRESS`] bytes, if each has up to `most`
/// bytes.
pub(crate) fn room(most: usize) -> Arc<Semaphore> {
    let units = most.saturating_mul(4).max(ALL_BODIES) / PROGRESS;
    Arc::new(Semaphore::new(units.min(Semaphore::MAX_PERMITS)))
}

/// What the handlers of a request are told of its connection.
#[derive(Clone)]
pub(crate) struct Connection {
    /// The address of the client, or of the proxy before it.
    pub peer: IpAddr,
    waiting: Waiting,
    /// Turns for requests that have come whole, of all connections.
    turns: Arc<Semaphore>,
}

/// Since when the server has waited for the client of a connection, to send more of a request or to
/// read an answer, and whether a part of a body has come. `None` while the client waits for the
/// server.
type Waiting = Arc<Mutex<Option<(Instant, bool)>>>;

/// A connection as the server sees it.
struct Open {
    peer: IpAddr,
    waiting: Waiting,
    task: AbortHandle,
}

impl Open {
    /// Whether the server waits for the client.
    fn is_idle(&self) -> bool {
        locked(&self.waiting).is_some() && !self.task.is_finished()
    }
}

/// The times that connections have.
#[derive(Clone, Copy)]
pub(crate) struct Times {
    /// For the head of a request, and without any progress in writing an answer.
    pub idle: Duration,
    /// For all answers after the server is stopped.
    pub drain: Duration,
}

/// Answers requests by `router` until `stop` is done, and those that have come until then.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    times: Times,
    stop: impl Future<Output = ()>,
) {
    let service = TowerToHyperService::new(router);
    let (closing, closed) = watch::channel(false);
    let (mut tasks, mut open, most) = (JoinSet::new(), Vec::<Open>::new(), most());
    let turns = Arc::new(Semaphore::new(most));
    let most = most + SPARE;
    let mut stop = pin!(stop);
    loop {
        open.retain(|open| !open.task.is_finished());
        let full = open.len() >= most && slowest(&open).is_none();
        let accepted = tokio::select! {
            () = &mut stop => break,
            Some(_) = tasks.join_next() => continue,
            () = sleep(Duration::from_millis(100)), if full => continue,
            accepted = listener.accept(), if !full => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                if open.len() >= most {
                    close_one(&mut open);
                }
                let waiting = Waiting::new(Some((Instant::now(), false)).into());
                let connection =
                    Connection { peer: peer.ip(), waiting: waiting.clone(), turns: turns.clone() };
                let answer =
                    answer(stream, service.clone(), connection, times.idle, closed.clone());
                open.push(Open { peer: peer.ip(), waiting, task: tasks.spawn(answer) });
            }
            Err(error) => {
                tracing::warn!(%error, "a connection cannot be accepted");
                close_one(&mut open);
                sleep(Duration::from_millis(10)).await;
            }
        }
    }
    drop(listener);
    tracing::info!("stopping: no new connection is taken");
    // Nobody listens any more if there is no connection.
    let _ = closing.send(true);
    end(tasks, open, times.drain).await;
}

/// Waits until all is answered, but not for ever, and says what is cut off.
async fn end(mut tasks: JoinSet<()>, open: Vec<Open>, longest: Duration) {
    let brief = BRIEF.min(longest);
    if timeout(brief, async { while tasks.join_next().await.is_some() {} }).await.is_ok() {
        return;
    }
    let slow: Vec<&Open> = open.iter().filter(|open| open.is_idle()).collect();
    if !slow.is_empty() {
        let connections = slow.len();
        tracing::warn!(connections, "cut off: their clients send or read too slowly");
        slow.iter().for_each(|open| open.task.abort());
    }
    let rest = longest.saturating_sub(brief);
    if timeout(rest, async { while tasks.join_next().await.is_some() {} }).await.is_err() {
        let (requests, seconds) = (tasks.len(), longest.as_secs_f64());
        tracing::warn!(requests, seconds, "cut off: requests that were not answered in time");
        tasks.shutdown().await;
    }
}

/// The most connections that the system allows beside other files.
fn most() -> usize {
    #[cfg(unix)]
    if let Some(files) = rustix::process::getrlimit(rustix::process::Resource::Nofile).current {
        let connections = files.saturating_sub(RESERVED + SPARE as u64).max(8);
        return MOST.min(connections.try_into().unwrap_or(MOST));
    }
    MOST
}

/// The place of the connection without progress for longest, of those from the address with the
/// most connections, if that is longer than its grace.
fn slowest(open: &[Open]) -> Option<usize> {
    let mut sizes = HashMap::<IpAddr, usize>::new();
    open.iter().for_each(|open| *sizes.entry(open.peer).or_default() += 1);
    let sends = |open: &&Open| locked(&open.waiting).is_some_and(|(_, sends)| sends);
    let are_few = 2 * open.iter().filter(sends).count() <= open.len();
    let since = |(place, open): (usize, &Open)| {
        let (since, sends) = (*locked(&open.waiting))?;
        let grace = if sends && are_few { LONGEST_PAUSE } else { GRACE };
        (since.elapsed() >= grace).then_some((Reverse(sizes[&open.peer]), since, place))
    };
    open.iter().enumerate().filter_map(since).min().map(|(.., place)| place)
}

/// Closes the slowest connection.
fn close_one(open: &mut Vec<Open>) {
    if let Some(place) = slowest(open) {
        tracing::warn!("too many connections: closed the one that has waited for longest");
        open.remove(place).task.abort();
    }
}

/// Answers the requests of one connection.
async fn answer(
    stream: TcpStream,
    service: TowerToHyperService<Router>,
    connection: Connection,
    idle: Duration,
    mut closed: watch::Receiver<bool>,
) {
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(idle));
    let respond = |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(connection.clone());
        service.call(request)
    };
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(idle);
    let http = http.serve_connection(TokioIo::new(Box::pin(stream)), service_fn(respond));
    let mut http = pin!(http);
    tokio::select! {
        // The client has gone, or was too slow: nobody needs to know.
        _ = http.as_mut() => return,
        _ = closed.changed() => http.as_mut().graceful_shutdown(),
    }
    let _ = http.await;
}

/// Reads the body of a request before anything else sees it, within the limits on its size and
/// time.
pub(crate) async fn read(State(service): State<Shared>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let limits = service.limits;
    let is_wrong = |key: &str| !service.keys.allow(Some(key));
    if !body.is_end_stream() && bearer(&parts.headers).is_some_and(is_wrong) {
        discard(body.into_data_stream()).await;
        return ApiError::key().into_response();
    }
    let connection = parts.extensions.get::<Connection>().cloned();
    let set = |since| connection.iter().for_each(|connection| *locked(&connection.waiting) = since);
    let whole = whole(body, limits.body, &service.bodies, || set(Some((Instant::now(), true))));
    let (body, _room) = match timeout(limits.time, whole).await {
        Ok(Ok(whole)) => whole,
        Ok(Err(error)) => return error.into_response(),
        Err(_) => return ApiError::too_late(limits.time).into_response(),
    };
    let busy = connection.as_ref().filter(|_| !LIGHT.contains(&parts.uri.path()));
    let turn = busy.map(|connection| connection.turns.try_acquire());
    if let Some(Err(_)) = turn {
        tracing::warn!("too many requests at the same time: refused one");
        return ApiError::too_many().into_response();
    }
    set(None);
    let response = next.run(Request::from_parts(parts, Body::from(body))).await;
    set(Some((Instant::now(), false)));
    response
}

/// All bytes of `body`, and the `room` that they take beyond the first few. It calls `progress`
/// while they come.
///
/// # Errors
/// If they are more than `most`, do not come, or have no room.
async fn whole(
    body: Body,
    most: usize,
    room: &Arc<Semaphore>,
    progress: impl Fn(),
) -> Result<(Vec<u8>, Option<OwnedSemaphorePermit>), ApiError> {
    if body.size_hint().lower() > (most + MOST_DISCARDED) as u64 {
        return Err(ApiError::too_large("body", "the body is too large"));
    }
    let (mut stream, mut bytes) = (body.into_data_stream(), Vec::new());
    let (mut held, mut noted, mut at) = (None::<OwnedSemaphorePermit>, 0, Instant::now());
    loop {
        let broken = |_| ApiError::body("the body cannot be read", "send it whole");
        let chunk = match timeout(LONGEST_STALL, stream.next()).await {
            Ok(Some(chunk)) => chunk.map_err(broken)?,
            Ok(None) => return Ok((bytes, held)),
            Err(_) => Default::default(),
        };
        if bytes.len() + chunk.len() > most {
            discard(stream).await;
            return Err(ApiError::too_large("body", "the body is too large"));
        }
        bytes.extend_from_slice(&chunk);
        if bytes.len() >= noted + PROGRESS || noted == 0 && !bytes.is_empty() {
            progress();
            (noted, at) = (bytes.len(), Instant::now());
        }
        let needed = bytes.len().saturating_sub(SMALL_BODY).div_ceil(PROGRESS);
        let more = needed - held.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        if more > 0 {
            let found = timeout(LONGEST_STALL, room.clone().acquire_many_owned(more as u32)).await;
            let found = found.ok().and_then(Result::ok).ok_or_else(ApiError::too_many)?;
            match &mut held {
                Some(held) => held.merge(found),
                None => held = Some(found),
            }
        }
        let is_short = room.available_permits() < 2 * most / PROGRESS;
        if held.is_some() && is_short && at.elapsed() > LONGEST_STALL {
            return Err(ApiError::too_late(LONGEST_STALL));
        }
    }
}

/// Reads the rest of a body that is refused, and leaves what does not come in time.
async fn discard(mut stream: BodyDataStream) {
    let mut discarded = 0;
    let discard = async {
        while let Some(Ok(chunk)) = stream.next().await {
            discarded += chunk.len();
            if discarded > MOST_DISCARDED {
                return;
            }
        }
    };
    let _ = timeout(LONGEST_DISCARDED, discard).await;
}
