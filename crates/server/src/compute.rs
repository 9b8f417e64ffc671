//! Runs CPU-bound work off the threads that answer requests.
//!
//! All work takes turns, whatever its size. Its price is estimated before it begins. Time beyond
//! the estimate is charged to the sender when the work ends.

use std::panic::resume_unwind;
use std::sync::{Arc, LazyLock, Weak};
use std::time::Instant;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::fair::{SenderQueues, Waiter};
use crate::price::Price;
use crate::sender::Sender;

/// The maximum price of short work.
const SHORT: Price = Price::from_milliseconds(20);

/// Turns beyond the number of processors. They are reserved for short work of senders without
/// another turn, so that a short text does not wait for a long document to finish.
const SHORT_TURNS: usize = 1;

/// Work that waits for a processor.
static LINE: LazyLock<Mutex<Line>> = LazyLock::new(Mutex::default);

#[derive(Default)]
struct Line {
    /// The sender of each turn.
    running: Vec<Sender>,
    waiting: SenderQueues<Ticket>,
}

/// Waiting work: its price, and the channel for its turn.
struct Ticket {
    sender: Sender,
    price: Price,
    reply: Option<oneshot::Sender<Turn>>,
}

impl Waiter for Ticket {
    fn next_cost(&self) -> Option<u64> {
        let reply = self.reply.as_ref()?;
        (!reply.is_closed()).then_some(self.price.microseconds())
    }
}

impl Line {
    /// Gives free turns to waiting work.
    fn next(&mut self) {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        // Removes cancelled work.
        self.waiting.retain(|_| {});
        while self.running.len() < processors + SHORT_TURNS {
            let takes_all = self.running.len() < processors;
            let Some((key, _)) = self.waiting.find(|ticket: &Ticket| {
                takes_all || ticket.price <= SHORT && !self.running.contains(&ticket.sender)
            }) else {
                return;
            };
            let (_, turn) = self.waiting.turn(&key, |ticket| {
                let turn = Turn::new(ticket.sender.clone(), ticket.price);
                let sent = ticket.reply.take().map(|reply| reply.send(turn));
                (ticket.price.microseconds(), sent)
            });
            match turn {
                Some(Ok(())) => self.running.push(key.0),
                Some(Err(turn)) => turn.give_up(),
                None => {}
            }
        }
    }

    /// Ends a turn and charges the time beyond its price.
    fn end(&mut self, turn: &Turn) {
        let unpaid = turn.begun.elapsed().as_micros() as u64;
        let unpaid = unpaid.saturating_sub(turn.price.microseconds());
        self.waiting.charge(&turn.sender, unpaid);
        let index = self.running.iter().position(|it| *it == turn.sender);
        index.map(|index| self.running.swap_remove(index));
        self.next();
    }
}

/// A turn on a processor; dropping it ends the turn.
struct Turn {
    sender: Sender,
    price: Price,
    begun: Instant,
    /// If false, nobody took the turn.
    is_taken: bool,
}

impl Turn {
    fn new(sender: Sender, price: Price) -> Self {
        Self {
            sender,
            price,
            begun: Instant::now(),
            is_taken: true,
        }
    }

    /// Waits for a turn for `sender`.
    async fn wait(sender: &Sender, price: Price) -> Self {
        let (reply, turn) = oneshot::channel();
        {
            let mut line = LINE.lock();
            let ticket = Ticket {
                sender: sender.clone(),
                price,
                reply: Some(reply),
            };
            line.waiting.add(sender, ticket);
            line.next();
        }
        turn.await.expect("whoever waits has a turn")
    }

    /// Drops a turn that nobody took. The line is locked by the caller.
    fn give_up(mut self) {
        self.is_taken = false;
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.is_taken {
            LINE.lock().end(self);
        }
    }
}

/// Tells work whether its result is still needed.
pub(crate) struct Cancel(Weak<()>);

impl Cancel {
    /// Ends the work by unwinding, without a panic message, if its result is no longer needed.
    pub fn unwind_if_cancelled(&self) {
        if self.0.strong_count() == 0 {
            resume_unwind(Box::new("nobody waits"));
        }
    }
}

/// The work panicked. Its thread has reported the panic.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorkPanicked;

/// Waits for a turn of `sender`, runs `work` on a thread that may block, and returns its result.
/// When the returned future is dropped, the work ends at its next call to
/// [`Cancel::unwind_if_cancelled`].
///
/// # Errors
/// Returns [`WorkPanicked`] if `work` panics.
pub(crate) async fn compute<T: Send + 'static>(
    sender: &Sender,
    price: Price,
    work: impl FnOnce(&Cancel) -> T + Send + 'static,
) -> Result<T, WorkPanicked> {
    let turn = Turn::wait(sender, price).await;
    let here = Arc::new(());
    let cancel = Cancel(Arc::downgrade(&here));
    tokio::task::spawn_blocking(move || {
        let _turn = turn;
        work(&cancel)
    })
    .await
    .map_err(|_| WorkPanicked)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread::sleep;
    use std::time::Duration;

    use tokio::task::JoinSet;

    use super::*;

    /// The tests share the line, and each fills it.
    static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

    fn sender(name: &str) -> Sender {
        Sender::Key(name.into())
    }

    /// Runs `count` pieces of work of `name` that take 20 ms each, and counts those that are done.
    fn many(name: &str, count: usize, price: Price, done: &Arc<AtomicUsize>) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        for _ in 0..count {
            let done = done.clone();
            let sender = sender(name);
            tasks.spawn(async move {
                compute(&sender, price, move |_: &Cancel| {
                    sleep(Duration::from_millis(20));
                    done.fetch_add(1, Ordering::SeqCst);
                })
                .await
                .unwrap();
            });
        }
        tasks
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn short_work_does_not_wait_for_long_work() {
        let _alone = ALONE.lock().await;
        let done = Arc::new(AtomicUsize::new(0));
        let long = many("one", 200, SHORT + SHORT, &done);
        sleep(Duration::from_millis(50));
        let before = done.load(Ordering::SeqCst);
        compute(&sender("two"), Price::default(), |_| ())
            .await
            .unwrap();
        let waited = done.load(Ordering::SeqCst) - before;
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        assert!(waited <= 2 * processors, "{waited} long pieces went first");
        drop(long);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn time_beyond_the_price_is_charged_to_the_sender() {
        let _alone = ALONE.lock().await;
        let done = Arc::new(AtomicUsize::new(0));
        let cheap = many("one", 400, Price::default(), &done);
        sleep(Duration::from_millis(100));
        let before = done.load(Ordering::SeqCst);
        // It is charged as much as a thousand pieces of the others at their estimated price.
        compute(&sender("two"), SHORT, |_| ()).await.unwrap();
        let waited = done.load(Ordering::SeqCst) - before;
        assert!(waited < 20, "{waited} pieces went first");
        drop(cheap);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn no_more_work_runs_at_once_than_there_are_turns() {
        let _alone = ALONE.lock().await;
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let running = Arc::new(AtomicUsize::new(0));
        let mut tasks = JoinSet::new();
        for number in 0..100 {
            let running = running.clone();
            tasks.spawn(async move {
                let sender = sender(&number.to_string());
                compute(&sender, Price::default(), move |_: &Cancel| {
                    let others = running.fetch_add(1, Ordering::SeqCst);
                    sleep(Duration::from_millis(2));
                    running.fetch_sub(1, Ordering::SeqCst);
                    others
                })
                .await
                .unwrap()
            });
        }
        let others = tasks.join_all().await.into_iter().max();
        assert!(others < Some(processors + SHORT_TURNS), "{others:?}");
    }
}
