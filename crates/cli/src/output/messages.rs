//! Messages on standard error, and `--quiet`, which suppresses the notes among them.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use burnformer_data::corpus::is_standard_input;
use burnformer_train::report::Verbosity;

/// Prints a message, of one line or several, to standard error. A terminal that was closed or a
/// full disk must not end a run of several days, so a failure is ignored (`eprintln!` would panic).
pub fn say(text: impl Display) {
    // A single write, so that lines of several threads or processes do not mix.
    let _ = io::stderr().write_all(format!("{text}\n").as_bytes());
}

/// If true, only results, warnings and errors are printed.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Sets whether notes are suppressed (`--quiet`).
pub fn set_quiet(quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
}

/// Returns whether notes are suppressed (`--quiet`).
pub fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// The lines that a run prints.
pub fn verbosity() -> Verbosity {
    if is_quiet() {
        Verbosity::Quiet
    } else {
        Verbosity::Normal
    }
}

/// Prints a remark to standard error, as [`say`] does with warnings and errors, unless `--quiet` is
/// set.
pub fn note(text: impl Display) {
    if !is_quiet() {
        say(text);
    }
}

/// Tells the user that one of `inputs` is read from the terminal.
pub fn note_terminal<'a>(inputs: impl IntoIterator<Item = &'a Path>) {
    if inputs.into_iter().any(is_standard_input) && io::stdin().is_terminal() {
        let end = if cfg!(windows) {
            "Ctrl-Z and Enter"
        } else {
            "Ctrl-D"
        };
        note(format_args!("reading standard input, end with {end}"));
    }
}
