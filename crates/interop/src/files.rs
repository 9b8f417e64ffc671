//! Reads whole files, in memory that is bounded by their size.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::Path;

use crate::error::{InteropError, Result};

/// The content of a regular file. Anything else (a pipe, a device) is an error, because reading it
/// could block or never end.
pub(crate) fn read_file(path: &Path) -> Result<Vec<u8>> {
    let size = fs::metadata(path).map_err(|error| InteropError::io(path, error))?;
    if !size.is_file() {
        let what = "something other than a file";
        return Err(InteropError::unsupported(path, what, "give a regular file"));
    }
    let mut bytes = Vec::new();
    let len = usize::try_from(size.len()).unwrap_or(usize::MAX);
    if has_no_memory(len) || burnformer_files::try_reserve(&mut bytes, len).is_err() {
        return Err(InteropError::TooLarge(path.into(), size.len()));
    }
    let file = File::open(path).map_err(|error| InteropError::io(path, error))?;
    file.take(size.len())
        .read_to_end(&mut bytes)
        .map_err(|error| InteropError::io(path, error))?;
    Ok(bytes)
}

/// Returns whether this machine says that it has less than `len` bytes of memory. Linux grants more
/// than that, and ends the process once it is used.
fn has_no_memory(len: usize) -> bool {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    kilobytes.is_some_and(|kilobytes: usize| len / 1024 >= kilobytes)
}

/// Returns the content of `path`, or `None` if nothing has this name. A dangling link is an error.
pub(crate) fn read_optional(path: &Path) -> Result<Option<Vec<u8>>> {
    match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        _ => read_file(path).map(Some),
    }
}

/// Returns the first `len` bytes of a regular file, or all bytes if it is shorter. Returns no bytes
/// for anything else.
pub(crate) fn start(path: &Path, len: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    // Opening a pipe would block.
    if path.is_file()
        && let Ok(file) = File::open(path)
    {
        let _ = file.take(len).read_to_end(&mut bytes);
    }
    bytes
}

/// Returns the names of the entries of `dir` other than folders, in alphabetical order.
pub(crate) fn names(dir: &Path) -> Result<Vec<String>> {
    let dir = if dir.as_os_str().is_empty() {
        Path::new(".")
    } else {
        dir
    };
    let mut names = Vec::new();
    for entry in fs::read_dir(dir).map_err(|error| InteropError::io(dir, error))? {
        let entry = entry.map_err(|error| InteropError::io(dir, error))?;
        if !entry.path().is_dir() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// Reads a JSON file.
pub(crate) fn parse_json<T: serde::de::DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes).map_err(|error| InteropError::damaged(path, error))
}

/// Writes `bytes` to a new file.
pub(crate) fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).map_err(|error| InteropError::io(path, error))
}
