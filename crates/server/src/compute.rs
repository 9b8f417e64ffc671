//! Work that takes a processor, away from the threads that answer requests.

use std::sync::LazyLock;

use tokio::sync::Semaphore;

/// The size in bytes of a text from which on its work counts as large.
const LARGE: usize = 16 << 10;

/// Permits for large work, one for each processor. Small work needs none, so that large texts do not hold it up.
static PERMITS: LazyLock<Semaphore> =
    LazyLock::new(|| Semaphore::new(std::thread::available_parallelism().map_or(1, usize::from)));

/// The work ended in a panic, which its thread has reported.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Panicked;

/// The result of `work`, which is about texts of `size` bytes together. It runs on a thread that may block.
pub(crate) async fn compute<T: Send + 'static>(
    size: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Panicked> {
    let permit = match size >= LARGE {
        true => Some(PERMITS.acquire().await.expect("the semaphore is never closed")),
        false => None,
    };
    let worked = move || {
        let result = work();
        drop(permit);
        result
    };
    tokio::task::spawn_blocking(worked).await.map_err(|_| Panicked)
}
