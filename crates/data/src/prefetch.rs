//! A background thread that prepares the next batches.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::error::{DataError, Result};
use crate::tokenizer::panic_text;

/// Runs an iterator on a thread of its own, at most `depth` items ahead, and gives its items in
/// order.
///
/// Errors of the iterator are passed on. If it panics, the stream ends with
/// [`DataError::PrefetchPanicked`]. Dropping this value stops the thread and waits for it.
pub struct Prefetch<T> {
    items: Option<Receiver<Result<T>>>,
    thread: Option<JoinHandle<()>>,
    waited: Duration,
}

impl<T: Send + 'static> Prefetch<T> {
    /// Starts the thread. `depth` is the number of finished items that may wait; with 0, each item
    /// is handed over directly.
    ///
    /// # Panics
    /// If the system cannot start a thread.
    pub fn new(items: impl Iterator<Item = Result<T>> + Send + 'static, depth: usize) -> Self {
        let (sender, receiver) = sync_channel(depth);
        let thread = std::thread::Builder::new()
            .name("prefetch".to_owned())
            .spawn(move || produce(items, &sender));
        let thread =
            thread.unwrap_or_else(|error| panic!("no thread to prepare batches on: {error}"));
        Self { items: Some(receiver), thread: Some(thread), waited: Duration::ZERO }
    }

    /// The total time for which [`Iterator::next`] has waited for data. A faster data path could
    /// save at most this time.
    pub fn waited(&self) -> Duration {
        self.waited
    }
}

impl<T> Iterator for Prefetch<T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Self::Item> {
        let start = Instant::now();
        let item = self.items.as_ref()?.recv().ok();
        self.waited += start.elapsed();
        item
    }
}

impl<T> Drop for Prefetch<T> {
    fn drop(&mut self) {
        // Without a receiver, the next send of the thread fails and the thread returns.
        self.items = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Sends items until the iterator ends or nobody receives. A panic is sent as the last item.
fn produce<T>(mut items: impl Iterator<Item = Result<T>>, sender: &SyncSender<Result<T>>) {
    loop {
        let item = catch_unwind(AssertUnwindSafe(|| items.next()));
        let (item, last) = match item {
            Ok(Some(item)) => (item, false),
            Ok(None) => return,
            Err(panic) => {
                let message = panic_text(&*panic).unwrap_or("no message").to_owned();
                (Err(DataError::PrefetchPanicked { message }), true)
            }
        };
        if sender.send(item).is_err() || last {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn items_come_in_order_and_errors_among_them() {
        let items = (0..100).map(|i| if i == 50 { Err(DataError::NoTrainingText) } else { Ok(i) });
        let got: Vec<_> = Prefetch::new(items, 3).collect();
        assert_eq!(got.len(), 100);
        assert!(got.iter().enumerate().all(|(i, item)| match item {
            Ok(value) => *value == i,
            Err(error) => i == 50 && matches!(error, DataError::NoTrainingText),
        }));
    }

    #[test]
    fn a_panic_becomes_an_error_and_ends_the_stream() {
        let mut items =
            Prefetch::new((0..).map(|i| if i == 2 { panic!("two is bad") } else { Ok(i) }), 1);
        assert!(matches!((items.next(), items.next()), (Some(Ok(0)), Some(Ok(1)))));
        match items.next() {
            Some(Err(DataError::PrefetchPanicked { message })) => assert_eq!(message, "two is bad"),
            other => panic!("{other:?}"),
        }
        assert!(items.next().is_none());
    }

    #[test]
    fn dropping_it_stops_the_thread_of_an_endless_iterator() {
        let made = Arc::new(AtomicUsize::new(0));
        let counter = made.clone();
        let mut items = Prefetch::new(
            (0..).map(move |i| {
                counter.fetch_add(1, Ordering::SeqCst);
                Ok(i)
            }),
            2,
        );
        assert!(matches!(items.next(), Some(Ok(0))));
        drop(items);
        let after = made.load(Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(made.load(Ordering::SeqCst), after);
        // One taken, two waiting, one that could not be sent, and one that may have followed the
        // take.
        assert!(after <= 5, "{after}");
    }

    #[test]
    fn waiting_for_a_slow_producer_is_measured() {
        let slow = (0..2).map(|i| {
            std::thread::sleep(Duration::from_millis(30));
            Ok(i)
        });
        let mut items = Prefetch::new(slow, 1);
        items.by_ref().for_each(drop);
        assert!(items.waited() >= Duration::from_millis(40), "{:?}", items.waited());
    }
}
