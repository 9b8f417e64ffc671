//! The models by language pair, loaded when they are needed.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use burnformer_glossary::Glossary;

use crate::engine::Engine;
use crate::error::ServerError;
use crate::language;
use crate::metrics::Metrics;
use crate::queue::{Queue, QueueSettings, locked};

/// From which language to which a model translates.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LanguagePair {
    /// The code of the source language, such as `de`.
    pub source: String,
    /// The code of the target language, such as `en`.
    pub target: String,
}

impl fmt::Display for LanguagePair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.source, self.target)
    }
}

impl FromStr for LanguagePair {
    type Err = String;

    /// Reads `de-en`; where a code has a `-` itself, `pt-BR:en`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (source, target) =
            text.split_once(':').or_else(|| text.split_once('-')).unwrap_or_default();
        match language::is_code(source) && language::is_code(target) && source != target {
            true => Ok(Self { source: source.into(), target: target.into() }),
            false => Err(format!(
                "{text:?} is no pair of different language codes such as de-en or pt-BR:en"
            )),
        }
    }
}

/// Where a model comes from.
#[derive(Clone)]
pub struct ModelSource {
    /// What it translates.
    pub pair: LanguagePair,
    /// What messages call it: its folder.
    pub name: PathBuf,
    /// About the bytes that it takes when it is loaded.
    pub bytes: u64,
    /// The prescribed translations of terms in every text, unless a request has others.
    pub glossary: Option<Arc<Glossary>>,
    /// Loads it.
    pub load: Arc<dyn Fn() -> Result<Arc<dyn Engine>, String> + Send + Sync>,
}

impl fmt::Debug for ModelSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pair, name, bytes, .. } = self;
        f.debug_struct("ModelSource")
            .field("pair", pair)
            .field("name", name)
            .field("bytes", bytes)
            .finish()
    }
}

/// All models of a server.
pub(crate) struct Models {
    slots: BTreeMap<LanguagePair, Slot>,
    queue: QueueSettings,
    memory: u64,
    /// Counts uses, to tell which model was not used for longest.
    clock: AtomicU64,
    /// Held while a model is loaded, so that two do not exceed the memory together.
    loading: tokio::sync::Mutex<()>,
    metrics: Arc<Metrics>,
}

struct Slot {
    source: ModelSource,
    used: AtomicU64,
    queue: Mutex<Option<Arc<Queue>>>,
}

impl Models {
    /// The models of `sources`, none loaded.
    ///
    /// # Errors
    /// [`ServerError::NoModels`], [`ServerError::TwoModels`].
    pub fn new(
        sources: Vec<ModelSource>,
        queue: QueueSettings,
        memory: u64,
        metrics: Arc<Metrics>,
    ) -> Result<Self, ServerError> {
        let mut slots = BTreeMap::new();
        for source in sources {
            let pair = source.pair.clone();
            let slot = Slot { source, used: AtomicU64::new(0), queue: Mutex::default() };
            if slots.insert(pair.clone(), slot).is_some() {
                return Err(ServerError::TwoModels { pair });
            }
        }
        if slots.is_empty() {
            return Err(ServerError::NoModels);
        }
        let (clock, loading) = (AtomicU64::new(1), tokio::sync::Mutex::default());
        Ok(Self { slots, queue, memory, clock, loading, metrics })
    }

    /// The pairs, sorted.
    pub fn pairs(&self) -> impl Iterator<Item = &LanguagePair> {
        self.slots.keys()
    }

    /// The glossary of the model for `pair`, if it has one.
    pub fn glossary(&self, pair: &LanguagePair) -> Option<&Glossary> {
        self.slots.get(pair)?.source.glossary.as_deref()
    }

    /// The pairs that are loaded.
    pub fn loaded(&self) -> usize {
        self.slots.values().filter(|slot| locked(&slot.queue).is_some()).count()
    }

    /// The sentences that wait in all queues.
    pub fn waiting(&self) -> usize {
        let waiting = |slot: &Slot| locked(&slot.queue).as_ref().map_or(0, |queue| queue.waiting());
        self.slots.values().map(waiting).sum()
    }

    /// The sentences that wait, and for how long, where a queue takes no more.
    pub fn full(&self) -> Option<(usize, std::time::Duration)> {
        self.slots
            .values()
            .find_map(|slot| locked(&slot.queue).as_ref().and_then(|queue| queue.full()))
    }

    /// The queue of the model for `pair`, which is loaded if it is not; `None` if there is no such model.
    ///
    /// # Errors
    /// [`ServerError::Load`].
    pub async fn queue(&self, pair: &LanguagePair) -> Option<Result<Arc<Queue>, ServerError>> {
        let slot = self.slots.get(pair)?;
        slot.used.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        if let Some(queue) = locked(&slot.queue).clone() {
            return Some(Ok(queue));
        }
        let _alone = self.loading.lock().await;
        if let Some(queue) = locked(&slot.queue).clone() {
            return Some(Ok(queue));
        }
        self.make_room(slot);
        Some(self.load(slot).await)
    }

    async fn load(&self, slot: &Slot) -> Result<Arc<Queue>, ServerError> {
        let load = slot.source.load.clone();
        let failed = |cause: String| ServerError::Load { name: slot.source.name.clone(), cause };
        let engine = tokio::task::spawn_blocking(move || load()).await;
        let engine = engine.map_err(|error| failed(error.to_string()))?.map_err(failed)?;
        let metrics = self.metrics.clone();
        let note = move |sentences, took| metrics.batch(sentences, took);
        let queue =
            Queue::new(engine, self.queue, note).map_err(|error| failed(error.to_string()))?;
        let queue = Arc::new(queue);
        *locked(&slot.queue) = Some(queue.clone());
        tracing::info!(pair = %slot.source.pair, "model loaded");
        Ok(queue)
    }

    /// Unloads models that were not used for longest until `new` fits beside the others. Requests that have one of them
    /// already keep it until they are answered.
    fn make_room(&self, new: &Slot) {
        loop {
            let loaded = || self.slots.values().filter(|slot| locked(&slot.queue).is_some());
            let used: u64 = loaded().map(|slot| slot.source.bytes).sum();
            let oldest = loaded().min_by_key(|slot| slot.used.load(Ordering::Relaxed));
            match oldest {
                Some(oldest) if used + new.source.bytes > self.memory => {
                    let unloaded = locked(&oldest.queue).take();
                    tracing::info!(pair = %oldest.source.pair, "model unloaded");
                    // Dropping the last owner waits for its batches, which must not hold up the others.
                    std::thread::spawn(move || drop(unloaded));
                }
                _ => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_read_and_written() {
        for text in ["de-en", "pt-BR:en"] {
            let pair: LanguagePair = text.parse().unwrap();
            assert_eq!(pair.to_string().replace(':', "-"), text.replace(':', "-"));
        }
        for text in ["", "de", "de-", "de-de", "../x-en", "de en"] {
            assert!(text.parse::<LanguagePair>().is_err(), "{text}");
        }
    }
}
