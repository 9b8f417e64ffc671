//! A queue that batches the sentences of all requests together.

mod waiting;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use rayon::ThreadPoolBuilder;
use tokio::sync::oneshot;

use self::waiting::{Answer, Batch, FEW, Item, State, TakenSentence, WaitingRequest, hand_out};
pub use self::waiting::{QueueError, QueueSettings};
use crate::compute::{CancelWatch, Price, WorkPanicked, compute};
use crate::engine::{Candidate, Choice, Engine, EngineError, Job, Report, Sentence};
use crate::sender::{Sender, may_take};

/// A function that takes the index of a sentence and the settled beginning of its translation, each
/// time that it has grown. If a sentence has to be translated again, it begins again.
pub type Watcher = Arc<dyn Fn(usize, &str) + Send + Sync>;

/// The sentences of all requests to one model, and the threads that translate them.
///
/// Dropping the queue ends the threads after their current batches, without waiting for them.
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
    /// Creates a queue for `engine`. `batches` is called with the size and duration of every batch.
    ///
    /// # Errors
    /// Returns an error if a thread cannot be started.
    pub fn new(
        engine: Arc<dyn Engine>,
        settings: QueueSettings,
        batches: impl Fn(usize, Duration) + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        let QueueSettings {
            batch,
            waiting,
            workers,
        } = settings;
        let settings = QueueSettings {
            batch: batch.max(1),
            waiting,
            workers: workers.max(1),
        };
        let shared = Arc::new(Shared {
            engine,
            settings,
            state: Mutex::default(),
            wake: Condvar::new(),
            batches: Box::new(batches),
        });
        let workers = settings.workers;
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        // One more thread than workers: it takes short sentences while all others have long ones.
        for _ in 0..=workers {
            let shared = shared.clone();
            // Each has its own pool. It divides a batch further only if there are more processors
            // than workers.
            let pool = ThreadPoolBuilder::new().num_threads((threads / workers).max(1));
            let pool = pool.thread_name(|_| "translate".into()).panic_handler(drop);
            pool.build()
                .map_err(std::io::Error::other)?
                .spawn(move || shared.work());
        }
        Ok(Self { shared })
    }

    /// The engine behind this queue.
    pub fn engine(&self) -> &Arc<dyn Engine> {
        &self.shared.engine
    }

    /// Returns a function that returns whether the queue or one of its threads still holds the
    /// engine.
    pub(crate) fn lives(&self) -> impl Fn() -> bool + Send + use<> {
        let shared = Arc::downgrade(&self.shared);
        move || shared.strong_count() > 0
    }

    /// Ends the queue even if requests still refer to it. Running batches are translated, and
    /// requests are answered without the other sentences.
    pub(crate) fn unload(&self) {
        self.shared.state.lock().unload();
        self.shared.wake.notify_all();
    }

    /// The number of waiting sentences.
    pub fn waiting(&self) -> usize {
        self.shared.state.lock().sentences
    }

    /// Returns whether the model was unloaded for another one.
    pub(crate) fn is_unloaded(&self) -> bool {
        self.shared.state.lock().stopped
    }

    /// Translates `sentences` for `sender` and waits for the candidates of every sentence, in order. If
    /// the returned future is dropped, unfinished sentences are not translated. A sentence that
    /// still waits when the model is unloaded gets no candidates. `watcher` follows
    /// the translations.
    ///
    /// # Errors
    /// Returns a [`QueueError`] for the whole request; no translation is returned then.
    pub async fn translate(
        &self,
        sender: &Sender,
        sentences: Vec<Sentence>,
        choice: Choice,
        watcher: Option<Watcher>,
    ) -> Answer {
        if sentences.is_empty() {
            return Ok(Vec::new());
        }
        let engine = self.engine().clone();
        let cost = Price::of_text(sentences.iter().map(Sentence::size).sum());
        let items = compute(sender, cost, move |cancel: &CancelWatch| {
            priced(&*engine, sentences, choice, watcher, cancel)
        })
        .await??;
        let count = items.len();
        let leaving = CancelOnDrop::default();
        match self.put(sender, items, choice, leaving.0.clone()) {
            Ok(answer) => answer.await.unwrap_or(Err(QueueError::Stopped)),
            Err(QueueError::Stopped) => Ok(vec![Vec::new(); count]),
            Err(error) => Err(error),
        }
    }

    fn put(
        &self,
        sender: &Sender,
        items: VecDeque<Item>,
        choice: Choice,
        abandoned: Arc<AtomicBool>,
    ) -> Result<oneshot::Receiver<Answer>, QueueError> {
        let (reply, answer) = oneshot::channel();
        let waiting = self.shared.settings.waiting;
        let heaviest = self.shared.settings.heaviest();
        let weight = items.len().min(heaviest);
        let mut state = self.shared.state.lock();
        state.forget_abandoned();
        if state.stopped {
            return Err(QueueError::Stopped);
        }
        let free = waiting.saturating_sub(state.weight(heaviest));
        let free = if weight <= FEW { free } else { free / 2 };
        if state.sentences > 0 && !may_take(state.weight_of(sender, heaviest), weight, free) {
            return Err(QueueError::Full);
        }
        state.put(sender, WaitingRequest::new(choice, items, abandoned, reply));
        drop(state);
        self.shared.wake.notify_all();
        Ok(answer)
    }
}

/// Prepares each of `sentences` with the engine, and sorts them by cost, the most expensive
/// first. Neighbours share batches, so that the sentences of a batch have similar lengths.
///
/// # Errors
/// Returns the error of the first sentence that cannot be translated.
fn priced(
    engine: &dyn Engine,
    sentences: Vec<Sentence>,
    choice: Choice,
    watcher: Option<Watcher>,
    cancel: &CancelWatch,
) -> Result<VecDeque<Item>, EngineError> {
    let mut items: Vec<Item> = sentences
        .into_iter()
        .enumerate()
        .map(|(index, sentence): (usize, Sentence)| {
            cancel.unwind_if_cancelled();
            let mut job = engine.prepare(sentence, choice)?;
            job.report = watcher
                .clone()
                .map(|watcher| Report::new(move |settled| watcher(index, settled)));
            Ok(Item { index, job })
        })
        .collect::<Result<_, _>>()?;
    items.sort_by_key(|item| std::cmp::Reverse(item.job.cost));
    Ok(items.into())
}

/// A flag that becomes true on drop: the request is no longer needed.
#[derive(Default)]
struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl From<WorkPanicked> for QueueError {
    fn from(_: WorkPanicked) -> Self {
        Self::Engine(panicked())
    }
}

fn panicked() -> EngineError {
    EngineError::Failed("the model failed on this text".into())
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.shared.state.lock().stop();
        self.shared.wake.notify_all();
    }
}

impl Shared {
    /// Translates batches until the queue is dropped.
    fn work(&self) {
        while let Some(Batch {
            choice,
            taken,
            is_long,
        }) = self.next_batch()
        {
            let begun = Instant::now();
            let count = taken.len();
            match self.translate(&taken, choice) {
                Ok(candidates) => hand_out(taken, candidates),
                Err(error) => self.translate_apart(taken, choice, error),
            }
            self.state.lock().done(is_long);
            self.wake.notify_all();
            (self.batches)(count, begun.elapsed());
        }
    }

    fn translate(
        &self,
        batch: &[TakenSentence],
        choice: Choice,
    ) -> Result<Vec<Vec<Candidate>>, EngineError> {
        let jobs: Vec<&Job> = batch.iter().map(|taken| &taken.job).collect();
        let abandoned: Vec<_> = batch.iter().map(|taken| taken.abandoned.clone()).collect();
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            self.engine.translate(&jobs, choice, &abandoned)
        }))
        .unwrap_or_else(|_| Err(panicked()))
    }

    /// Translates each sentence alone after `error`, so that a sentence at fault does not affect
    /// the others.
    fn translate_apart(&self, batch: Vec<TakenSentence>, choice: Choice, error: EngineError) {
        let is_alone = batch.len() == 1;
        for taken in batch {
            let one = std::slice::from_ref(&taken);
            match if is_alone {
                Err(error.clone())
            } else {
                self.translate(one, choice)
            } {
                Ok(candidates) => hand_out(vec![taken], candidates),
                Err(error) => taken.partial.lock().send(Err(error.into())),
            }
        }
    }

    /// Waits for the next batch; `None` when the queue is stopped.
    fn next_batch(&self) -> Option<Batch> {
        let mut state = self.state.lock();
        while !state.stopped {
            if let Some(batch) = state.take(self.settings) {
                return Some(batch);
            }
            self.wake.wait(&mut state);
        }
        None
    }
}
