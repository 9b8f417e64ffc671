//! Packages of models in one file: `.argosmodel` of Argos Translate, `.zip` of OPUS-MT.

use std::fs::{self, File};
use std::io::{Read, copy};
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use zip::ZipArchive;

use crate::error::{InteropError, Result};
use crate::files::start;
use crate::zip::is_zip;

/// The most bytes of the files, as a multiple of the bytes of the package; weights hardly shrink.
const MOST: u64 = 20;
/// The most files in a package, and folders around one.
const MOST_FILES: usize = 1000;
const DEEPEST: usize = 3;

/// The files of the package `path` in a temporary folder; `None` if it is no archive of files, but
/// one of arrays, or none.
///
/// # Errors
/// [`InteropError::Damaged`], also for packages that unpack to far more than they are;
/// [`InteropError::Io`].
pub(crate) fn unpacked(path: &Path) -> Result<Option<TempDir>> {
    if !is_zip(&start(path, 8)) {
        return Ok(None);
    }
    let (io, damaged) = (
        |e| InteropError::io(path, e),
        |e: &dyn ToString| InteropError::damaged(path, e.to_string()),
    );
    let file = File::open(path).map_err(io)?;
    let mut left = MOST * file.metadata().map_err(io)?.len() + (1 << 20);
    let mut archive = ZipArchive::new(file).map_err(|e| damaged(&e))?;
    let is_array = |name: &str| name.ends_with(".npy") || name.ends_with("data.pkl");
    if archive.file_names().any(|name| name.is_ok_and(|name| is_array(&name))) {
        return Ok(None);
    }
    if archive.len() > MOST_FILES {
        return Err(damaged(&format!("it holds {} files, more than a package has", archive.len())));
    }
    let folder = tempfile::tempdir().map_err(io)?;
    for index in 0..archive.len() {
        let mut file = archive.by_index(index).map_err(|e| damaged(&e))?;
        let name = file.enclosed_name().ok_or_else(|| damaged(&"a name leads out of it"))?;
        if file.is_dir() || name.components().count() > DEEPEST {
            continue;
        }
        let to = folder.path().join(name);
        fs::create_dir_all(to.parent().unwrap_or(folder.path())).map_err(io)?;
        let mut out = File::create(&to).map_err(|e| InteropError::io(&to, e))?;
        let copied = copy(&mut file.by_ref().take(left + 1), &mut out).map_err(|e| damaged(&e))?;
        left = left
            .checked_sub(copied)
            .ok_or_else(|| damaged(&format!("it unpacks to more than {MOST} times its size")))?;
    }
    Ok(Some(folder))
}

/// The folder in `dir` in which the files are: `dir` itself, or the one folder that is all of it.
pub(crate) fn root(dir: &Path) -> PathBuf {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let paths: Vec<PathBuf> = entries.map(|entry| entry.path()).take(2).collect();
    match &paths[..] {
        [one] if one.is_dir() => one.clone(),
        _ => dir.into(),
    }
}
