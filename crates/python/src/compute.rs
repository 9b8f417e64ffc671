//! Work on threads of our own, which the caller waits for without Python's lock.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use burnformer_infer::Cancel;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::BurnformerError;

/// How long Ctrl-C may wait.
const PATIENCE: Duration = Duration::from_millis(50);

/// The threads of the process with this number.
struct Pool {
    process: u32,
    threads: Arc<ThreadPool>,
}

/// The threads, once there was something to compute. All parallel loops run inside them, so that rayon's own pool, which a
/// forked process could not use, never starts.
static POOL: Mutex<Option<Pool>> = Mutex::new(None);

/// The threads of this process. A process that was forked has none of its parent's, and starts its own. (The lock is only
/// taken by threads that have Python's, so that no other thread has it while a process is forked.)
fn pool(_: Python<'_>) -> PyResult<Arc<ThreadPool>> {
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    let process = process::id();
    if let Some(own) = pool.as_ref().filter(|pool| pool.process == process) {
        return Ok(own.threads.clone());
    }
    let name = |number| format!("burnformer {number}");
    let threads = ThreadPoolBuilder::new().thread_name(name).build();
    let threads = threads.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    let threads = Arc::new(threads);
    // The parent's threads cannot be ended here: they are not in this process.
    std::mem::forget(pool.replace(Pool { process, threads: threads.clone() }));
    Ok(threads)
}

/// The result of `work`. Python's other threads go on meanwhile, and a signal's handler is called. If that raises an exception,
/// as Ctrl-C does, the exception is returned at once, and `work` is told to end.
///
/// # Errors
/// A [`BurnformerError`] with the error of `work`; the exception of a signal's handler; a `RuntimeError` if `work` panics.
pub fn compute<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&Cancel) -> Result<T> + Send + 'static,
) -> PyResult<T> {
    let cancel = Cancel::default();
    let (sender, mut receiver) = sync_channel(1);
    let flag = cancel.clone();
    pool(py)?.spawn(move || {
        // Nobody takes the result of what was interrupted.
        let _ = sender.send(catch_unwind(AssertUnwindSafe(|| work(&flag))));
    });
    loop {
        let (result, again) = py.detach(move || (receiver.recv_timeout(PATIENCE), receiver));
        receiver = again;
        match result {
            Ok(Ok(result)) => return result.map_err(|error| exception(&error)),
            Ok(Err(panic)) => return Err(panicked(&*panic)),
            Err(RecvTimeoutError::Timeout) => {
                py.check_signals().inspect_err(|_| cancel.cancel())?;
            }
            Err(RecvTimeoutError::Disconnected) => return Err(panicked(&"the work is gone")),
        }
    }
}

/// `error` as an exception with the sentence that the program would print.
pub fn exception(error: &anyhow::Error) -> PyErr {
    BurnformerError::new_err(burnformer::output::message(error))
}

fn panicked(panic: &(dyn Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("it panics");
    PyRuntimeError::new_err(format!("this is a bug of burnformer: {text}"))
}
