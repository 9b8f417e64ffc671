use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;

use crate::models::ModelSource;
use crate::queue::QueueSettings;

/// Bounds on what one request may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The maximum size of a request body in bytes.
    pub body: usize,
    /// The maximum number of characters of all texts of a request.
    pub characters: usize,
    /// The maximum number of texts, or sentences, of a request.
    pub texts: usize,
    /// The maximum number of alternatives. The maximum beam size is one more, as the beam has the best
    /// translation as well.
    pub alternatives: usize,
    /// The maximum number of terms in the glossary of a request.
    pub terms: usize,
    /// The timeout for receiving the body of a request, and again for answering it.
    pub time: Duration,
    /// The timeout for receiving the head of a request, and for a client that reads nothing of its
    /// answer.
    pub idle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 2 << 20,
            characters: 200_000,
            texts: 1_000,
            alternatives: 10,
            terms: 500,
            time: Duration::from_secs(120),
            idle: Duration::from_secs(30),
        }
    }
}

/// The loopback networks.
pub const LOOPBACK: [&str; 2] = ["127.0.0.0/8", "::1/128"];

/// The settings of a [`Server`](crate::Server).
#[derive(Clone)]
pub struct ServerSettings {
    /// The address to listen on. Port 0 takes a free port.
    pub listen: SocketAddr,
    /// The models.
    pub models: Vec<ModelSource>,
    /// The sizes of each model's queue.
    pub queue: QueueSettings,
    /// Bounds on requests.
    pub limits: Limits,
    /// The maximum size of the translation cache in bytes; 0 disables the cache.
    pub cache: usize,
    /// The maximum size in bytes of all loaded models. To load a model beyond it, the least
    /// recently used models are unloaded first.
    pub memory: u64,
    /// If true, all models are loaded before the first request; otherwise each is loaded at its
    /// first request.
    pub preload: bool,
    /// The accepted keys; empty if requests need no key.
    pub keys: Vec<String>,
    /// The origin that may send requests from a browser (`https://example.org`, or `*` for all).
    /// With `None`, only the server's own page may.
    pub cors: Option<String>,
    /// The URL path of the server, such as `/mt`; empty for the root. Requests are accepted with
    /// and without it, since some proxies remove it. A proxy may also send it as
    /// `X-Forwarded-Prefix`.
    pub prefix: String,
    /// The trusted proxies. Their `X-Forwarded-For` or `Forwarded` header gives the address of a
    /// client.
    pub proxies: Vec<IpNet>,
    /// Text about the models for the web page, such as the source of their training data. May be
    /// empty.
    pub about: String,
    /// The folder of the pages under `/paper`, which `cargo xtask web` writes. With `None`, the
    /// path says how to get them.
    pub pages: Option<PathBuf>,
    /// The time that a stopped server has to answer accepted requests. Requests that take longer
    /// are cut off.
    pub drain: Duration,
}

impl ServerSettings {
    /// Creates settings that serve `models` at `listen` without keys, with defaults for everything
    /// else.
    pub fn new(listen: SocketAddr, models: Vec<ModelSource>) -> Self {
        Self {
            listen,
            models,
            queue: QueueSettings::default(),
            limits: Limits::default(),
            cache: 64 << 20,
            memory: u64::MAX,
            preload: true,
            keys: Vec::new(),
            cors: None,
            prefix: String::new(),
            proxies: LOOPBACK
                .map(|text| text.parse().expect("a network"))
                .to_vec(),
            about: String::new(),
            pages: None,
            drain: Duration::from_secs(10),
        }
    }
}
