//! Work that occupies a processor runs here, not on the threads that answer requests.

use std::panic::resume_unwind;
use std::sync::{Arc, LazyLock, Mutex, Weak};

use tokio::sync::oneshot;

use crate::fair::{SenderQueues, Waiter};
use crate::lock::locked;
use crate::sender::Sender;

/// Work on a text of at least this many bytes counts as large.
pub(crate) const LARGE: usize = 16 << 10;

/// Large work that waits for a processor. Small work needs no turn, so that large texts do not hold
/// it up.
static LINE: LazyLock<Mutex<Line>> = LazyLock::new(Mutex::default);

#[derive(Default)]
struct Line {
    running: usize,
    waiting: SenderQueues<Ticket>,
}

/// Waiting work: its size, and the channel to which its turn is sent.
struct Ticket(u64, Option<oneshot::Sender<Turn>>);

impl Waiter for Ticket {
    fn next_cost(&self) -> Option<u64> {
        self.1
            .as_ref()
            .filter(|turn| !turn.is_closed())
            .map(|_| self.0)
    }
}

impl Line {
    fn next(&mut self) {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        // Removes the work whose result is no longer needed.
        self.waiting.retain(|_| {});
        while self.running < processors {
            let Some((key, _)) = self.waiting.find(|_| true) else {
                return;
            };
            let (_, turn) = self
                .waiting
                .turn(&key, |Ticket(size, turn)| (*size, turn.take()));
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

/// Tells work whether its result is still needed.
pub(crate) struct Cancel(Weak<()>);

impl Cancel {
    /// Ends the work by unwinding, without a report, if its result is no longer needed.
    pub fn unwind_if_cancelled(&self) {
        if self.0.strong_count() == 0 {
            resume_unwind(Box::new("nobody waits"));
        }
    }
}

/// The work ended in a panic, which its thread has reported.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorkPanicked;

/// The result of `work` for `sender`. `size` is the total length of its texts in bytes: large work
/// waits for the sender's turn. The work runs on a thread that may block. When the returned future
/// is dropped, the work ends at its next call of [`Cancel::unwind_if_cancelled`].
pub(crate) async fn compute<T: Send + 'static>(
    sender: &Sender,
    size: usize,
    work: impl FnOnce(&Cancel) -> T + Send + 'static,
) -> Result<T, WorkPanicked> {
    let turn = if size >= LARGE {
        Some(Turn::new(sender, size).await)
    } else {
        None
    };
    let here = Arc::new(());
    let cancel = Cancel(Arc::downgrade(&here));
    let worked = move || {
        let _turn = turn;
        work(&cancel)
    };
    tokio::task::spawn_blocking(worked)
        .await
        .map_err(|_| WorkPanicked)
}
