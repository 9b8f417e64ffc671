//! The models by language pair, loaded on demand.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use burnformer_terminology::Glossary;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use parking_lot::Mutex;

use crate::engine::Engine;
use crate::error::ServerError;
use crate::language::LanguagePair;
use crate::metrics::Metrics;
use crate::queue::{Queue, QueueSettings};

/// How long requests may keep a model after another one that does not fit beside it was requested.
/// Sentences that are being translated by then are finished; the others wait until the model is
/// loaded again.
const MAX_HOLD: Duration = Duration::from_secs(2);

/// How long a model that could not be loaded is not tried again. Otherwise each request for it would
/// read its files, and keep other models from being loaded.
const RETRY: Duration = Duration::from_secs(5);

/// The source of a model.
#[derive(Clone)]
pub struct ModelSource {
    /// The languages of the model.
    pub pair: LanguagePair,
    /// The name of the model in messages: its directory.
    pub name: PathBuf,
    /// The approximate memory of the loaded model, in bytes.
    pub bytes: u64,
    /// The default glossary of the model. Terms in the glossary of a request take precedence.
    pub glossary: Option<Arc<Glossary>>,
    /// The translation memory that the loaded model answers from.
    pub memory: Option<MemorySource>,
    /// Loads the model.
    pub load: Arc<dyn Fn() -> Result<Arc<dyn Engine>, String> + Send + Sync>,
}

/// What clients are told about the translation memory of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemorySource {
    /// The name, such as that of its file.
    pub name: String,
    /// The number of pairs of segments.
    pub segments: usize,
}

/// All models of a server.
pub(crate) struct Models {
    slots: BTreeMap<LanguagePair, Slot>,
    /// The pairs of the models, and the pairs that two models translate.
    pairs: BTreeSet<LanguagePair>,
    queue: QueueSettings,
    memory: u64,
    /// How long a request may keep a model that is to be unloaded.
    longest: Duration,
    /// Counts uses, to find the least recently used model.
    clock: AtomicU64,
    /// Held while a model is loaded, so that two do not exceed the memory together.
    loading: tokio::sync::Mutex<()>,
    metrics: Arc<Metrics>,
}

struct Slot {
    source: ModelSource,
    used: AtomicU64,
    state: Mutex<State>,
    /// The last attempt to load it, if that failed.
    failure: Mutex<Option<Failure>>,
}

/// A failed attempt to load a model.
struct Failure {
    time: Instant,
    cause: String,
}

/// A model that is being loaded. Any number of requests may wait for it, and it is loaded even if
/// they are cancelled.
type LoadingModel = Shared<BoxFuture<'static, Result<Arc<Queue>, String>>>;

#[derive(Default)]
enum State {
    #[default]
    Unloaded,
    Loading(LoadingModel),
    Loaded(Arc<Queue>),
}

impl Slot {
    fn queue(&self) -> Option<Arc<Queue>> {
        match &*self.state.lock() {
            State::Loaded(queue) => Some(queue.clone()),
            _ => None,
        }
    }

    /// The cause of the last attempt's failure, if the model is not to be tried again yet.
    fn recent_failure(&self) -> Option<String> {
        let failure = self.failure.lock();
        let recent = failure
            .as_ref()
            .filter(|failure| failure.time.elapsed() < RETRY);
        recent.map(|failure| failure.cause.clone())
    }
}

/// Returns `direct` and all pairs of different languages that two of its pairs translate in a row.
fn with_pivots(direct: &BTreeSet<LanguagePair>) -> BTreeSet<LanguagePair> {
    let mut all = direct.clone();
    for first in direct {
        let seconds = direct.iter().filter(|second| second.source == first.target);
        let further = seconds.map(|second| LanguagePair {
            source: first.source.clone(),
            target: second.target.clone(),
        });
        all.extend(further.filter(|pair| pair.source != pair.target));
    }
    all
}

/// Returns whether `code` is a code of English.
fn is_english(code: &str) -> bool {
    ["en", "eng"].contains(&code.split(['-', '_']).next().unwrap_or_default())
}

impl Models {
    /// Creates the models of `sources` without loading them.
    ///
    /// # Errors
    /// Returns [`ServerError::NoModels`] if `sources` is empty, and [`ServerError::TwoModels`] if
    /// two models have one pair.
    pub fn new(
        sources: Vec<ModelSource>,
        queue: QueueSettings,
        memory: u64,
        longest: Duration,
        metrics: Arc<Metrics>,
    ) -> Result<Arc<Self>, ServerError> {
        let mut slots = BTreeMap::new();
        for source in sources {
            let pair = source.pair.clone();
            let slot = Slot {
                source,
                used: AtomicU64::default(),
                state: Mutex::default(),
                failure: Mutex::default(),
            };
            if slots.insert(pair.clone(), slot).is_some() {
                return Err(ServerError::TwoModels(pair));
            }
        }
        if slots.is_empty() {
            return Err(ServerError::NoModels);
        }
        let pairs = with_pivots(&slots.keys().cloned().collect());
        let clock = AtomicU64::new(1);
        let loading = tokio::sync::Mutex::default();
        Ok(Arc::new(Self {
            slots,
            pairs,
            queue,
            memory,
            longest,
            clock,
            loading,
            metrics,
        }))
    }

    /// The pairs of the models and the pairs that two models translate, sorted.
    pub fn pairs(&self) -> impl Iterator<Item = &LanguagePair> {
        self.pairs.iter()
    }

    /// The pairs of the models, sorted.
    pub fn direct_pairs(&self) -> impl Iterator<Item = &LanguagePair> {
        self.slots.keys()
    }

    /// The language between those of `pair`, if no model but two translate it: English if that is
    /// possible, otherwise the first by code.
    pub fn through(&self, pair: &LanguagePair) -> Option<&str> {
        if self.slots.contains_key(pair) {
            return None;
        }
        let middles = self
            .slots
            .keys()
            .filter(|first| first.source == pair.source)
            .map(|first| &first.target)
            .filter(|middle| {
                let second = LanguagePair {
                    source: (*middle).clone(),
                    target: pair.target.clone(),
                };
                self.slots.contains_key(&second)
            });
        let middle = middles.min_by_key(|middle| (!is_english(middle), *middle));
        middle.map(String::as_str)
    }

    /// The glossary of the model for `pair`, if it has one.
    pub fn glossary(&self, pair: &LanguagePair) -> Option<Arc<Glossary>> {
        self.slots.get(pair)?.source.glossary.clone()
    }

    /// The memories of the models, sorted by language pair.
    pub fn memories(&self) -> impl Iterator<Item = (&LanguagePair, &MemorySource)> {
        self.slots
            .iter()
            .filter_map(|(pair, slot)| Some((pair, slot.source.memory.as_ref()?)))
    }

    /// Returns whether all models may be loaded at the same time.
    pub fn fit(&self) -> bool {
        self.slots
            .values()
            .map(|slot| slot.source.bytes)
            .sum::<u64>()
            <= self.memory
    }

    /// The number of loaded models.
    pub fn loaded(&self) -> usize {
        self.queues().count()
    }

    fn queues(&self) -> impl Iterator<Item = Arc<Queue>> {
        self.slots.values().filter_map(Slot::queue)
    }

    /// The number of waiting sentences in all queues.
    pub fn waiting(&self) -> usize {
        self.queues().map(|queue| queue.waiting()).sum()
    }

    /// Returns a language pair if the last attempt to load its model failed.
    pub fn failed(&self) -> Option<&LanguagePair> {
        self.slots
            .iter()
            .find(|(_, slot)| slot.failure.lock().is_some())
            .map(|(pair, _)| pair)
    }

    /// Returns the queue of the model for `pair`, after loading the model if necessary, or `None`
    /// if there is no such model. Requests that arrive while the model is being loaded wait for the
    /// same load. If the load fails, further requests fail without another attempt for a while.
    pub async fn queue(
        self: &Arc<Self>,
        pair: &LanguagePair,
    ) -> Option<Result<Arc<Queue>, ServerError>> {
        let slot = self.slots.get(pair)?;
        slot.used.store(
            self.clock.fetch_add(1, Ordering::Relaxed),
            Ordering::Relaxed,
        );
        let name = slot.source.name.clone();
        let loading = {
            let mut state = slot.state.lock();
            match &*state {
                State::Loaded(queue) => return Some(Ok(queue.clone())),
                State::Loading(loading) => loading.clone(),
                State::Unloaded => {
                    if let Some(cause) = slot.recent_failure() {
                        return Some(Err(ServerError::Load { name, cause }));
                    }
                    let loading = self.clone().load(pair.clone()).boxed().shared();
                    *state = State::Loading(loading.clone());
                    tokio::spawn(loading.clone());
                    loading
                }
            }
        };
        Some(
            loading
                .await
                .map_err(|cause| ServerError::Load { name, cause }),
        )
    }

    async fn load(self: Arc<Self>, pair: LanguagePair) -> Result<Arc<Queue>, String> {
        let _alone = self.loading.lock().await;
        let slot = &self.slots[&pair];
        self.make_room(slot).await;
        let result = self.load_alone(slot).await;
        *slot.failure.lock() = result.as_ref().err().map(|cause| Failure {
            time: Instant::now(),
            cause: cause.clone(),
        });
        *slot.state.lock() = match &result {
            Ok(queue) => {
                tracing::info!(%pair, "model loaded");
                State::Loaded(queue.clone())
            }
            Err(cause) => {
                let model = slot.source.name.display();
                tracing::error!(%pair, %model, cause, "model not loaded");
                State::Unloaded
            }
        };
        result
    }

    async fn load_alone(&self, slot: &Slot) -> Result<Arc<Queue>, String> {
        let load = slot.source.load.clone();
        let engine = tokio::task::spawn_blocking(move || load()).await;
        let engine = engine.map_err(|error| error.to_string())??;
        let metrics = self.metrics.clone();
        let queue = Queue::new(engine, self.queue, move |sentences, took| {
            metrics.batch(sentences, took)
        });
        queue.map(Arc::new).map_err(|error| error.to_string())
    }

    /// Unloads the least recently used models until `new` fits beside the others. Waits until the
    /// requests that use them are answered.
    async fn make_room(&self, new: &Slot) {
        loop {
            let used: u64 = self.loaded_slots().map(|slot| slot.source.bytes).sum();
            let oldest = self
                .loaded_slots()
                .min_by_key(|slot| slot.used.load(Ordering::Relaxed));
            match oldest {
                Some(oldest) if used + new.source.bytes > self.memory => self.unload(oldest).await,
                _ => return,
            }
        }
    }

    /// The models that are loaded.
    fn loaded_slots(&self) -> impl Iterator<Item = &Slot> {
        self.slots.values().filter(|slot| slot.queue().is_some())
    }

    /// Unloads a model, and waits until no request uses it any more. A request that takes too long
    /// loses the model and waits until it is loaded again.
    async fn unload(&self, slot: &Slot) {
        let Some(queue) = slot.queue() else { return };
        let lives = queue.lives();
        *slot.state.lock() = State::Unloaded;
        let begun = Instant::now();
        let mut queue = Some(queue);
        while lives() && begun.elapsed() < self.longest {
            let last = queue.take_if(|queue| {
                let users = Arc::strong_count(queue) - 1 + Arc::weak_count(queue);
                users == 0 || begun.elapsed() > MAX_HOLD
            });
            last.iter().for_each(|queue| queue.unload());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        tracing::info!(pair = %slot.source.pair, "model unloaded");
    }
}
