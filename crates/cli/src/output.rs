//! Writing results to files and standard output.

use std::error::Error as _;
use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, ensure};
use burnformer_data::corpus::is_standard_input;
use burnformer_files::{Temporary, folder_of};
use burnformer_train::config::reference::SettingsFile;
use burnformer_train::report::Verbosity;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use serde_json::Value;

use crate::message::Message;

/// The exit code for wrong usage.
const WRONG_USAGE: u8 = 2;

/// A broken pipe at standard output. A reader may stop early, as `head` does, and that is not a
/// failure.
#[derive(Debug, thiserror::Error)]
#[error("nobody reads the output any more")]
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

/// A file or standard output, for results.
///
/// A regular file is written beside its path and replaces what is there when it is
/// [finished](Self::finish), so that a killed process leaves the old file. Pipes and devices are
/// written directly.
pub struct Output {
    name: String,
    writer: Box<dyn Write + Send>,
    unfinished: Option<Unfinished>,
}

/// A file that waits beside its path.
struct Unfinished {
    file: Temporary,
    path: PathBuf,
    on_failure: OnFailure,
}

/// What happens to the results before a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// They are kept: an error in line 100 leaves the translations of the first 99 lines.
    Keep,
    /// They are discarded: the file is written atomically.
    Discard,
}

impl Output {
    /// Opens standard output.
    pub fn standard() -> Self {
        Self {
            name: "standard output".into(),
            writer: Box::new(BufWriter::new(io::stdout())),
            unfinished: None,
        }
    }

    /// Opens the output at `path`, or standard output for `None`. A symbolic link stays, and its
    /// target is replaced. A file keeps its permissions. Its hard links keep the old content.
    ///
    /// # Errors
    /// Returns an error if the file cannot be created.
    pub fn create(path: Option<&Path>, on_failure: OnFailure) -> Result<Self> {
        let Some(path) = path else {
            return Ok(Self::standard());
        };
        check_name(path)?;
        Self::open(path, on_failure).with_context(|| unwritable(path.display()))
    }

    fn open(path: &Path, on_failure: OnFailure) -> io::Result<Self> {
        if is_written_directly(path) {
            return Self::directly(path);
        }
        let real = behind_links(path);
        if real.exists() {
            // A read-only file must not be replaced either.
            File::options().append(true).open(&real)?;
        }
        let file = match Temporary::beside(&real) {
            // The user may write the file, but not its folder.
            Err(cause) if is_of_folder(&cause) => return Self::directly(&real),
            file => file?,
        };
        if let Ok(old) = fs::metadata(&real) {
            // Some file systems have no permissions.
            let _ = fs::set_permissions(file.path(), old.permissions());
        }
        Ok(Self {
            name: path.display().to_string(),
            writer: Box::new(BufWriter::new(file.handle()?)),
            unfinished: Some(Unfinished {
                file,
                path: real,
                on_failure,
            }),
        })
    }

    fn directly(path: &Path) -> io::Result<Self> {
        Ok(Self {
            name: path.display().to_string(),
            writer: Box::new(BufWriter::new(File::create(path)?)),
            unfinished: None,
        })
    }

    /// Flushes the output, and gives the file its name.
    ///
    /// # Errors
    /// Returns the errors of [`flush`](Self::flush).
    pub fn finish(&mut self) -> Result<()> {
        self.flush()?;
        let Some(Unfinished { file, path, .. }) = self.unfinished.take() else {
            return Ok(());
        };
        publish(file, &path).with_context(|| unwritable(&self.name))
    }

    /// The path of the unfinished file.
    pub fn temporary_path(&self) -> Option<&Path> {
        self.unfinished.as_ref().map(|it| it.file.path())
    }

    /// Ends the output after a failure or a signal. Earlier results are kept or discarded, as
    /// chosen when the output was opened. A file that could not be written, or that would be empty,
    /// is discarded.
    pub fn give_up(&mut self) {
        let is_flushed = self.flush().is_ok();
        let Some(Unfinished {
            file,
            path,
            on_failure,
        }) = self.unfinished.take()
        else {
            return;
        };
        let has_results = fs::metadata(file.path()).is_ok_and(|it| it.len() > 0);
        if is_flushed && has_results && on_failure == OnFailure::Keep {
            // The failure itself is reported.
            let _ = publish(file, &path);
        }
    }

    /// Writes one line.
    ///
    /// # Errors
    /// Returns [`Closed`] for a broken pipe, otherwise the error of the system.
    pub fn line(&mut self, line: impl Display) -> Result<()> {
        writeln!(self.writer, "{line}").map_err(|cause| self.failed(cause))
    }

    /// Writes `text` without a line end.
    ///
    /// # Errors
    /// Returns the errors of [`line`](Self::line).
    pub fn text(&mut self, text: impl AsRef<[u8]>) -> Result<()> {
        self.writer
            .write_all(text.as_ref())
            .map_err(|cause| self.failed(cause))
    }

    /// Flushes the buffer.
    ///
    /// # Errors
    /// Returns [`Closed`] for a broken pipe, otherwise the error of the system.
    pub fn flush(&mut self) -> Result<()> {
        self.writer.flush().map_err(|cause| self.failed(cause))
    }

    fn failed(&self, cause: io::Error) -> anyhow::Error {
        match cause.kind() {
            io::ErrorKind::BrokenPipe => Closed.into(),
            _ => anyhow::Error::new(cause).context(unwritable(&self.name)),
        }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        self.give_up();
    }
}

/// Writes the whole content of the file at `path`.
///
/// # Errors
/// Returns the errors of [`Output::create`] and [`Output::finish`].
pub fn write_whole(path: &Path, content: impl AsRef<[u8]>) -> Result<()> {
    let mut output = Output::create(Some(path), OnFailure::Discard)?;
    output.text(content)?;
    output.finish()
}

/// The path of the file to create or replace when writing to `path`.
fn behind_links(path: &Path) -> PathBuf {
    let real = fs::canonicalize(path).ok();
    real.or_else(|| Some(folder_of(path).join(fs::read_link(path).ok()?)))
        .unwrap_or_else(|| path.into())
}

/// Returns whether `path` is a pipe, a device, or an open file of this process. None of them can be
/// replaced.
fn is_written_directly(path: &Path) -> bool {
    let is_special = fs::metadata(path).is_ok_and(|metadata| !metadata.is_file());
    let streams = ["/dev/stdout", "/dev/stderr"];
    let folders = ["/dev/fd", "/proc/self/fd"];
    is_special
        || streams.iter().any(|name| path == Path::new(name))
        || folders
            .iter()
            .any(|folder| path.parent() == Some(Path::new(folder)))
}

/// Returns whether `cause` prevents a temporary file in the folder, but perhaps not the file
/// itself: the folder is read-only, or the longer name is too long.
fn is_of_folder(cause: &io::Error) -> bool {
    use io::ErrorKind::{InvalidFilename, PermissionDenied, ReadOnlyFilesystem};
    matches!(
        cause.kind(),
        InvalidFilename | PermissionDenied | ReadOnlyFilesystem
    )
}

/// Renames `file` to `path`, or copies it if `path` cannot be replaced, such as a file mounted in a
/// container.
fn publish(file: Temporary, path: &Path) -> io::Result<()> {
    let mut content = File::open(file.path())?;
    match file.publish(path) {
        Err(cause) if cause.kind() == io::ErrorKind::ResourceBusy => {
            let mut old = File::create(path)?;
            io::copy(&mut content, &mut old).map(drop)
        }
        published => published,
    }
}

/// Refuses an output with the extension of a compressed file.
///
/// # Errors
/// Returns a usage error, which ends the program with exit code 2.
pub fn check_name(path: &Path) -> Result<()> {
    if path
        .extension()
        .is_some_and(|end| end == "gz" || end == "zst")
    {
        return Err(wrong_usage(format_args!(
            "{}: the output is plain text; name it without the last ending, or send standard output through a compressor",
            path.display()
        )));
    }
    Ok(())
}

/// Refuses an output that cannot be written, for a command that opens the output only at its end.
/// The check neither changes nor creates a file.
///
/// # Errors
/// Returns the errors of [`check_name`], and of the system.
pub fn check_writable(path: &Path) -> Result<()> {
    check_name(path)?;
    let opened = match path.exists() {
        // Opening a pipe and closing it would show its reader the end.
        true if !path.is_file() => Ok(()),
        true => File::options().append(true).open(path).map(drop),
        false => Temporary::beside(path).map(drop),
    };
    opened.with_context(|| unwritable(path.display()))
}

/// Refuses `out` if it exists, for a command that creates a file or folder.
///
/// # Errors
/// Returns an error if `out` exists.
pub fn check_new(out: &Path) -> Result<()> {
    ensure!(
        !out.exists(),
        "{}: exists already; choose another --out",
        out.display()
    );
    Ok(())
}

/// Returns the message that the file or folder `name` cannot be written. The caller adds the cause.
pub fn unwritable(name: impl Display) -> String {
    format!("{name}: cannot be written; check the folder, its permissions and the free space")
}

/// Prints one result, of one line or several, to standard output.
///
/// # Errors
/// Returns [`Closed`] for a broken pipe, otherwise the error of the system (`println!` would
/// panic).
pub fn print(text: impl Display) -> Result<()> {
    let mut output = Output::standard();
    output.line(text)?;
    output.flush()
}

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

/// Prints the requested help or version, or returns the usage error.
///
/// # Errors
/// Returns `usage` if it is an error, otherwise the errors of [`Output::line`].
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
    let output = Output::standard();
    usage
        .print()
        .and_then(|()| io::stdout().flush())
        .map_err(|cause| output.failed(cause))
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

/// Formats `rows` (JSON objects) as CSV with the header `columns`, the keys of the objects. A text
/// with a comma, a quote or a line end is quoted (RFC 4180), and null is an empty cell.
pub fn csv(columns: &str, rows: impl IntoIterator<Item = Value>) -> String {
    let cell = |value: &Value| match value {
        Value::Null => String::new(),
        Value::String(text) if text.contains([',', '"', '\n', '\r']) => {
            format!("\"{}\"", text.replace('"', "\"\""))
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let cells = |row: Value| {
        columns
            .split(',')
            .map(|key| cell(&row[key]))
            .collect::<Vec<_>>()
    };
    let lines = rows.into_iter().map(|row| cells(row).join(","));
    [columns.to_owned()]
        .into_iter()
        .chain(lines)
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn cells_that_would_end_early_are_quoted() {
        let rows = [
            json!({"x": "1, 2", "y": "a \"b\""}),
            json!({"y": 0.5, "x": null, "z": 1}),
        ];
        assert_eq!(csv("x,y", rows), "x,y\n\"1, 2\",\"a \"\"b\"\"\"\n,0.5");
    }
}
