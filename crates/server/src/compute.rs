//! Work off the threads that answer requests, and its price.
//!
//! Work takes turns. Its price is estimated before it begins. Time beyond the estimate is charged to
//! the sender when the work ends. Only brief work is done at once, on the thread that asks for it.

use std::iter::Sum;
use std::ops::{Add, Mul};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, LazyLock, Weak};
use std::time::Instant;

use burnformer_documents::{Cost, Format};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::fair::{SenderQueues, Waiter};
use crate::sender::Sender;

/// The estimated processor time of a piece of work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Price {
    nanoseconds: u64,
}

/// The time to read or write a byte of JSON, a form or a table.
const BYTE: Price = Price { nanoseconds: 20 };

/// The time per byte of text to split it into sentences, or to put its translation back.
const BYTE_OF_TEXT: Price = Price { nanoseconds: 500 };

/// The time to parse a byte of markup or of a catalogue, besides the time for its text.
const BYTE_OF_MARKUP: Price = Price { nanoseconds: 500 };

/// The time to parse a rule of plural forms. The rule is evaluated for 201 numbers.
const PLURAL_RULE: Price = Price {
    nanoseconds: 6_000_000,
};

/// The time to find a file in an archive and copy it into another.
const ENTRY: Price = Price {
    nanoseconds: 10_000,
};

/// The time to add a byte of a term to a glossary.
const BYTE_OF_TERM: Price = Price { nanoseconds: 500 };

impl Price {
    /// The price of work that takes this time.
    pub const fn from_milliseconds(milliseconds: u64) -> Self {
        Self {
            nanoseconds: milliseconds * 1_000_000,
        }
    }

    /// The time in microseconds, at least one.
    pub fn microseconds(self) -> u64 {
        self.nanoseconds.div_ceil(1_000).max(1)
    }

    /// The price of `bytes` that are read or written once.
    pub fn of_bytes(bytes: usize) -> Self {
        BYTE * bytes
    }

    /// The price of one step of work on a text of this many bytes: splitting it, or writing it.
    pub fn of_text(bytes: usize) -> Self {
        BYTE_OF_TEXT * bytes
    }

    /// The price of a glossary of this many bytes.
    pub fn of_terms(bytes: usize) -> Self {
        BYTE_OF_TERM * bytes
    }

    /// The price of unpacking and reading a file.
    pub fn of_file(cost: Cost) -> Self {
        let bytes = usize::try_from(cost.unpacked).unwrap_or(usize::MAX);
        BYTE_OF_MARKUP * bytes + ENTRY * cost.entries
    }

    /// The price of reading a document.
    pub fn of_document(text: &str, format: Format) -> Self {
        let rules = match format {
            Format::Po => text.matches("plural=").count(),
            _ => 0,
        };
        let markup = match format {
            Format::Text => Self::default(),
            _ => BYTE_OF_MARKUP * text.len(),
        };
        Self::of_text(text.len()) + markup + PLURAL_RULE * rules
    }
}

impl Add for Price {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            nanoseconds: self.nanoseconds.saturating_add(other.nanoseconds),
        }
    }
}

impl Mul<usize> for Price {
    type Output = Self;

    fn mul(self, count: usize) -> Self {
        Self {
            nanoseconds: self.nanoseconds.saturating_mul(count as u64),
        }
    }
}

impl Sum for Price {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Self::add)
    }
}

/// The maximum price of brief work: a change of threads and back takes as long.
const BRIEF: Price = Price {
    nanoseconds: 100_000,
};

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
pub(crate) struct CancelWatch(Weak<()>);

impl CancelWatch {
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
/// [`CancelWatch::unwind_if_cancelled`]. Brief work is done at once instead.
///
/// # Errors
/// Returns [`WorkPanicked`] if `work` panics.
pub(crate) async fn compute<T: Send + 'static>(
    sender: &Sender,
    price: Price,
    work: impl FnOnce(&CancelWatch) -> T + Send + 'static,
) -> Result<T, WorkPanicked> {
    let here = Arc::new(());
    let cancel = CancelWatch(Arc::downgrade(&here));
    if price <= BRIEF {
        return catch_unwind(AssertUnwindSafe(|| work(&cancel))).map_err(|_| WorkPanicked);
    }
    let turn = Turn::wait(sender, price).await;
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

    /// The lowest price of work that takes a turn.
    const CHEAP: Price = Price {
        nanoseconds: BRIEF.nanoseconds + 1,
    };

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
                compute(&sender, price, move |_: &CancelWatch| {
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
        compute(&sender("two"), CHEAP, |_| ()).await.unwrap();
        let waited = done.load(Ordering::SeqCst) - before;
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        assert!(waited <= 2 * processors, "{waited} long pieces went first");
        drop(long);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn time_beyond_the_price_is_charged_to_the_sender() {
        let _alone = ALONE.lock().await;
        let done = Arc::new(AtomicUsize::new(0));
        let cheap = many("one", 400, CHEAP, &done);
        sleep(Duration::from_millis(100));
        let before = done.load(Ordering::SeqCst);
        // Its price is that of two hundred pieces of the others as they are estimated.
        compute(&sender("two"), SHORT, |_| ()).await.unwrap();
        let waited = done.load(Ordering::SeqCst) - before;
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        // Each processor has a piece already, and may take one or two more.
        let most = 20.max(3 * processors);
        assert!(waited < most, "{waited} pieces went first");
        drop(cheap);
    }

    #[tokio::test]
    async fn brief_work_is_done_by_the_thread_that_asks_for_it() {
        let here = std::thread::current().id();
        let thread = |_: &CancelWatch| std::thread::current().id();
        assert_eq!(compute(&sender("one"), BRIEF, thread).await.unwrap(), here);
        assert_ne!(compute(&sender("one"), CHEAP, thread).await.unwrap(), here);
    }

    #[tokio::test]
    async fn a_panic_of_brief_work_is_an_error() {
        let fails = |_: &CancelWatch| resume_unwind(Box::new("a defect"));
        let result = compute::<()>(&sender("one"), BRIEF, fails).await;
        assert!(result.is_err());
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
                compute(&sender, CHEAP, move |_: &CancelWatch| {
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
