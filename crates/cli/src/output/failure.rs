//! The errors that end the program, their messages and their exit codes.

use std::error::Error as _;
use std::fmt::Display;
use std::io::{self, Write};

use anyhow::Result;
use burnformer_train::config::reference::SettingsFile;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::message::Message;
use super::messages::say;

/// The exit code for wrong usage.
const WRONG_USAGE: u8 = 2;

/// The name of standard output in messages.
pub(super) const STANDARD_OUTPUT: &str = "standard output";

/// A broken pipe at standard output. A reader may stop early, as `head` does, and that is not a
/// failure.
#[derive(Debug, thiserror::Error)]
#[error("broken pipe")]
pub struct Closed;

/// The error for a command that a signal ended. Its exit code is 128 plus the number of the signal,
/// as for a process killed by the signal.
#[derive(Debug, thiserror::Error)]
#[error("stopped by signal {0}")]
pub struct Stopped(pub i32);

/// The error for an option value that does not name a usable model.
#[derive(Debug, thiserror::Error)]
#[error("{cause:#}")]
pub struct NoModel {
    /// The cause.
    pub cause: anyhow::Error,
    /// If true, the model was to be fetched: the network or the disk is at fault, not the command
    /// line.
    pub is_fetched: bool,
}

/// Returns the message that the file or folder `name` cannot be written. The caller adds the cause.
pub fn unwritable(name: impl Display) -> String {
    format!("{name}: cannot be written; check the folder, its permissions and the free space")
}

/// Returns the error that `name` cannot be written, or [`Closed`] for a broken pipe.
pub(super) fn not_written(name: &str, cause: io::Error) -> anyhow::Error {
    match cause.kind() {
        io::ErrorKind::BrokenPipe => Closed.into(),
        _ => anyhow::Error::new(cause).context(unwritable(name)),
    }
}

/// Prints the requested help or version, or returns the usage error.
///
/// # Errors
/// Returns `usage` if it is an error, otherwise [`Closed`] for a broken pipe or the error of the
/// system.
pub fn print_usage(usage: clap::Error) -> Result<()> {
    let no_model = usage
        .source()
        .and_then(|cause| cause.downcast_ref::<NoModel>());
    if let Some(cause) = no_model.filter(|cause| cause.is_fetched) {
        return Err(anyhow::Error::msg(cause.to_string()));
    }
    if let Some(hint) = setting_meant(&usage) {
        return Err(wrong_usage(hint));
    }
    if usage.use_stderr() {
        return Err(usage.into());
    }
    usage
        .print()
        .and_then(|()| io::stdout().flush())
        .map_err(|cause| not_written(STANDARD_OUTPUT, cause))
}

/// The option to write instead of an unknown one that is a training setting here or in another
/// toolkit.
fn setting_meant(usage: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(option)) = usage.get(ContextKind::InvalidArg) else {
        return None;
    };
    let command = usage.get(ContextKind::Usage)?.to_string();
    let is_of_runs = [" train ", " study "]
        .iter()
        .any(|name| command.contains(name));
    let name = option.trim_start_matches('-').replace('-', "_");
    let hint = match SettingsFile::Training.find(&name) {
        Ok(tables) => format!("; here it is \"{}\"", tables[0].keys.first()?.path),
        Err(hint) => hint,
    };
    let is_meant = usage.kind() == ErrorKind::UnknownArgument && is_of_runs;
    (is_meant && !hint.is_empty() && !hint.contains("did you mean")).then(|| {
        format!("unexpected argument '{option}': settings are given as --set KEY=VALUE{hint}")
    })
}

/// The error for options that contradict each other. It exits with 2, as clap's own errors do.
pub fn wrong_usage(message: impl Display) -> anyhow::Error {
    let message = Message::of_text(&message.to_string());
    clap::Error::raw(ErrorKind::ValueValidation, format!("{message}\n")).into()
}

/// The exit code for the `result` of a command. Prints the error, if there is one.
pub fn exit_code(result: Result<()>) -> u8 {
    let Err(error) = result else { return 0 };
    if error.is::<Closed>() {
        return 0;
    }
    if let Some(stopped) = error.downcast_ref::<Stopped>() {
        return u8::try_from(128 + stopped.0).unwrap_or(1);
    }
    if let Some(usage) = error.downcast_ref::<clap::Error>() {
        // Standard error may fail, and the exit code is enough.
        let _ = usage.print();
        return WRONG_USAGE;
    }
    say(format_args!("error: {}", Message::of(&error)));
    1
}
