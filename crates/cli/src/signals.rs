//! Ctrl-C and SIGTERM: the first one ends the work in good order, the second one ends the process
//! at once.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::output::{Output, Stopped, say};

/// The requests of the signals so far.
#[derive(Clone, Default)]
pub struct Signals {
    stop: Arc<AtomicBool>,
    received: Arc<AtomicI32>,
    /// If true, the running work looks at `stop`. If not, a signal ends the process at once.
    patient: Arc<AtomicBool>,
    /// The line that is printed then; empty for none.
    farewell: Arc<Mutex<&'static str>>,
}

impl Signals {
    /// Catches Ctrl-C and SIGTERM from now on. While [`patiently`](Self::patiently) runs, the first
    /// signal prints `notice` and stops the work in good order. Before, afterwards, and at the
    /// second signal, the process ends at once.
    ///
    /// # Errors
    /// If the system does not allow it.
    #[cfg(unix)]
    pub fn watch(notice: &'static str) -> std::io::Result<Self> {
        use signal_hook::consts::{SIGINT, SIGTERM};
        let signals = Self::default();
        let ours = signals.clone();
        let mut caught = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
        std::thread::Builder::new().name("signals".into()).spawn(move || {
            for signal in caught.forever() {
                ours.received.store(signal, Ordering::SeqCst);
                let asked_before = ours.stop.swap(true, Ordering::SeqCst);
                if asked_before || !ours.patient.load(Ordering::SeqCst) {
                    let farewell = *ours.farewell.lock().unwrap_or_else(PoisonError::into_inner);
                    if !asked_before && !farewell.is_empty() {
                        say(farewell);
                    }
                    signal_hook::low_level::exit(128 + signal);
                }
                say(notice);
            }
        })?;
        Ok(signals)
    }

    /// Does nothing: on this system, a signal ends the process at once.
    #[cfg(not(unix))]
    pub fn watch(_: &'static str) -> std::io::Result<Self> {
        Ok(Self::default())
    }

    /// Runs `work`, which ends in good order soon after the flag that it receives is set.
    pub fn patiently<T>(&self, work: impl FnOnce(&AtomicBool) -> T) -> T {
        self.patient.store(true, Ordering::SeqCst);
        let done = work(&self.stop);
        self.patient.store(false, Ordering::SeqCst);
        done
    }

    /// From now on, a signal ends the process at once, with the words `farewell`.
    pub fn end_at_once(&self, farewell: &'static str) {
        *self.farewell.lock().unwrap_or_else(PoisonError::into_inner) = farewell;
        self.patient.store(false, Ordering::SeqCst);
    }

    /// From now on, the first signal stops the work in good order again.
    pub fn be_patient(&self) {
        self.patient.store(true, Ordering::SeqCst);
    }

    /// The signal that arrived, as an error.
    pub fn stopped(&self) -> Stopped {
        Stopped(self.received.load(Ordering::SeqCst))
    }
}

/// An output that is flushed when a signal arrives. A writer holds the lock until it has written
/// whole lines.
pub type Shared = Arc<Mutex<Output>>;

/// On Ctrl-C or SIGTERM, waits until no writer holds `output`, flushes it and ends the process. At
/// the second signal, or if nobody reads the output, the process ends at once.
///
/// # Errors
/// If the system does not allow it.
#[cfg(unix)]
pub fn flush_and_exit(output: &Shared) -> std::io::Result<()> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let output = output.clone();
    let mut caught = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    let last_words = move |signal: i32| {
        let mut output = output.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let _ = output.flush();
        output.discard();
        signal_hook::low_level::exit(128 + signal);
    };
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        let mut signals = caught.forever();
        if let Some(first) = signals.next() {
            std::thread::spawn(move || last_words(first));
        }
        if let Some(second) = signals.next() {
            signal_hook::low_level::exit(128 + second);
        }
    })?;
    Ok(())
}

/// Does nothing: on this system, a signal ends the process at once.
#[cfg(not(unix))]
pub fn flush_and_exit(_: &Shared) -> std::io::Result<()> {
    Ok(())
}
