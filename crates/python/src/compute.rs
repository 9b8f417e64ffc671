//! Runs work on a thread pool. The caller waits for it without the GIL.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use burnformer_infer::Cancel;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::exception;

/// The maximum delay between Ctrl-C and its effect.
const SIGNAL_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The threads of a process, and the turns of the calls that have work for them.
struct Pool {
    process: u32,
    threads: ThreadPool,
    /// The number of calls that may still start. At most as many calls compute at once as there are
    /// threads. A thread that waits within one call takes up work of another on the same stack. The
    /// stack would not hold hundreds of calls, and the first call would end last.
    turns: Mutex<usize>,
    ended: Condvar,
}

/// The thread pool, started by the first computation. All parallel loops run inside it, so that
/// rayon's global pool, which a forked process could not use, never starts.
static POOL: Mutex<Option<Arc<Pool>>> = Mutex::new(None);

/// Returns the thread pool of this process. A forked process has none of the threads of its parent,
/// and starts its own. (Only threads that hold the GIL take the lock, so no other thread holds it
/// while a process is forked.)
fn pool(_: Python<'_>) -> PyResult<Arc<Pool>> {
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    let process = process::id();
    if let Some(current) = pool.as_ref().filter(|pool| pool.process == process) {
        return Ok(current.clone());
    }
    let threads = ThreadPoolBuilder::new()
        .thread_name(|number| format!("burnformer {number}"))
        .build();
    let threads = threads.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    let turns = Mutex::new(threads.current_num_threads());
    let new = Arc::new(Pool {
        process,
        threads,
        turns,
        ended: Condvar::new(),
    });
    // The threads of the parent cannot be joined here: they are not in this process.
    std::mem::forget(pool.replace(new.clone()));
    Ok(new)
}

impl Pool {
    /// Takes a turn if one is free within [`SIGNAL_POLL_INTERVAL`].
    fn take_turn(&self) -> bool {
        let turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .ended
            .wait_timeout_while(turns, SIGNAL_POLL_INTERVAL, |turns| *turns == 0);
        let (mut turns, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let is_free = *turns > 0;
        *turns -= usize::from(is_free);
        is_free
    }

    fn end_turn(&self) {
        *self.turns.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.ended.notify_one();
    }
}

/// Runs `work` and returns its result. Other Python threads run meanwhile, and signal handlers are
/// called. If a handler raises an exception, as for Ctrl-C, it is returned at once and `work` is
/// cancelled.
///
/// # Errors
/// A [`BurnformerError`](crate::error::BurnformerError) with the error of `work`; the exception of
/// a signal's handler; a `RuntimeError` if `work` panics.
pub fn compute<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&Cancel) -> Result<T> + Send + 'static,
) -> PyResult<T> {
    compute_reporting(py, |cancel, _: Sender<()>| work(cancel), |_, ()| Ok(()))
}

/// What a thread of the pool sends to the caller.
enum Message<T, M> {
    Report(M),
    End(std::thread::Result<Result<T>>),
}

/// Sends reports of a work to its caller.
pub struct Sender<M>(Box<dyn Fn(M) + Send + Sync>);

impl<M> Sender<M> {
    /// Sends `report`. It is lost if the caller was interrupted.
    pub fn send(&self, report: M) {
        (self.0)(report);
    }
}

thread_local! {
    /// If true, this thread is in a function that takes reports.
    static TAKES_REPORT: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work` like [`compute`], and calls `take` with each report that it sends, in the thread of
/// the caller. If `take` fails, `work` is cancelled.
///
/// # Errors
/// The errors of [`compute`] and of `take`; a `RuntimeError` if it is called by a `take`, which
/// could wait for itself.
pub fn compute_reporting<T: Send + 'static, M: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&Cancel, Sender<M>) -> Result<T> + Send + 'static,
    mut take: impl FnMut(Python<'_>, M) -> PyResult<()>,
) -> PyResult<T> {
    if TAKES_REPORT.get() {
        let message = "a callback cannot compute; collect its arguments and compute after the call";
        return Err(PyRuntimeError::new_err(message));
    }
    let pool = pool(py)?;
    while !py.detach(|| pool.take_turn()) {
        py.check_signals()?;
    }
    let cancel = Cancel::default();
    let (sender, mut receiver) = channel();
    let flag = cancel.clone();
    let shared = pool.clone();
    pool.threads.spawn(move || {
        let reports = sender.clone();
        // The caller drops the receiver if it is interrupted.
        let reports = Sender(Box::new(move |report| {
            let _ = reports.send(Message::Report(report));
        }));
        let result = catch_unwind(AssertUnwindSafe(|| work(&flag, reports)));
        shared.end_turn();
        let _ = sender.send(Message::End(result));
    });
    loop {
        let (message, again) =
            py.detach(move || (receiver.recv_timeout(SIGNAL_POLL_INTERVAL), receiver));
        receiver = again;
        match message {
            Ok(Message::Report(report)) => {
                TAKES_REPORT.set(true);
                let outcome = take(py, report);
                TAKES_REPORT.set(false);
                outcome.inspect_err(|_| cancel.cancel())?;
            }
            Ok(Message::End(Ok(result))) => return result.map_err(|error| exception(&error)),
            Ok(Message::End(Err(panic))) => return Err(panicked(&*panic)),
            Err(RecvTimeoutError::Timeout) => {
                py.check_signals().inspect_err(|_| cancel.cancel())?;
            }
            Err(RecvTimeoutError::Disconnected) => return Err(panicked(&"the work is gone")),
        }
    }
}

fn panicked(panic: &(dyn Any + Send)) -> PyErr {
    let text = burnformer::device::panic_text(panic);
    PyRuntimeError::new_err(format!("internal error: {text}; please report it"))
}
