//! The queue in which the sentences of all requests share batches.

mod pace;
mod waiting;

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use self::waiting::{Gathered, State, Taken, Waiting, hand_out};
use crate::engine::{Candidate, Choice, Engine, EngineError, Work};

/// The sizes of a [`Queue`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueSettings {
    /// The most sentences in a batch; at least 1.
    pub batch: usize,
    /// The most sentences that wait; a request beyond it is refused, unless the queue is empty.
    pub waiting: usize,
    /// How long a batch that is not full waits for more sentences. Zero is best on a processor: while one batch is
    /// translated, the next gathers.
    pub patience: Duration,
    /// The number of batches that are translated at the same time; at least 1.
    pub workers: usize,
}

impl Default for QueueSettings {
    fn default() -> Self {
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        Self { batch: 32, waiting: 4096, patience: Duration::ZERO, workers }
    }
}

/// Why a request was not translated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueueError {
    /// Too many sentences wait.
    #[error("{waiting} sentences are waiting already; try again in {} s", retry.as_secs())]
    Full {
        /// The number of sentences that wait.
        waiting: usize,
        /// When to try again.
        retry: Duration,
    },
    /// The server is being stopped.
    #[error("the server is being stopped")]
    Stopped,
    /// The engine has failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// What becomes of one request: the candidates of each of its sentences.
type Answer = Result<Vec<Vec<Candidate>>, QueueError>;

/// The sentences of all requests to one model, and the threads that translate them.
///
/// Dropping it ends the threads once the batches that they work on are done.
pub struct Queue {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
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
        let start = |_| {
            let shared = shared.clone();
            std::thread::Builder::new().name("translate".into()).spawn(move || shared.work())
        };
        let threads = (0..settings.workers.max(1)).map(start).collect::<Result<_, _>>()?;
        Ok(Self { shared, threads })
    }

    /// What translates.
    pub fn engine(&self) -> &Arc<dyn Engine> {
        &self.shared.engine
    }

    /// The number of sentences that wait.
    pub fn waiting(&self) -> usize {
        self.shared.lock().sentences
    }

    /// The number of sentences that wait, and how long they will take, if a request would be refused.
    pub fn full(&self) -> Option<(usize, Duration)> {
        let state = self.shared.lock();
        let QueueSettings { waiting, workers, .. } = self.shared.settings;
        let retry = state.pace.wait(state.sentences, workers);
        (state.sentences >= waiting).then_some((state.sentences, retry))
    }

    /// Translates `work` and waits for the candidates of every sentence, in order. Sentences that have not been
    /// translated when the returned future is dropped are left out.
    ///
    /// # Errors
    /// [`QueueError`]; then no translation is returned.
    pub async fn translate(&self, work: Vec<Work>, choice: Choice) -> Answer {
        if work.is_empty() {
            return Ok(Vec::new());
        }
        let answer = self.put(work, choice)?;
        answer.await.unwrap_or(Err(QueueError::Stopped))
    }

    fn put(
        &self,
        work: Vec<Work>,
        choice: Choice,
    ) -> Result<oneshot::Receiver<Answer>, QueueError> {
        let (reply, answer) = oneshot::channel();
        let count = work.len();
        let gathered =
            Gathered { answers: vec![Vec::new(); count], missing: count, reply: Some(reply) };
        let mut state = self.shared.lock();
        if state.stopped {
            return Err(QueueError::Stopped);
        }
        let QueueSettings { waiting, workers, .. } = self.shared.settings;
        if state.sentences > 0 && state.sentences + count > waiting {
            state.forget_abandoned();
        }
        if state.sentences > 0 && state.sentences + count > waiting {
            let retry = state.pace.wait(state.sentences, workers);
            return Err(QueueError::Full { waiting: state.sentences, retry });
        }
        state.sentences += count;
        state.requests.push_back(Waiting {
            choice,
            arrived: Instant::now(),
            work: work.into_iter().enumerate().collect(),
            gathered: Arc::new(Mutex::new(gathered)),
        });
        drop(state);
        self.shared.wake.notify_one();
        Ok(answer)
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.stopped = true;
        state.requests.clear();
        drop(state);
        self.shared.wake.notify_all();
        for thread in self.threads.drain(..) {
            // A panic has been reported by the thread itself.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }

    /// Translates batches until the queue is dropped.
    fn work(&self) {
        while let Some((choice, batch)) = self.next_batch() {
            if batch.is_empty() {
                continue;
            }
            let begun = Instant::now();
            let count = batch.len();
            match self.translate(&batch, choice) {
                Ok(candidates) => hand_out(batch, candidates),
                Err(error) => self.translate_apart(batch, choice, error),
            }
            let took = begun.elapsed();
            self.lock().pace.add(count, took);
            (self.batches)(count, took);
        }
    }

    fn translate(
        &self,
        batch: &[Taken],
        choice: Choice,
    ) -> Result<Vec<Vec<Candidate>>, EngineError> {
        let work: Vec<Work> = batch.iter().map(|taken| taken.work.clone()).collect();
        let translate = || self.engine.translate(&work, choice);
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(translate))
            .unwrap_or_else(|_| Err(EngineError::Failed("the model failed on this text".into())))
    }

    /// Translates the sentences of each request by themselves after `error`, so that one at fault does not harm others.
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
    fn next_batch(&self) -> Option<(Choice, Vec<Taken>)> {
        let QueueSettings { batch, patience, .. } = self.settings;
        let mut state = self.lock();
        loop {
            if state.stopped {
                return None;
            }
            let Some(first) = state.requests.front() else {
                state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let waited = first.arrived.elapsed();
            if state.sentences >= batch || waited >= patience {
                let taken = state.take(batch);
                if state.sentences > 0 {
                    self.wake.notify_one();
                }
                return Some(taken);
            }
            let rest = patience - waited;
            (state, _) =
                self.wake.wait_timeout(state, rest).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A lock that outlives the panic of a thread that held it: what it guards is valid between any two statements.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
