//! The log of the server on standard error.

use std::io::Write;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};

use tracing_subscriber::filter::LevelFilter;

use super::args::Log;
use crate::output::is_quiet;

/// The largest number of buffered log lines. Further lines are dropped, so that no request waits
/// for a reader of the log.
const MAX_LINES: usize = 4096;

/// A log writer that never blocks.
struct Lines(SyncSender<Vec<u8>>);

impl Lines {
    fn start() -> Self {
        let (sender, lines) = sync_channel::<Vec<u8>>(MAX_LINES);
        std::thread::spawn(move || {
            for line in lines {
                // A closed log is not an error of the server.
                let _ = std::io::stderr().write_all(&line);
            }
        });
        Self(sender)
    }
}

impl Write for &Lines {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        let _ = self.0.try_send(line.to_vec());
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Starts the log in this form.
pub(super) fn start(log: Log) {
    if is_quiet() {
        return;
    }
    let lines = tracing_subscriber::fmt().with_writer(Arc::new(Lines::start()));
    let lines = lines.with_target(false);
    let lines = lines.with_max_level(LevelFilter::INFO);
    match log {
        Log::Text => lines.with_ansi(false).init(),
        Log::Json => lines.json().init(),
        Log::Off => {}
    }
}
