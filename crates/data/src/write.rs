//! Writing files, with errors that name them.

use std::io;
use std::path::Path;

use burnformer_files::{Readers, Temporary, folder_of};

use crate::error::{DataError, Result};

/// Returns the error for a failed write to `path`.
pub(crate) fn unwritable(path: &Path) -> impl Fn(io::Error) -> DataError + '_ {
    |cause| DataError::Unwritable(path.into(), cause)
}

/// Creates a folder and its parents.
pub(crate) fn make_folder(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).map_err(unwritable(path))
}

/// Replaces the file at `path` atomically: readers see either the old content or the new. Other
/// processes may replace it at the same time.
pub(crate) fn write_atomically(path: &Path, bytes: &[u8]) -> Result<()> {
    burnformer_files::write(path, bytes).map_err(unwritable(path))
}

/// Returns a temporary file in the folder of `path`, which can later be renamed to `path`.
pub(crate) fn temporary(path: &Path) -> Result<Temporary> {
    Temporary::new(folder_of(path), Readers::Umask).map_err(unwritable(path))
}
