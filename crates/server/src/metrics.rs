//! Metrics for `/metrics`, in the OpenMetrics text format of Prometheus.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

/// The upper bounds of the buckets of a histogram of durations, in seconds.
const DURATIONS: [f64; 13] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
];

/// The labels of a request counter.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Route {
    path: String,
    status: u16,
}

/// Counters of one server.
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<Route, Counter>,
    pub seconds: Histogram,
    sentences: Counter,
    pub cached: Counter,
    batch_sizes: Histogram,
    batch_seconds: Histogram,
    waiting: Gauge,
    loaded: Gauge,
}

impl Metrics {
    pub fn new() -> Self {
        let sizes = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0];
        let (requests, sentences, cached) = Default::default();
        let (waiting, loaded): (Gauge, Gauge) = Default::default();
        let [seconds, batch_seconds] = [DURATIONS; 2].map(Histogram::new);
        let batch_sizes = Histogram::new(sizes);
        let mut all = Registry::with_prefix("burnformer");
        all.register(
            "requests",
            "Requests by path and status",
            Family::clone(&requests),
        );
        let help = "Time from a request's last byte to its answer, of requests to translate";
        all.register_with_unit("request", help, Unit::Seconds, seconds.clone());
        all.register(
            "sentences",
            "Sentences translated by a model",
            Counter::clone(&sentences),
        );
        let help = "Sentences answered from the cache";
        all.register("cached_sentences", help, Counter::clone(&cached));
        all.register(
            "batch_sentences",
            "Sentences per batch",
            batch_sizes.clone(),
        );
        all.register_with_unit(
            "batch",
            "Time per batch",
            Unit::Seconds,
            batch_seconds.clone(),
        );
        all.register(
            "waiting_sentences",
            "Sentences that wait now",
            waiting.clone(),
        );
        all.register(
            "loaded_models",
            "Models that are loaded now",
            loaded.clone(),
        );
        Self {
            registry: all,
            requests,
            seconds,
            sentences,
            cached,
            batch_sizes,
            batch_seconds,
            waiting,
            loaded,
        }
    }

    pub fn request(&self, path: String, status: u16) {
        self.requests.get_or_create(&Route { path, status }).inc();
    }

    pub fn batch(&self, sentences: usize, took: Duration) {
        self.sentences.inc_by(sentences as u64);
        self.batch_sizes.observe(sentences as f64);
        self.batch_seconds.observe(took.as_secs_f64());
    }

    /// Returns the text of `/metrics` with the current numbers of `waiting` sentences and `loaded`
    /// models.
    pub fn text(&self, waiting: usize, loaded: usize) -> String {
        self.waiting.set(waiting as i64);
        self.loaded.set(loaded as i64);
        let mut text = String::new();
        encode(&mut text, &self.registry).expect("writing to a string does not fail");
        text
    }
}
