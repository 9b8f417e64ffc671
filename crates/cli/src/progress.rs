//! Progress lines on standard error during the work on many sentences.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use burnformer_text::counted;

use crate::output::{is_quiet, note};

/// The time between two messages.
const REPORT_INTERVAL: Duration = Duration::from_secs(10);

/// Prints every ten seconds how many sentences are done, until it is dropped.
pub struct Progress {
    done: Arc<AtomicUsize>,
    _ends: Option<Sender<()>>,
}

impl Progress {
    /// Starts the progress lines. `all` is the total number of sentences, if known; an earlier
    /// process has done `before` of them.
    pub fn new(before: u64, all: Option<usize>) -> Self {
        let done = Arc::<AtomicUsize>::default();
        if is_quiet() {
            return Self { done, _ends: None };
        }
        let (ends, ended) = channel();
        let counted = done.clone();
        let started = Instant::now();
        // Without a thread there are no progress lines, but the work continues.
        let _ = thread::Builder::new()
            .name("progress".into())
            .spawn(move || {
                let mut reported = 0;
                while ended.recv_timeout(REPORT_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                    let count = counted.load(Ordering::Relaxed);
                    if count > reported {
                        reported = count;
                        let rate = count as f64 / started.elapsed().as_secs_f64();
                        note(line(before + count as u64, all, rate));
                    }
                }
            });
        Self {
            done,
            _ends: Some(ends),
        }
    }

    /// Counts sentences that are done.
    pub fn add(&self, count: usize) {
        self.done.fetch_add(count, Ordering::Relaxed);
    }
}

fn line(done: u64, all: Option<usize>, rate: f64) -> String {
    match all {
        Some(all) => format!("{done} of {all} sentences | {rate:.1} sentences/s"),
        None => format!("{} | {rate:.1} sentences/s", counted(done, "sentence")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_number_of_sentences_is_shown() {
        assert_eq!(
            line(512, Some(2000), 40.25),
            "512 of 2000 sentences | 40.2 sentences/s"
        );
        assert_eq!(line(512, None, 3.0), "512 sentences | 3.0 sentences/s");
    }
}
