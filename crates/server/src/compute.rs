//! Work that takes a processor, away from the threads that answer requests.

use std::collections::BTreeMap;
use std::sync::Mutex;

use tokio::sync::oneshot;

use crate::lock::locked;

/// The size in bytes of a text from which on its work counts as large.
const LARGE: usize = 16 << 10;

/// Large work that waits for a processor. Small work needs no turn, so that large texts do not hold
/// it up.
static LINE: Mutex<Line> =
    Mutex::new(Line { running: 0, number: 0, clock: 0, waiting: BTreeMap::new() });

/// Turns by weighted fair queueing, as in the queue of sentences: work waits for as much as it is
/// itself.
struct Line {
    running: usize,
    number: u64,
    /// The bytes that each text would have been served if all were served at the same time.
    clock: u64,
    /// By the clock at which the work would be done, and a number.
    waiting: BTreeMap<(u64, u64), oneshot::Sender<Turn>>,
}

impl Line {
    fn next(&mut self) {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        while self.running < processors {
            let sharing = self.waiting.len() as u64;
            let Some(((done, _), turn)) = self.waiting.pop_first() else { return };
            match turn.send(Turn) {
                Ok(()) => {
                    self.running += 1;
                    self.clock += done.saturating_sub(self.clock).div_ceil(sharing);
                }
                // Nobody waits for it any more.
                Err(turn) => std::mem::forget(turn),
            }
        }
    }
}

/// A processor for large work, until it is dropped.
struct Turn;

impl Turn {
    async fn new(size: usize) -> Self {
        let (sender, turn) = oneshot::channel();
        {
            let mut line = locked(&LINE);
            line.number += 1;
            let key = (line.clock + size as u64, line.number);
            line.waiting.insert(key, sender);
            line.next();
        }
        turn.await.expect("whoever waits has a turn")
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut line = locked(&LINE);
        line.running -= 1;
        line.next();
    }
}

/// The work ended in a panic, which its thread has reported.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Panicked;

/// The result of `work`, which is about texts of `size` bytes together. It runs on a thread that
/// may block.
pub(crate) async fn compute<T: Send + 'static>(
    size: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Panicked> {
    let permit = match size >= LARGE {
        true => Some(Turn::new(size).await),
        false => None,
    };
    let worked = move || {
        let result = work();
        drop(permit);
        result
    };
    tokio::task::spawn_blocking(worked).await.map_err(|_| Panicked)
}
