//! Work that takes a processor, away from the threads that answer requests.

use std::panic::resume_unwind;
use std::sync::{Arc, LazyLock, Mutex, Weak};

use tokio::sync::oneshot;

use crate::fair::{Fair, Waiter};
use crate::lock::locked;
use crate::sender::Sender;

/// The size in bytes of a text from which on its work counts as large.
pub(crate) const LARGE: usize = 16 << 10;

/// Large work that waits for a processor. Small work needs no turn, so that large texts do not hold
/// it up.
static LINE: LazyLock<Mutex<Line>> = LazyLock::new(Mutex::default);

#[derive(Default)]
struct Line {
    running: usize,
    waiting: Fair<Ticket>,
}

/// Work that waits: its size, and whom to give a turn.
struct Ticket(u64, Option<oneshot::Sender<Turn>>);

impl Waiter for Ticket {
    fn next_cost(&self) -> Option<u64> {
        self.1.as_ref().filter(|turn| !turn.is_closed()).map(|_| self.0)
    }
}

impl Line {
    fn next(&mut self) {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        // Nobody waits any more for some of it.
        self.waiting.retain(|_| {});
        while self.running < processors {
            let Some((key, _)) = self.waiting.find(|_| true) else { return };
            let (_, turn) = self.waiting.turn(&key, |Ticket(size, turn)| (*size, turn.take()));
            match turn.map(|turn| turn.send(Turn)) {
                Some(Err(turn)) => std::mem::forget(turn),
                sent => self.running += usize::from(sent.is_some()),
            }
        }
    }
}

/// A processor for large work, until it is dropped.
struct Turn;

impl Turn {
    async fn new(sender: &Sender, size: usize) -> Self {
        let (reply, turn) = oneshot::channel();
        {
            let mut line = locked(&LINE);
            line.waiting.add(sender, Ticket(size as u64, Some(reply)));
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

/// Tells work whether somebody waits for it.
pub(crate) struct Waits(Weak<()>);

impl Waits {
    /// Ends the work if nobody waits for it any more, as a panic would, but without a report.
    pub fn or_end(&self) {
        if self.0.strong_count() == 0 {
            resume_unwind(Box::new("nobody waits"));
        }
    }
}

/// The work ended in a panic, which its thread has reported.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Panicked;

/// The result of `work` for `sender`, which is about texts of `size` bytes together. It runs on a
/// thread that may block. When the returned future is dropped it ends where it asks whether
/// somebody waits.
pub(crate) async fn compute<T: Send + 'static>(
    sender: &Sender,
    size: usize,
    work: impl FnOnce(&Waits) -> T + Send + 'static,
) -> Result<T, Panicked> {
    let turn = if size >= LARGE { Some(Turn::new(sender, size).await) } else { None };
    let here = Arc::new(());
    let waits = Waits(Arc::downgrade(&here));
    let worked = move || {
        let _turn = turn;
        work(&waits)
    };
    tokio::task::spawn_blocking(worked).await.map_err(|_| Panicked)
}
