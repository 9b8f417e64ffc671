//! Progress of the work on many sentences, on standard error from time to time.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use burnformer_data::counted;
use burnformer_infer::Tally;

use crate::output::{is_quiet, note};

/// The time between two messages.
const PAUSE: Duration = Duration::from_secs(10);

/// Says every ten seconds what a tally has counted, as long as this value lives.
pub struct Progress {
    _ends: Option<Sender<()>>,
}

impl Progress {
    /// Watches `tally`. Of `all` sentences, if their number is known, `before` were done by an
    /// earlier process.
    pub fn of(tally: &Tally, before: u64, all: Option<usize>) -> Self {
        if is_quiet() {
            return Self { _ends: None };
        }
        let (ends, ended) = channel();
        let (tally, started, earlier) = (tally.clone(), Instant::now(), tally.count());
        let watch = move || {
            let mut said = earlier;
            while ended.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
                let count = tally.count();
                if count > said {
                    said = count;
                    let rate = (count - earlier) as f64 / started.elapsed().as_secs_f64();
                    let done = before + (count - earlier) as u64;
                    note(line(done, all, rate));
                }
            }
        };
        // Without a thread there is no progress to read, but the work goes on.
        let _ = thread::Builder::new().name("progress".into()).spawn(watch);
        Self { _ends: Some(ends) }
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
    fn the_number_of_all_sentences_is_named_where_it_is_known() {
        assert_eq!(line(512, Some(2000), 40.25), "512 of 2000 sentences | 40.2 sentences/s");
        assert_eq!(line(512, None, 3.0), "512 sentences | 3.0 sentences/s");
    }
}
