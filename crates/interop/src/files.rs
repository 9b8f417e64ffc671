//! Reads whole files, in memory that is bounded by their size.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use crate::error::{InteropError, Result};

/// The content of a regular file. Anything else (a pipe, a device) is an error, because reading it could block or never
/// end.
pub(crate) fn read_file(path: &Path) -> Result<Vec<u8>> {
    let io = |error| InteropError::io(path, error);
    let size = fs::metadata(path).map_err(io)?;
    if !size.is_file() {
        return Err(InteropError::unsupported(
            path,
            "something other than a file",
            "give a regular file",
        ));
    }
    let mut bytes = Vec::new();
    let len = usize::try_from(size.len()).unwrap_or(usize::MAX);
    if bytes.try_reserve_exact(len).is_err() {
        return Err(io(std::io::ErrorKind::OutOfMemory.into()));
    }
    let file = File::open(path).map_err(io)?;
    file.take(size.len()).read_to_end(&mut bytes).map_err(io)?;
    Ok(bytes)
}

/// The content of `path`, if there is such a file.
pub(crate) fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>> {
    if path.exists() { read_file(path).map(Some) } else { Ok(None) }
}

/// Reads a JSON file.
pub(crate) fn parse_json<T: serde::de::DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes).map_err(|error| InteropError::damaged(path, error))
}

/// Writes `bytes` to a new file.
pub(crate) fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).map_err(|error| InteropError::io(path, error))
}
