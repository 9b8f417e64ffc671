//! What `/metrics` tells, in Prometheus' text format.

use std::sync::Mutex;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use crate::lock::locked;

/// Which requests a number is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Route {
    path: String,
    status: u16,
}

/// Counters of one server.
pub(crate) struct Metrics {
    registry: Mutex<Registry>,
    requests: Family<Route, Counter>,
    seconds: Histogram,
    sentences: Counter,
    cached: Counter,
    batch_sizes: Histogram,
    batch_seconds: Histogram,
    waiting: Gauge,
    loaded: Gauge,
}

impl Metrics {
    pub fn new() -> Self {
        let durations =
            || [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];
        let sizes = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0];
        let metrics = Self {
            registry: Mutex::new(Registry::with_prefix("burnformer")),
            requests: Family::default(),
            seconds: Histogram::new(durations()),
            sentences: Counter::default(),
            cached: Counter::default(),
            batch_sizes: Histogram::new(sizes),
            batch_seconds: Histogram::new(durations()),
            waiting: Gauge::default(),
            loaded: Gauge::default(),
        };
        metrics.register();
        metrics
    }

    fn register(&self) {
        let registry = &mut *locked(&self.registry);
        registry.register("requests", "Requests by path and status", self.requests.clone());
        let help = "Time from a request's last byte to its answer, of requests to translate";
        registry.register_with_unit("request", help, Unit::Seconds, self.seconds.clone());
        registry.register("sentences", "Sentences translated by a model", self.sentences.clone());
        let help = "Sentences answered from the cache";
        registry.register("cached_sentences", help, self.cached.clone());
        registry.register("batch_sentences", "Sentences per batch", self.batch_sizes.clone());
        let (help, batches) = ("Time per batch", self.batch_seconds.clone());
        registry.register_with_unit("batch", help, Unit::Seconds, batches);
        registry.register("waiting_sentences", "Sentences that wait now", self.waiting.clone());
        registry.register("loaded_models", "Models that are loaded now", self.loaded.clone());
    }

    pub fn request(&self, path: String, status: u16) {
        self.requests.get_or_create(&Route { path, status }).inc();
    }

    pub fn answered(&self, took: Duration) {
        self.seconds.observe(took.as_secs_f64());
    }

    pub fn cached(&self, sentences: usize) {
        self.cached.inc_by(sentences as u64);
    }

    pub fn batch(&self, sentences: usize, took: Duration) {
        self.sentences.inc_by(sentences as u64);
        self.batch_sizes.observe(sentences as f64);
        self.batch_seconds.observe(took.as_secs_f64());
    }

    /// The text of `/metrics`, with the numbers that are of this moment.
    pub fn text(&self, waiting: usize, loaded: usize) -> String {
        self.waiting.set(waiting as i64);
        self.loaded.set(loaded as i64);
        let mut text = String::new();
        encode(&mut text, &locked(&self.registry)).expect("writing to a string does not fail");
        text
    }
}
