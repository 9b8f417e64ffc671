//! Ctrl-C and SIGTERM: the first one stops the work cleanly, the second one ends the process at
//! once. On Windows, Ctrl-C and closing the window count as signals.

#[cfg(windows)]
use std::process::exit;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::{io, thread};

use parking_lot::Mutex;
#[cfg(unix)]
use signal_hook::low_level::exit;

use crate::output::{Output, Stopped, say};

/// The state of signal handling: the signals received, and the reaction to the next one.
#[derive(Clone, Default)]
pub struct Signals {
    stop: Arc<AtomicBool>,
    received: Arc<AtomicI32>,
    /// If true, the running work looks at `stop`. If not, a signal ends the process at once.
    is_graceful: Arc<AtomicBool>,
    /// The line to print then; empty for none.
    farewell: Arc<Mutex<&'static str>>,
}

impl Signals {
    /// Catches Ctrl-C and SIGTERM from now on. During
    /// [`run_interruptible`](Self::run_interruptible), the first signal prints `notice` and stops
    /// the work cleanly. Before, afterwards, and at the second signal, the process ends at once.
    ///
    /// # Errors
    /// Returns an error if the system refuses a handler of signals.
    pub fn watch(notice: &'static str) -> io::Result<Self> {
        let signals = Self::default();
        let ours = signals.clone();
        on_signal(move |signal| {
            ours.received.store(signal, Ordering::SeqCst);
            let asked_before = ours.stop.swap(true, Ordering::SeqCst);
            if asked_before || !ours.is_graceful.load(Ordering::SeqCst) {
                let farewell = *ours.farewell.lock();
                if !asked_before && !farewell.is_empty() {
                    say(farewell);
                }
                exit(128 + signal);
            }
            say(notice);
        })?;
        Ok(signals)
    }

    /// Runs `work`. It must end cleanly soon after the flag passed to it is set.
    pub fn run_interruptible<T>(&self, work: impl FnOnce(&AtomicBool) -> T) -> T {
        self.is_graceful.store(true, Ordering::SeqCst);
        let done = work(&self.stop);
        self.is_graceful.store(false, Ordering::SeqCst);
        done
    }

    /// From now on, a signal prints `farewell` and ends the process at once.
    pub fn stop_at_once(&self, farewell: &'static str) {
        *self.farewell.lock() = farewell;
        self.is_graceful.store(false, Ordering::SeqCst);
    }

    /// From now on, the first signal stops the work cleanly again.
    pub fn stop_gracefully(&self) {
        self.is_graceful.store(true, Ordering::SeqCst);
    }

    /// Returns the received signal as an error.
    pub fn stopped(&self) -> Stopped {
        Stopped(self.received.load(Ordering::SeqCst))
    }
}

/// Catches Ctrl-C and SIGTERM from now on: the first signal waits until no writer holds `output`,
/// flushes it and ends the process. The second signal ends the process at once. A writer holds the
/// lock until it has written whole lines.
///
/// # Errors
/// Returns an error if the system refuses a handler of signals.
pub fn flush_and_exit(output: &Arc<Mutex<Option<Output>>>) -> io::Result<()> {
    let output = output.clone();
    let mut is_second = false;
    on_signal(move |signal| {
        if std::mem::replace(&mut is_second, true) {
            exit(128 + signal);
        }
        let output = output.clone();
        thread::spawn(move || {
            let mut output = output.lock();
            output.iter_mut().for_each(Output::give_up);
            exit(128 + signal);
        });
    })
}

/// Calls `handle` with each Ctrl-C and SIGTERM from now on.
///
/// # Errors
/// Returns an error if the system refuses a handler of signals.
#[cfg(unix)]
pub fn on_signal(handle: impl FnMut(i32) + Send + 'static) -> io::Result<()> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let mut caught = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    thread::Builder::new()
        .name("signals".into())
        .spawn(move || caught.forever().for_each(handle))
        .map(drop)
}

/// Calls `handle` with each Ctrl-C from now on, and when the window is closed.
///
/// # Errors
/// Returns an error if the system refuses a handler of signals.
#[cfg(windows)]
pub fn on_signal(handle: impl FnMut(i32) + Send + 'static) -> io::Result<()> {
    *HANDLE.lock() = Some(Box::new(handle));
    // SAFETY: `on_event` has the signature of a handler, and Windows calls it in its own thread.
    match unsafe { SetConsoleCtrlHandler(on_event, 1) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

#[cfg(windows)]
static HANDLE: Mutex<Option<Box<dyn FnMut(i32) + Send>>> = Mutex::new(None);

#[cfg(windows)]
#[link(name = "kernel32")]
unsafe extern "system" {
    fn SetConsoleCtrlHandler(handler: extern "system" fn(u32) -> i32, add: i32) -> i32;
}

#[cfg(windows)]
extern "system" fn on_event(event: u32) -> i32 {
    // Ctrl-C and Ctrl-Break are 0 and 1.
    let is_key = event < 2;
    let mut handle = HANDLE.lock();
    handle
        .iter_mut()
        .for_each(|handle| handle(if is_key { 2 } else { 15 }));
    if !is_key {
        // Windows ends the process as soon as this returns, or after some seconds.
        thread::sleep(std::time::Duration::from_secs(60));
    }
    1
}
