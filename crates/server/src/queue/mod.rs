//! The queue in which the sentences of all requests share batches.

mod answer;
mod pace;
mod waiting;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::{StreamExt, TryStreamExt, stream};
use rayon::ThreadPoolBuilder;
use tokio::sync::oneshot;

use self::answer::Answer;
pub use self::answer::QueueError;
use self::waiting::{Batch, Bounds, Item, State, Taken, hand_out};
use crate::compute::{Panicked, compute};
use crate::engine::{Candidate, Choice, Engine, EngineError, Work};
use crate::lock::locked;

/// What a batch may cost per sentence that it may have: 32 tokens and a beam of four.
const COST_PER_SENTENCE: usize = 128;
/// Requests of at most so many sentences are taken as long as there is room. Larger ones leave a
/// quarter of it, so that they cannot shut out the others.
const FEW: usize = 16;
/// A request waits in portions of this share of the room, two at a time, so that a large one leaves
/// room to others.
const PORTIONS: usize = 16;
/// How long a portion waits before it looks for room again.
const AGAIN: Duration = Duration::from_millis(20);

/// The sizes of a [`Queue`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueSettings {
    /// The most sentences in a batch; at least 1. A batch costs at most 128 times as much, counted
    /// in tokens × beam, so that long sentences and wide searches have smaller batches.
    pub batch: usize,
    /// The most sentences that wait; a request beyond it is refused. A large request waits in
    /// portions, so that it can have any size.
    pub waiting: usize,
    /// How long a batch that is not full waits for more sentences. Zero is best on a processor:
    /// while one batch is translated, the next gathers.
    pub patience: Duration,
    /// The number of batches that are translated at the same time; at least 1. They share the
    /// processors equally. If all of them are long sentences, there is one more for the others.
    pub workers: usize,
}

impl QueueSettings {
    fn bounds(self) -> Bounds {
        let sentences = self.batch.max(1);
        let cost = sentences.saturating_mul(COST_PER_SENTENCE);
        Bounds { sentences, cost, workers: self.workers.max(1) }
    }
}

impl Default for QueueSettings {
    fn default() -> Self {
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        Self { batch: 32, waiting: 4096, patience: Duration::ZERO, workers }
    }
}

/// The sentences of all requests to one model, and the threads that translate them.
///
/// Dropping it ends the threads once the batches that they work on are done. It does not wait for
/// them.
pub struct Queue {
    shared: Arc<Shared>,
}

struct Shared {
    engine: Arc<dyn Engine>,
    settings: QueueSettings,
    state: Mutex<State>,
    wake: Condvar,
    batches: Box<dyn Fn(usize, Duration) + Send + Sync>,
}

impl Queue {
    /// A queue for `engine`; `batches` is told of the size and the duration of every batch.
    ///
    /// # Errors
    /// If the system has no threads left.
    pub fn new(
        engine: Arc<dyn Engine>,
        settings: QueueSettings,
        batches: impl Fn(usize, Duration) + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            engine,
            settings,
            state: Mutex::default(),
            wake: Condvar::new(),
            batches: Box::new(batches),
        });
        let workers = settings.workers.max(1);
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        // One more than the workers, for short sentences while all others have long ones.
        for _ in 0..=workers {
            let shared = shared.clone();
            // Each has a pool of its own, in which a batch is not divided further unless processors
            // are left.
            let pool = ThreadPoolBuilder::new().num_threads((threads / workers).max(1));
            let pool = pool.thread_name(|_| "translate".into()).panic_handler(drop);
            pool.build().map_err(std::io::Error::other)?.spawn(move || shared.work());
        }
        Ok(Self { shared })
    }

    /// What translates.
    pub fn engine(&self) -> &Arc<dyn Engine> {
        &self.shared.engine
    }

    /// Tells whether the queue or one of its threads still has the engine.
    pub(crate) fn lives(&self) -> impl Fn() -> bool + Send + use<> {
        let shared = Arc::downgrade(&self.shared);
        move || shared.strong_count() > 0
    }

    /// Ends the queue even if requests still have it: they are answered by what is translated
    /// already.
    pub(crate) fn unload(&self) -> impl Fn() + Send + use<> {
        let shared = Arc::downgrade(&self.shared);
        move || {
            if let Some(shared) = shared.upgrade() {
                shared.lock().unload();
                shared.wake.notify_all();
            }
        }
    }

    /// The number of sentences that wait.
    pub fn waiting(&self) -> usize {
        self.shared.lock().sentences
    }

    /// The number of sentences that wait, and how long they will take, if a request would be
    /// refused.
    pub fn full(&self) -> Option<(usize, Duration)> {
        let state = self.shared.lock();
        let QueueSettings { waiting, workers, .. } = self.shared.settings;
        let retry = state.pace.wait(state.sentences, workers);
        (state.sentences >= waiting).then_some((state.sentences, retry))
    }

    /// Whether the model was unloaded for another one.
    pub(crate) fn is_unloaded(&self) -> bool {
        self.shared.lock().stopped
    }

    /// Translates `work` and waits for the candidates of every sentence, in order. Sentences whose
    /// translations are not finished when the returned future is dropped are left, and have no
    /// candidates when the model is unloaded.
    ///
    /// # Errors
    /// [`QueueError`]; then no translation is returned.
    pub async fn translate(&self, work: Vec<Work>, choice: Choice) -> Answer {
        if work.is_empty() {
            return Ok(Vec::new());
        }
        let engine = self.engine().clone();
        let size = work.iter().map(Work::size).sum();
        let mut items = compute(size, move || priced(&*engine, work, choice)).await??;
        let places: Vec<usize> = items.iter().map(|item| item.place).collect();
        let portion = (self.shared.settings.waiting / PORTIONS).max(FEW);
        let portions = std::iter::from_fn(|| {
            let rest = items.split_off(portion.min(items.len()));
            let mut items = std::mem::replace(&mut items, rest);
            items.iter_mut().enumerate().for_each(|(place, item)| item.place = place);
            (!items.is_empty()).then_some(items)
        });
        let leaving = Leaving::default();
        let answer = |(number, items)| self.portion(items, choice, leaving.0.clone(), number > 0);
        let found = stream::iter(portions.enumerate()).map(answer).buffered(2);
        let found: Vec<_> = found.try_concat().await?;
        let mut answers = vec![Vec::new(); places.len()];
        places.into_iter().zip(found).for_each(|(place, found)| answers[place] = found);
        Ok(answers)
    }

    /// The candidates of `items`. If there is no room for them, it `waits` where an earlier portion
    /// of the request is translated already.
    async fn portion(
        &self,
        mut items: VecDeque<Item>,
        choice: Choice,
        left: Arc<AtomicBool>,
        waits: bool,
    ) -> Answer {
        let count = items.len();
        loop {
            match self.put(&mut items, choice, left.clone()) {
                Ok(answer) => return answer.await.unwrap_or(Err(QueueError::Stopped)),
                Err(QueueError::Full { .. }) if waits => tokio::time::sleep(AGAIN).await,
                Err(QueueError::Stopped) => return Ok(vec![Vec::new(); count]),
                Err(error) => return Err(error),
            }
        }
    }

    fn put(
        &self,
        items: &mut VecDeque<Item>,
        choice: Choice,
        left: Arc<AtomicBool>,
    ) -> Result<oneshot::Receiver<Answer>, QueueError> {
        let (reply, answer) = oneshot::channel();
        let count = items.len();
        let mut state = self.shared.lock();
        if state.stopped {
            return Err(QueueError::Stopped);
        }
        let QueueSettings { waiting, workers, .. } = self.shared.settings;
        let room = if count <= FEW { waiting } else { waiting - waiting / 4 };
        if state.sentences + count > room {
            state.forget_abandoned();
        }
        if state.sentences > 0 && state.sentences + count > room {
            let retry = state.pace.wait(state.sentences, workers);
            return Err(QueueError::Full { waiting: state.sentences, retry });
        }
        state.put(choice, std::mem::take(items), left, reply);
        drop(state);
        self.shared.wake.notify_all();
        Ok(answer)
    }
}

/// Each of `work` with its cost, the most expensive first: sentences that follow each other share
/// batches, and those of similar length do so best.
///
/// # Errors
/// That of the first one that cannot be translated.
fn priced(
    engine: &dyn Engine,
    work: Vec<Work>,
    choice: Choice,
) -> Result<VecDeque<Item>, EngineError> {
    let priced = |(place, work): (usize, Work)| {
        let cost = engine.cost(&work, choice)?;
        Ok(Item { place, work, cost })
    };
    let mut items: Vec<Item> =
        work.into_iter().enumerate().map(priced).collect::<Result<_, _>>()?;
    items.sort_by_key(|item| std::cmp::Reverse(item.cost));
    Ok(items.into())
}

/// A flag that becomes true when nobody waits any more.
#[derive(Default)]
struct Leaving(Arc<AtomicBool>);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl From<Panicked> for QueueError {
    fn from(_: Panicked) -> Self {
        Self::Engine(panicked())
    }
}

fn panicked() -> EngineError {
    EngineError::Failed("the model failed on this text".into())
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.shared.lock().stop();
        self.shared.wake.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }

    /// Translates batches until the queue is dropped.
    fn work(&self) {
        while let Some(Batch { choice, taken, is_long }) = self.next_batch() {
            let begun = Instant::now();
            let count = taken.len();
            match self.translate(&taken, choice) {
                Ok(candidates) => hand_out(taken, candidates),
                Err(error) => self.translate_apart(taken, choice, error),
            }
            let took = begun.elapsed();
            let mut state = self.lock();
            state.pace.add(count, took);
            state.done(is_long);
            drop(state);
            self.wake.notify_all();
            (self.batches)(count, took);
        }
    }

    fn translate(
        &self,
        batch: &[Taken],
        choice: Choice,
    ) -> Result<Vec<Vec<Candidate>>, EngineError> {
        let work: Vec<Work> = batch.iter().map(|taken| taken.work.clone()).collect();
        let left: Vec<_> = batch.iter().map(|taken| taken.left.clone()).collect();
        let translate = || self.engine.translate(&work, choice, &left);
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(translate))
            .unwrap_or_else(|_| Err(panicked()))
    }

    /// Translates the sentences of each request by themselves after `error`, so that one at fault
    /// does not harm others.
    fn translate_apart(&self, batch: Vec<Taken>, choice: Choice, error: EngineError) {
        let mut parts: Vec<Vec<Taken>> = Vec::new();
        for taken in batch {
            let of_same = |part: &&mut Vec<Taken>| Arc::ptr_eq(&part[0].gathered, &taken.gathered);
            match parts.iter_mut().find(of_same) {
                Some(part) => part.push(taken),
                None => parts.push(vec![taken]),
            }
        }
        let alone = parts.len() == 1;
        for part in parts {
            let result = if alone { Err(error.clone()) } else { self.translate(&part, choice) };
            match result {
                Ok(candidates) => hand_out(part, candidates),
                Err(error) => locked(&part[0].gathered).send(Err(error.into())),
            }
        }
    }

    /// Waits for sentences, and for `patience` more unless they fill a batch; `None` at the end.
    fn next_batch(&self) -> Option<Batch> {
        let QueueSettings { batch, patience, .. } = self.settings;
        let bounds = self.settings.bounds();
        let mut state = self.lock();
        loop {
            if state.stopped {
                return None;
            }
            let Some(arrived) = state.first_arrived(bounds) else {
                state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let waited = arrived.elapsed();
            if state.sentences >= batch || waited >= patience {
                return state.take(bounds);
            }
            let rest = patience - waited;
            (state, _) =
                self.wake.wait_timeout(state, rest).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
