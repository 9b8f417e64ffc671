//! Everything that can go wrong in reporting, with one variant per cause.

use std::io;
use std::path::{Path, PathBuf};

/// The result of this module's functions.
pub(super) type Result<T, E = ReportError> = std::result::Result<T, E>;

/// A report cannot be written or read back. Every message names the file and a remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// The file system refused to create, extend or replace a file or folder.
    #[error(
        "{path}: cannot be written: {cause}; check permissions and free space, then resume the run",
        path = path.display()
    )]
    Unwritable {
        /// The file or folder.
        path: PathBuf,
        /// What the operating system said.
        cause: io::Error,
    },
    /// The file cannot be read: it does not exist, is a folder, or may not be read by this user.
    #[error("{path}: cannot be read: {cause}; check the path and its permissions", path = path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        cause: io::Error,
    },
    /// A complete line of a metrics file is not a [`Record`](super::Record).
    #[error(
        "{path}:{line}: not a metrics record: {message}; delete that line, the others stand on their own",
        path = path.display()
    )]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The message of the parser.
        message: String,
    },
    /// A new run would mix its numbers with those of an earlier run.
    #[error(
        "{path}: holds the metrics of an earlier run; resume that run, or choose an empty run directory",
        path = path.display()
    )]
    AlreadyThere {
        /// The metrics file.
        path: PathBuf,
    },
}

/// Adds the name of the file to an error of writing.
pub(super) fn unwritable(path: &Path) -> impl FnOnce(io::Error) -> ReportError {
    move |cause| ReportError::Unwritable { path: path.to_path_buf(), cause }
}

/// Adds the name of the file to an error of reading.
pub(super) fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> ReportError {
    move |cause| ReportError::Unreadable { path: path.to_path_buf(), cause }
}
