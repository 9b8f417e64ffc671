//! Writes files completely or not at all.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

use crate::error::{DataError, Result};

/// The error for a failed write to `path`.
pub(super) fn unwritable(path: &Path) -> impl Fn(io::Error) -> DataError + '_ {
    |cause| DataError::Unwritable { path: path.into(), cause }
}

/// Creates a folder and its parents.
pub(crate) fn make_folder(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).map_err(unwritable(path))
}

/// Writes `bytes` to a temporary file beside `path` and renames it.
pub(crate) fn write_atomically(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = temporary(path)?;
    file.write_all(bytes).map_err(unwritable(path))?;
    commit(file, path)
}

/// A temporary file in the folder of `path`, which can be renamed to `path`.
pub(super) fn temporary(path: &Path) -> Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    as_umask_says(&mut builder);
    builder.tempfile_in(folder(path)).map_err(unwritable(path))
}

/// Flushes `file` to the disk, renames it to `path`, and flushes the folder too.
pub(super) fn commit(file: NamedTempFile, path: &Path) -> Result<()> {
    file.as_file().sync_all().map_err(unwritable(path))?;
    file.persist(path).map_err(|error| unwritable(path)(error.error))?;
    // Some file systems cannot flush a folder. The rename has happened in any case.
    let _ = File::open(folder(path)).and_then(|folder| folder.sync_all());
    Ok(())
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Gives a temporary file the permissions that the user's umask gives to new files. Temporary files are private
/// otherwise.
#[cfg(unix)]
fn as_umask_says(builder: &mut tempfile::Builder<'_, '_>) {
    use std::os::unix::fs::PermissionsExt;
    builder.permissions(std::fs::Permissions::from_mode(0o666));
}

#[cfg(not(unix))]
fn as_umask_says(_: &mut tempfile::Builder<'_, '_>) {}
