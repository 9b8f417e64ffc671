//! The server: start, shutdown, and the layers around every answer.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{DefaultBodyLimit, MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Redirect, Response};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::cors::{AllowHeaders, AllowOrigin, Any, CorsLayer};
use tower_http::set_header::SetResponseHeaderLayer;

use crate::api::error::ApiError;
use crate::api::files::is_prefix;
use crate::api::{ALL_WORK, Service, Shared, deepl, routes};
use crate::bodies;
use crate::cache::Cache;
use crate::connections::{self, Timeouts};
use crate::error::ServerError;
use crate::metrics::Metrics;
use crate::models::Models;
use crate::pages::Pages;
use crate::sender::{Budget, Keys};
use crate::settings::ServerSettings;
use crate::store::{FILE_RETENTION, GLOSSARY_RETENTION, MAX_STORED, Store};

/// Translation over HTTP.
pub struct Server {
    listener: std::net::TcpListener,
    service: Shared,
    router: Router,
    preload: bool,
    drain: Duration,
}

impl Server {
    /// Creates a server that listens, but does not answer yet.
    ///
    /// # Errors
    /// Returns [`ServerError`] if there are no models or two for one pair, if listening at the
    /// address fails, or if the origin of `cors` or the URL prefix is not valid.
    pub fn new(settings: ServerSettings) -> Result<Self, ServerError> {
        let address = settings.listen;
        let listener = std::net::TcpListener::bind(address)
            .map_err(|source| ServerError::Listen { address, source })?;
        Self::with_listener(settings, listener)
    }

    /// Creates a server on a socket that listens already, such as one that systemd has opened. The
    /// address in the settings is not used. Connections that arrive while no server runs wait in
    /// the socket for the next one.
    ///
    /// # Errors
    /// Returns [`ServerError`] like [`Server::new`], or if the socket cannot be used.
    pub fn with_listener(
        settings: ServerSettings,
        listener: std::net::TcpListener,
    ) -> Result<Self, ServerError> {
        let metrics = Arc::new(Metrics::new());
        let ServerSettings {
            models,
            queue,
            limits,
            memory,
            ..
        } = settings;
        let service = Arc::new(Service {
            models: Models::new(models, queue, memory, limits.time, metrics.clone())?,
            cache: Cache::new(settings.cache),
            metrics,
            keys: Keys::new(&settings.keys),
            limits,
            files: Store::new(MAX_STORED, FILE_RETENTION),
            glossaries: Store::new(MAX_STORED, GLOSSARY_RETENTION),
            bodies: bodies::budget(limits.body),
            work: Budget::new(ALL_WORK),
            requests: Budget::new(connections::most()),
            prefix: prefix(&settings.prefix)?,
            proxies: settings.proxies,
            about: settings.about,
            pages: pages(settings.pages.as_deref())?,
        });
        let router = router(service.clone(), settings.cors.as_deref())?;
        listener.set_nonblocking(true)?;
        let preload = settings.preload;
        let drain = settings.drain;
        Ok(Self {
            listener,
            service,
            router,
            preload,
            drain,
        })
    }

    /// Returns the address that the server listens on.
    ///
    /// # Errors
    /// Returns an error if the system does not report the address.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers requests until `stop` completes. Then the server accepts no new connections and
    /// answers the requests that it has accepted, for at most [`drain`](ServerSettings::drain).
    /// Requests that take longer are cut off and logged. Connections without a request are kept for
    /// a second, for requests on their way, and each answer closes its connection.
    ///
    /// Compute threads may run for another moment, so shut the runtime down with a timeout.
    ///
    /// # Errors
    /// Returns [`ServerError::Load`] if a model that must be loaded at the start cannot be loaded,
    /// and [`ServerError::Io`] if the system has no thread or file descriptor left.
    pub async fn run(
        self,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), ServerError> {
        if self.preload {
            let pairs: Vec<_> = self.service.models.direct_pairs().cloned().collect();
            for pair in pairs {
                self.service.models.queue(&pair).await.transpose()?;
            }
        }
        let timeouts = Timeouts {
            idle: self.service.limits.idle,
            drain: self.drain,
        };
        Ok(connections::serve(self.listener, self.router, timeouts, stop).await?)
    }
}

fn router(service: Shared, cors: Option<&str>) -> Result<Router, ServerError> {
    let mut router = routes::router(service.keys.are_required())
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn_with_state(service.clone(), bodies::read))
        .layer(CatchPanicLayer::custom(
            |_: Box<dyn std::any::Any + Send>| {
                ApiError::failed("internal error; please report it").into_response()
            },
        ))
        .layer(from_fn_with_state(service.clone(), observe))
        .layer(from_fn(deepl::errors));
    for (name, value) in SAFE {
        let value = HeaderValue::from_static(value);
        // The pages of the paper have a policy of their own.
        router = router.layer(SetResponseHeaderLayer::if_not_present(name, value));
    }
    let prefix = service.prefix.clone();
    let router = router.with_state(service);
    let router = match cors {
        None => router,
        Some(origin) => router.layer(cors_layer(origin)?),
    };
    if prefix.is_empty() {
        return Ok(router);
    }
    // A layer runs before the routes of a nested service, but not before the routes of its own
    // router. The prefix has to be removed before routing.
    Ok(Router::new()
        .fallback_service(router)
        .layer(from_fn_with_state(prefix, without_prefix)))
}

/// The pages of `folder`, or none.
fn pages(folder: Option<&Path>) -> Result<Pages, ServerError> {
    let Some(folder) = folder else {
        return Ok(Pages::default());
    };
    Pages::load(folder).map_err(|source| ServerError::Pages {
        folder: folder.into(),
        source,
    })
}

/// Validates `text` as a prefix of paths and removes a trailing `/`.
fn prefix(text: &str) -> Result<String, ServerError> {
    let plain = text.trim_end_matches('/');
    if plain.is_empty() || is_prefix(plain) {
        Ok(plain.to_owned())
    } else {
        Err(ServerError::Prefix(text.into()))
    }
}

/// Removes the prefix from the path of a request. A path without `/` after the prefix is
/// redirected, because the page would resolve its files against the parent folder.
async fn without_prefix(
    State(prefix): State<String>,
    mut request: Request,
    next: Next,
) -> Response {
    let path = request
        .uri()
        .path_and_query()
        .map_or("", |path| path.as_str());
    match path.strip_prefix(&*prefix) {
        Some("") => return Redirect::permanent(&format!("{prefix}/")).into_response(),
        Some(rest) if rest.starts_with('/') => {
            if let Ok(uri) = rest.parse() {
                *request.uri_mut() = uri;
            }
        }
        _ => {}
    }
    next.run(request).await
}

/// Headers that forbid browsers to guess content types, to embed the page in a frame, and to send a
/// referrer.
const SAFE: [(HeaderName, &str); 4] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
         base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    ),
];

fn cors_layer(origin: &str) -> Result<CorsLayer, ServerError> {
    let allowed = match origin {
        "*" => AllowOrigin::any(),
        origin => {
            let is_origin = origin.starts_with("http://") || origin.starts_with("https://");
            let value = HeaderValue::from_str(origin)
                .ok()
                .filter(|_| is_origin && !origin.ends_with('/'));
            AllowOrigin::exact(value.ok_or_else(|| ServerError::Cors(origin.into()))?)
        }
    };
    // `*` would not stand for `Authorization`.
    let headers = AllowHeaders::mirror_request();
    Ok(CorsLayer::new()
        .allow_origin(allowed)
        .allow_methods(Any)
        .allow_headers(headers))
}

/// Counts every request under its route, if one matches, and logs the request without its text.
async fn observe(State(service): State<Shared>, request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>();
    let path = path.map_or("other", MatchedPath::as_str).to_owned();
    let method = request.method().clone();
    let begun = Instant::now();
    let response = next.run(request).await;
    let status = response.status().as_u16();
    let milliseconds = (begun.elapsed().as_secs_f64() * 1e4).round() / 10.0;
    tracing::info!(%method, path, status, milliseconds, "answered");
    service.metrics.request(path, status);
    response
}
