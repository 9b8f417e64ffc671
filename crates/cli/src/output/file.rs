//! Results in files and on standard output.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use burnformer_files::{Temporary, folder_of};

use super::failure::{STANDARD_OUTPUT, not_written, unwritable, wrong_usage};

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
            name: STANDARD_OUTPUT.into(),
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
    /// Returns [`Closed`](super::Closed) for a broken pipe, otherwise the error of the system.
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
    /// Returns [`Closed`](super::Closed) for a broken pipe, otherwise the error of the system.
    pub fn flush(&mut self) -> Result<()> {
        self.writer.flush().map_err(|cause| self.failed(cause))
    }

    fn failed(&self, cause: io::Error) -> anyhow::Error {
        not_written(&self.name, cause)
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
    let opened = if !path.exists() {
        Temporary::beside(path).map(drop)
    } else if path.is_file() {
        File::options().append(true).open(path).map(drop)
    } else {
        // Opening a pipe and closing it would show its reader the end.
        Ok(())
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

/// Prints one result, of one line or several, to standard output.
///
/// # Errors
/// Returns [`Closed`](super::Closed) for a broken pipe, otherwise the error of the system
/// (`println!` would panic).
pub fn print(text: impl Display) -> Result<()> {
    let mut output = Output::standard();
    output.line(text)?;
    output.flush()
}
