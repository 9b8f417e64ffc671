//! Connections. A slow client delays neither other connections nor the shutdown of the server.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::convert::Infallible;
use std::net::IpAddr;
use std::panic::resume_unwind;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::http::{HeaderValue, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use parking_lot::Mutex;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Handle};
use tokio::sync::{oneshot, watch};
use tokio::task::{AbortHandle, JoinSet, yield_now};
use tokio::time::{sleep, timeout};
use tokio_io_timeout::TimeoutStream;

/// The maximum number of open connections, if the system allows so many.
const MAX_CONNECTIONS: usize = 1024;
/// Additional connections that are answered with the state of the server, or 503.
const SPARE: usize = 8;
/// File descriptors reserved for everything else, such as loading models.
#[cfg(unix)]
const RESERVED: u64 = 24;
/// How long a stopped server keeps connections without a request, for requests that are on their way.
const LINGER: Duration = Duration::from_secs(1);
/// How long a stopped server waits for incomplete requests and for clients that read slowly.
const BRIEF: Duration = Duration::from_secs(3);
/// How long a connection may be without a complete request before it can be closed in favour of
/// another. A request on its way therefore arrives however many clients connect at once.
const GRACE: Duration = Duration::from_millis(100);
/// Replaces [`GRACE`] for a connection that has received part of a body, as long as such
/// connections are no more than half of all.
const MAX_PAUSE: Duration = Duration::from_secs(5);

/// The connection of a request, for its handlers.
#[derive(Clone)]
pub(crate) struct Connection {
    /// The address of the client, or of the proxy in front of it.
    pub peer: IpAddr,
    waiting: Arc<Mutex<Waiting>>,
    /// The threads that answer requests, so that the connection thread never blocks.
    answers: Handle,
}

impl Connection {
    /// Records who waits for whom from now on.
    pub fn waits(&self, waiting: Waiting) {
        *self.waiting.lock() = waiting;
    }

    /// Runs `work` on another thread, and returns its result. Dropping the returned future ends the
    /// work.
    pub async fn elsewhere<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> T {
        let mut tasks = JoinSet::new();
        tasks.spawn_on(work, &self.answers);
        let result = tasks.join_next().await.expect("a task");
        // A panic has been reported already. A task is cancelled only when the runtime shuts down.
        result.unwrap_or_else(|error| resume_unwind(Box::new(error)))
    }
}

/// Who waits for whom on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// The client waits for the server.
    ForServer,
    /// The server waits for the client, to send more of a request or to read an answer.
    ForClient {
        /// When the server began to wait.
        since: Instant,
        /// If true, a part of a body has arrived.
        has_body: bool,
    },
}

impl Waiting {
    /// The server waits for the client from now on.
    pub fn for_client(has_body: bool) -> Self {
        Self::ForClient {
            since: Instant::now(),
            has_body,
        }
    }
}

/// A connection as the server sees it.
struct Open {
    peer: IpAddr,
    waiting: Arc<Mutex<Waiting>>,
    task: AbortHandle,
}

impl Open {
    /// Returns whether the server waits for the client.
    fn is_idle(&self) -> bool {
        let waiting = *self.waiting.lock();
        waiting != Waiting::ForServer && !self.task.is_finished()
    }
}

/// How long connections are waited for.
#[derive(Clone, Copy)]
pub(crate) struct Timeouts {
    /// The timeout for the head of a request, and for a client that reads nothing of its answer.
    pub idle: Duration,
    /// The time for all answers after the server was told to stop.
    pub drain: Duration,
}

/// Answers requests with `router` until `stop` completes, then the requests that have arrived.
///
/// Connections run on a separate thread, so that requests for the server's state are answered
/// immediately even if all threads of the caller's runtime are busy.
///
/// # Errors
/// Returns an error if the system has no thread or no file descriptor left.
pub(crate) async fn serve(
    listener: std::net::TcpListener,
    router: Router,
    timeouts: Timeouts,
    stop: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let (mut reply, served) = oneshot::channel();
    let answers = Handle::current();
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let serve = async move {
        let serve = async {
            accept(
                TcpListener::from_std(listener)?,
                router,
                timeouts,
                answers,
                stop,
            )
            .await
        };
        tokio::select! {
            result = serve => drop(reply.send(result)),
            // The caller has dropped the future.
            () = reply.closed() => {}
        }
    };
    std::thread::Builder::new()
        .name("connections".into())
        .spawn(move || runtime.block_on(serve))?;
    served.await.unwrap_or(Ok(()))
}

/// Accepts the connections of [`serve`] on this thread. The threads of `answers` answer the
/// requests.
async fn accept(
    listener: TcpListener,
    router: Router,
    Timeouts { idle, drain }: Timeouts,
    answers: Handle,
    stop: impl Future<Output = ()>,
) -> std::io::Result<()> {
    let service = TowerToHyperService::new(router);
    let (closing, closed) = watch::channel(false);
    let mut tasks = JoinSet::new();
    let mut open = Vec::<Open>::new();
    let most = most();
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
                    // Connections read what has arrived before one of them is closed as idle.
                    yield_now().await;
                    close_one(&mut open);
                }
                let waiting = Arc::new(Mutex::new(Waiting::for_client(false)));
                let peer = peer.ip();
                let answers = answers.clone();
                let connection = Connection {
                    peer,
                    waiting: waiting.clone(),
                    answers,
                };
                let answer = answer(stream, service.clone(), connection, idle, closed.clone());
                open.push(Open {
                    peer,
                    waiting,
                    task: tasks.spawn(answer),
                });
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
    // Fails if there is no connection, so no receiver.
    let _ = closing.send(true);
    end(tasks, open, drain).await;
    Ok(())
}

/// Waits at most `longest` until all requests are answered, and logs the requests that are cut off.
async fn end(mut tasks: JoinSet<()>, open: Vec<Open>, longest: Duration) {
    let brief = BRIEF.min(longest);
    if timeout(brief, async { while tasks.join_next().await.is_some() {} })
        .await
        .is_ok()
    {
        return;
    }
    let slow: Vec<&Open> = open.iter().filter(|open| open.is_idle()).collect();
    if !slow.is_empty() {
        let connections = slow.len();
        tracing::warn!(
            connections,
            "cut off: their clients send or read too slowly"
        );
        slow.iter().for_each(|open| open.task.abort());
    }
    let rest = longest.saturating_sub(brief);
    if timeout(rest, async { while tasks.join_next().await.is_some() {} })
        .await
        .is_err()
    {
        let requests = tasks.len();
        let seconds = longest.as_secs_f64();
        tracing::warn!(
            requests,
            seconds,
            "cut off: requests that were not answered in time"
        );
        tasks.shutdown().await;
    }
}

/// The maximum number of connections that the limit on open files allows.
pub(crate) fn most() -> usize {
    #[cfg(unix)]
    if let Some(files) = rustix::process::getrlimit(rustix::process::Resource::Nofile).current {
        let connections = files.saturating_sub(RESERVED + SPARE as u64).max(8);
        return MAX_CONNECTIONS.min(connections.try_into().unwrap_or(MAX_CONNECTIONS));
    }
    MAX_CONNECTIONS
}

/// Among the connections from the address with the most connections, returns the index of the one
/// that has been idle longest, if its grace period is over.
fn slowest(open: &[Open]) -> Option<usize> {
    let mut sizes = HashMap::<IpAddr, usize>::new();
    open.iter()
        .for_each(|open| *sizes.entry(open.peer).or_default() += 1);
    let sending = open
        .iter()
        .filter(|open| {
            matches!(
                *open.waiting.lock(),
                Waiting::ForClient { has_body: true, .. }
            )
        })
        .count();
    let are_few = 2 * sending <= open.len();
    open.iter()
        .enumerate()
        .filter_map(|(index, open): (usize, &Open)| {
            let Waiting::ForClient { since, has_body } = *open.waiting.lock() else {
                return None;
            };
            let grace = if has_body && are_few {
                MAX_PAUSE
            } else {
                GRACE
            };
            (since.elapsed() >= grace).then_some((Reverse(sizes[&open.peer]), since, index))
        })
        .min()
        .map(|(.., index)| index)
}

/// Closes the slowest connection.
fn close_one(open: &mut Vec<Open>) {
    if let Some(index) = slowest(open) {
        tracing::warn!("too many connections: closed the one that has waited for longest");
        open.remove(index).task.abort();
    }
}

/// Answers the requests of one connection.
async fn answer(
    stream: TcpStream,
    service: TowerToHyperService<Router>,
    connection: Connection,
    idle: Duration,
    closing: watch::Receiver<bool>,
) {
    // The time in which this thread was busy with other connections is not the client's.
    connection.waits(Waiting::for_client(false));
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(idle));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(idle);
    let http = http.serve_connection(
        TokioIo::new(Box::pin(stream)),
        service_fn(|mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(connection.clone());
            let response = service.call(request);
            let closing = closing.clone();
            async move {
                let mut response = response.await?;
                if *closing.borrow() {
                    let close = HeaderValue::from_static("close");
                    response.headers_mut().insert(header::CONNECTION, close);
                }
                Ok::<_, Infallible>(response)
            }
        }),
    );
    let mut http = pin!(http);
    tokio::select! {
        // The client has disconnected or was too slow: there is nothing to report.
        _ = http.as_mut() => return,
        () = lingered(closing.clone()) => http.as_mut().graceful_shutdown(),
    }
    let _ = http.await;
}

/// Completes [`LINGER`] after the server was told to stop.
async fn lingered(mut closing: watch::Receiver<bool>) {
    // Fails if the server has ended already.
    let _ = closing.changed().await;
    sleep(LINGER).await;
}
