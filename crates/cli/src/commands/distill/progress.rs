//! How far the work is, from time to time.

use std::time::{Duration, Instant};

use crate::output::say;

/// The time between two messages.
const PAUSE: Duration = Duration::from_secs(10);

pub(super) struct Progress {
    started: Instant,
    said: Instant,
    done: usize,
}

impl Progress {
    pub(super) fn start() -> Self {
        Self { started: Instant::now(), said: Instant::now(), done: 0 }
    }

    /// Counts `new` lines, and says now and then that `lines` are done, with those of earlier processes.
    pub(super) fn report(&mut self, new: usize, lines: u64) {
        self.done += new;
        if self.said.elapsed() < PAUSE {
            return;
        }
        self.said = Instant::now();
        let rate = self.done as f64 / self.started.elapsed().as_secs_f64();
        say(format_args!("{lines} lines | {rate:.1} lines/s"));
    }
}
