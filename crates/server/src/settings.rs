use std::net::SocketAddr;
use std::time::Duration;

use ipnet::IpNet;

use crate::models::ModelSource;
use crate::queue::QueueSettings;

/// Bounds on what one request may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest number of bytes of a request's body.
    pub body: usize,
    /// The largest number of characters of a request's texts together.
    pub characters: usize,
    /// The largest number of texts, or sentences, of a request.
    pub texts: usize,
    /// The largest number of alternatives, and the widest beam.
    pub alternatives: usize,
    /// The largest number of terms of a request's glossary.
    pub terms: usize,
    /// The longest time for the body of a request, and from then on until the answer.
    pub time: Duration,
    /// The longest time for the head of a request, and for a client that takes nothing of its
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
    /// The address on which to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The models.
    pub models: Vec<ModelSource>,
    /// The sizes of each model's queue.
    pub queue: QueueSettings,
    /// Bounds on requests.
    pub limits: Limits,
    /// The largest number of bytes of cached translations; 0 disables the cache.
    pub cache: usize,
    /// The largest number of bytes of model files that are loaded at the same time. A model beyond
    /// it waits until others, the least recently used first, are unloaded.
    pub memory: u64,
    /// If true, all models are loaded before the first request; otherwise each is loaded at its
    /// first request.
    pub preload: bool,
    /// The accepted keys; empty if requests need no key.
    pub keys: Vec<String>,
    /// The origin whose pages may send requests from a browser (`https://example.org`, or `*` for
    /// all); `None` allows none but the server's own page.
    pub cors: Option<String>,
    /// The path under which a proxy or the server itself is reached, such as `/mt`; empty for the
    /// root. Requests are accepted with and without it, since some proxies remove it. A proxy may
    /// also send it as `X-Forwarded-Prefix`.
    pub prefix: String,
    /// The trusted proxies: their `X-Forwarded-For` or `Forwarded` gives the address of a client.
    pub proxies: Vec<IpNet>,
    /// The text of the page about the models, such as the source of their training text; may be
    /// empty.
    pub about: String,
    /// The time that a stopped server has to answer the requests that it has accepted. Requests
    /// that take longer are cut off.
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
            drain: Duration::from_secs(10),
        }
    }
}
