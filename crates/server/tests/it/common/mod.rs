//! A server with a test engine.
#![allow(dead_code)] // each test file uses its part

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use burnformer_documents::Link;
use burnformer_infer::view::{AttentionMatrix, Panel, PanelKind, SentenceAttention};
use burnformer_server::{
    Candidate, Choice, Engine, EngineError, Job, ModelSource, QueueSettings, Sentence, Server,
    ServerSettings,
};
use serde_json::Value;
use tokio::sync::oneshot;

/// Translates into upper case and appends the first translation of each term. Fails on a sentence
/// with "fail" and panics on one with "panic".
#[derive(Default)]
pub struct Shouting {
    /// The time that a batch takes.
    pub delay: Duration,
    /// Batches so far.
    pub batches: AtomicUsize,
    /// Sentences so far.
    pub sentences: AtomicUsize,
    /// The largest batch so far.
    pub largest: AtomicUsize,
    /// The number of calls of `fits`, and the time that each takes.
    pub fits: AtomicUsize,
    pub fits_delay: Duration,
}

impl Shouting {
    /// Waits until it has begun a batch.
    pub fn wait_until_busy(&self) {
        wait_until(|| self.batches.load(Ordering::SeqCst) > 0);
    }
}

/// Waits until `is_so`, for a minute at most.
pub fn wait_until(is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it never is so");
        std::thread::sleep(Duration::from_millis(5));
    }
}

impl Engine for Shouting {
    fn translate(
        &self,
        jobs: &[&Job],
        choice: Choice,
        _: &[Arc<AtomicBool>],
    ) -> Result<Vec<Vec<Candidate>>, EngineError> {
        self.batches.fetch_add(1, Ordering::SeqCst);
        self.sentences.fetch_add(jobs.len(), Ordering::SeqCst);
        self.largest.fetch_max(jobs.len(), Ordering::SeqCst);
        std::thread::sleep(self.delay);
        assert!(
            !jobs.iter().any(|job| job.sentence.text.contains("panic")),
            "asked to panic"
        );
        if jobs.iter().any(|job| job.sentence.text.contains("fail")) {
            return Err(EngineError::Request("asked to fail".into()));
        }
        Ok(jobs
            .iter()
            .map(|job| candidates(&job.sentence, choice))
            .collect())
    }

    fn fits(&self, sentence: &str) -> bool {
        self.fits.fetch_add(1, Ordering::SeqCst);
        std::thread::sleep(self.fits_delay);
        sentence.len() < 500
    }

    /// Each word of the translation attends to the word at the same position, or to the last word
    /// if there is none.
    fn attention(
        &self,
        sentence: &str,
        translation: &str,
    ) -> Result<SentenceAttention, EngineError> {
        if sentence.len().max(translation.len()) >= 500 {
            return Err(EngineError::Request("too long to be shown".into()));
        }
        let words = |text: &str| {
            text.split_whitespace()
                .map(String::from)
                .collect::<Vec<_>>()
        };
        let keys = words(sentence);
        let queries = words(translation);
        let columns = keys.len();
        let weights = (0..queries.len() * columns)
            .map(|index| index % columns == (index / columns).min(columns - 1))
            .map(|attends| if attends { 1.0 } else { 0.0 })
            .collect();
        let itself = (0..columns * columns)
            .map(|index| {
                if index % columns == index / columns {
                    1.0
                } else {
                    0.0
                }
            })
            .collect();
        let links = queries.len().min(columns);
        Ok(SentenceAttention {
            source: sentence.into(),
            target: translation.into(),
            alignment: (0..links).map(|index| (index, index)).collect(),
            panels: vec![
                Panel {
                    kind: PanelKind::Encoder,
                    queries: keys.clone(),
                    keys: keys.clone(),
                    layers: vec![vec![AttentionMatrix::new(columns, itself)]],
                },
                Panel {
                    kind: PanelKind::Cross,
                    queries,
                    keys,
                    layers: vec![vec![AttentionMatrix::new(columns, weights)]],
                },
            ],
        })
    }
}

fn candidates(sentence: &Sentence, choice: Choice) -> Vec<Candidate> {
    let terms: String = sentence
        .terms
        .iter()
        .map(|any| format!(" [{}]", any.targets[0]))
        .collect();
    let shouted = format!("{}{}{terms}", sentence.prefix, sentence.text.to_uppercase());
    let links = if sentence.links && shouted.len() == sentence.text.len() {
        vec![Link {
            source: 0..sentence.text.len(),
            target: 0..shouted.len(),
        }]
    } else {
        Vec::new()
    };
    (0..choice.n_best.max(1))
        .map(|rank: usize| Candidate {
            text: format!("{shouted}{}", "!".repeat(rank)),
            score: -(rank as f64),
            links: links.clone(),
            ..Candidate::default()
        })
        .collect()
}

/// A server on a free local port. Dropping it stops the server.
pub struct Running {
    pub address: String,
    pub runtime: tokio::runtime::Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Running {
    /// Serves `engine` as de-en and en-de, after `change` has modified the settings.
    pub fn start(engine: Arc<dyn Engine>, change: impl FnOnce(&mut ServerSettings)) -> Self {
        let mut settings = settings(engine);
        change(&mut settings);
        let server = Server::new(settings).expect("a server");
        let address = format!("http://{}", server.address().expect("an address"));
        let (stop, stopped) = oneshot::channel::<()>();
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let serving = builder
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime");
        let runtime = serving.handle().clone();
        Self {
            address,
            runtime,
            stop: Some(stop),
            thread: Some(std::thread::spawn(move || {
                let stopped = async { drop(stopped.await) };
                serving.block_on(server.run(stopped)).expect("serving");
            })),
        }
    }

    /// Tells the server to stop, as a signal would.
    pub fn stop(&mut self) {
        drop(self.stop.take());
    }

    /// Waits until the server has stopped.
    pub fn join(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            thread.join().expect("a server without a panic");
        }
    }

    /// Sends a GET request and returns the status and the body of the answer.
    pub fn get(&self, path: &str) -> (u16, String) {
        let mut response = agent()
            .get(format!("{}{path}", self.address))
            .call()
            .expect("an answer");
        (
            response.status().as_u16(),
            response.body_mut().read_to_string().expect("a body"),
        )
    }

    /// The number of sentences that wait, by the metrics.
    pub fn waiting_sentences(&self) -> usize {
        let (_, metrics) = self.get("/metrics");
        let mut values = metrics
            .lines()
            .filter_map(|line| line.strip_prefix("burnformer_waiting_sentences "));
        let value = values.next().expect("a metric");
        value.parse().expect("a number")
    }

    /// Sends a JSON body and returns the status and the answer.
    pub fn post(&self, path: &str, body: Value) -> (u16, Value) {
        self.send(path, "application/json", &[], body.to_string().as_bytes())
    }

    /// Sends any body with further headers and returns the status and the answer.
    pub fn send(
        &self,
        path: &str,
        kind: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> (u16, Value) {
        let mut request = agent()
            .post(format!("{}{path}", self.address))
            .header("content-type", kind);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut response = request.send(body).expect("an answer");
        let text = response.body_mut().read_to_string().expect("a body");
        (
            response.status().as_u16(),
            serde_json::from_str(&text).unwrap_or(Value::String(text)),
        )
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// An HTTP client that treats no status as an error.
pub fn agent() -> ureq::Agent {
    ureq::Agent::config_builder()
        .http_status_as_error(false)
        .build()
        .into()
}

/// The settings of a small local server.
pub fn settings(engine: Arc<dyn Engine>) -> ServerSettings {
    let source = |pair: &str| {
        let engine = engine.clone();
        ModelSource {
            pair: pair.parse().expect("a pair"),
            name: pair.into(),
            bytes: 1,
            glossary: None,
            memory: None,
            load: Arc::new(move || Ok(engine.clone())),
        }
    };
    let models = vec![source("de-en"), source("en-de")];
    ServerSettings {
        queue: QueueSettings {
            workers: 1,
            ..QueueSettings::default()
        },
        cache: 1 << 20,
        ..ServerSettings::new(([127, 0, 0, 1], 0).into(), models)
    }
}

/// A server with one engine that translates into upper case.
pub fn server() -> Running {
    Running::start(Arc::new(Shouting::default()), |_| {})
}
