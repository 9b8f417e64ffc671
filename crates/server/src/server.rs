//! The routes, and the life of a server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{DefaultBodyLimit, MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::cors::{AllowHeaders, AllowOrigin, Any, CorsLayer};

use crate::api::error::ApiError;
use crate::api::files::{Files, MOST_KEPT};
use crate::api::{Service, Shared, attention, files, libretranslate, openapi, page, status, v1};
use crate::auth::Keys;
use crate::cache::Cache;
use crate::connections::{self, Times};
use crate::error::ServerError;
use crate::metrics::Metrics;
use crate::models::Models;
use crate::settings::ServerSettings;

/// Translation over HTTP.
pub struct Server {
    listener: std::net::TcpListener,
    service: Shared,
    router: Router,
    preload: bool,
    drain: Duration,
}

impl Server {
    /// A server that listens, but does not answer yet.
    ///
    /// # Errors
    /// [`ServerError`] if there are no models or two for one pair, if the address cannot be listened at, or if the origin
    /// is none.
    pub fn new(settings: ServerSettings) -> Result<Self, ServerError> {
        let metrics = Arc::new(Metrics::new());
        let ServerSettings { listen, models, queue, limits, memory, .. } = settings;
        let service = Arc::new(Service {
            models: Models::new(models, queue, memory, limits.time, metrics.clone())?,
            cache: Cache::new(settings.cache),
            metrics,
            keys: Keys::new(&settings.keys),
            limits,
            files: Files::new(MOST_KEPT),
            looking: Arc::new(Semaphore::new(queue.workers.max(1))),
        });
        let router = router(service.clone(), settings.cors.as_deref())?;
        let listening = |source| ServerError::Listen { address: listen, source };
        let listener = std::net::TcpListener::bind(listen).map_err(listening)?;
        listener.set_nonblocking(true)?;
        let (preload, drain) = (settings.preload, settings.drain);
        Ok(Self { listener, service, router, preload, drain })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// If the system does not tell.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers requests until `stop` is done. Then it takes no new connection, and returns when the requests that were
    /// accepted have been answered, or when their time is over; the log says what is cut off. The longest that it takes is
    /// [`drain`](ServerSettings::drain).
    ///
    /// Threads that compute may go on for a moment, so shut the runtime down with a timeout.
    ///
    /// # Errors
    /// [`ServerError::Load`] if a model that is to be loaded first cannot be; [`ServerError::Io`].
    pub async fn run(
        self,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), ServerError> {
        if self.preload {
            let pairs: Vec<_> = self.service.models.pairs().cloned().collect();
            for pair in pairs {
                self.service.models.queue(&pair).await.transpose()?;
            }
        }
        let listener = TcpListener::from_std(self.listener)?;
        let times = Times { idle: self.service.limits.idle, drain: self.drain };
        connections::serve(listener, self.router, times, stop).await;
        Ok(())
    }
}

fn router(service: Shared, cors: Option<&str>) -> Result<Router, ServerError> {
    let pages = Router::new()
        .route("/", get(page::index))
        .route("/page.js", get(page::script))
        .route("/page.css", get(page::style))
        .route("/attention", post(attention::view))
        .route("/attention.js", get(page::attention_script))
        .route("/attention.css", get(page::attention_style))
        .route("/docs", get(page::docs))
        .route("/docs.js", get(page::docs_script));
    let router = Router::new()
        .route("/translate", post(libretranslate::translate))
        .route("/detect", post(libretranslate::detect))
        .route("/languages", get(libretranslate::languages))
        .route("/frontend/settings", get(libretranslate::settings))
        .route("/suggest", post(libretranslate::suggest))
        .route("/translate_file", post(files::translate_file))
        .route("/download_file/{name}", get(files::download))
        .route("/v1/translate", post(v1::translate))
        .route("/v1/sentences", post(v1::sentences))
        .route("/v1/attention", post(attention::attention))
        .route("/health", get(status::health))
        .route("/ready", get(status::ready))
        .route("/metrics", get(status::metrics))
        .route("/openapi.json", get(openapi::describe))
        .merge(pages)
        .fallback(async || ApiError::not_found("there is nothing under this path; see /docs"))
        .method_not_allowed_fallback(async || ApiError::method())
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn_with_state(service.clone(), connections::read))
        .layer(CatchPanicLayer::custom(|_: Box<dyn std::any::Any + Send>| {
            ApiError::failed("the server failed on this request; this is a defect".into())
                .into_response()
        }))
        .layer(from_fn_with_state(service.clone(), observe))
        .layer(from_fn(safe_headers))
        .with_state(service);
    Ok(match cors {
        None => router,
        Some(origin) => router.layer(cors_layer(origin)?),
    })
}

fn cors_layer(origin: &str) -> Result<CorsLayer, ServerError> {
    let wrong = || ServerError::Cors { origin: origin.into() };
    let allowed = match origin {
        "*" => AllowOrigin::any(),
        origin => {
            let is_origin = origin.starts_with("http://") || origin.starts_with("https://");
            let value =
                HeaderValue::from_str(origin).ok().filter(|_| is_origin && !origin.ends_with('/'));
            AllowOrigin::exact(value.ok_or_else(wrong)?)
        }
    };
    // `*` would not stand for `Authorization`.
    let headers = AllowHeaders::mirror_request();
    Ok(CorsLayer::new().allow_origin(allowed).allow_methods(Any).allow_headers(headers))
}

/// Counts every request and logs it, without its text.
async fn observe(State(service): State<Shared>, request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let path = known_path(path.as_deref().unwrap_or_default());
    let (method, begun) = (request.method().clone(), Instant::now());
    let response = next.run(request).await;
    let status = response.status();
    service.metrics.request(path, status.as_u16());
    let milliseconds = begun.elapsed().as_secs_f64() * 1e3;
    match status {
        status if status.is_server_error() && status != StatusCode::SERVICE_UNAVAILABLE => {
            tracing::error!(%method, path, status = status.as_u16(), milliseconds, "answered");
        }
        status => tracing::info!(%method, path, status = status.as_u16(), milliseconds, "answered"),
    }
    response
}

/// The path of a route, so that metrics have as many labels as there are routes.
fn known_path(path: &str) -> &'static str {
    const PATHS: [&str; 22] = [
        "/translate",
        "/detect",
        "/languages",
        "/frontend/settings",
        "/suggest",
        "/translate_file",
        "/download_file/{name}",
        "/v1/translate",
        "/v1/sentences",
        "/v1/attention",
        "/health",
        "/ready",
        "/metrics",
        "/openapi.json",
        "/",
        "/page.js",
        "/page.css",
        "/attention",
        "/attention.js",
        "/attention.css",
        "/docs",
        "/docs.js",
    ];
    PATHS.into_iter().find(|known| *known == path).unwrap_or("other")
}

/// Headers that keep browsers from guessing types, from showing the page inside others, and from telling addresses.
async fn safe_headers(request: Request, next: Next) -> Response {
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
    let mut response = next.run(request).await;
    for (name, value) in SAFE {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
