//! ZIP archives whose files are stored without compression, which is how PyTorch and NumPy write
//! weights.
//!
//! No file is decompressed: the content of each is a part of the archive, so that memory is bounded
//! by the archive's size.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Cursor;
use std::ops::Range;
use std::path::{Path, PathBuf};

use burnformer_files::archive::{Price, open, price, unpack};
use tempfile::TempDir;
use zip::CompressionMethod;

use crate::error::{InteropError, Result};
use crate::files::start;

/// Returns whether `bytes` begin with the header of a ZIP archive.
pub(crate) fn is_zip(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06")
}

/// The range of `bytes` that each file of the archive occupies.
///
/// # Errors
/// Returns a message if the archive is damaged or compressed.
pub(crate) fn entries(bytes: &[u8]) -> Result<BTreeMap<String, Range<usize>>, String> {
    let damaged = |error| format!("the archive is damaged: {error}");
    let mut archive = open(Cursor::new(bytes)).map_err(damaged)?;
    let mut found = BTreeMap::new();
    for index in 0..archive.len() {
        let file = archive.by_index_raw(index).map_err(damaged)?;
        let name = file.name().map_err(damaged)?.into_owned();
        if file.compression() != CompressionMethod::Stored {
            return Err(format!(
                "{name} is compressed; write the file anew with numpy.savez or torch.save, which do not compress"
            ));
        }
        let range = range(file.data_start(), file.compressed_size());
        let range = range.filter(|range| range.end <= bytes.len());
        found.insert(name, range.ok_or("the archive is cut short")?);
    }
    Ok(found)
}

fn range(start: Option<u64>, len: u64) -> Option<Range<usize>> {
    let end = usize::try_from(start?.checked_add(len)?).ok()?;
    Some(start? as usize..end)
}

/// The largest number of bytes of the files, as a multiple of the bytes of the package; weights
/// hardly shrink.
const MAX_EXPANSION: u64 = 20;
/// The largest number of files in a package, and the largest number of parts of a file's path.
const MAX_FILES: usize = 1000;
const MAX_DEPTH: usize = 3;

/// The files of the package `path` in a temporary folder; `None` if it is not an archive, or an
/// archive of arrays.
///
/// # Errors
/// Returns [`InteropError::Io`] if a file cannot be read or written, and [`InteropError::Damaged`]
/// if the archive is broken, has too many files, or expands to many times its size.
pub(crate) fn unpacked(path: &Path) -> Result<Option<TempDir>> {
    if !is_zip(&start(path, 8)) {
        return Ok(None);
    }
    let (io, damaged) = (
        |e| InteropError::io(path, e),
        |e: &dyn ToString| InteropError::damaged(path, e.to_string()),
    );
    let file = File::open(path).map_err(io)?;
    let limit = Price {
        entries: MAX_FILES,
        unpacked: MAX_EXPANSION * file.metadata().map_err(io)?.len() + (1 << 20),
    };
    let mut archive = open(file).map_err(|e| damaged(&e))?;
    let is_array = |name: &str| name.ends_with(".npy") || name.ends_with("data.pkl");
    if archive
        .file_names()
        .any(|name| name.is_ok_and(|name| is_array(&name)))
    {
        return Ok(None);
    }
    let price = price(&archive, |_| true).map_err(|e| damaged(&e))?;
    if price.entries > limit.entries {
        return Err(damaged(&format!(
            "it holds {} files, more than a package has",
            price.entries
        )));
    }
    if !price.is_within(limit) {
        return Err(damaged(&format!(
            "it unpacks to more than {MAX_EXPANSION} times its size"
        )));
    }
    let folder = tempfile::tempdir().map_err(io)?;
    for index in 0..archive.len() {
        let file = archive.by_index(index).map_err(|e| damaged(&e))?;
        let name = file
            .enclosed_name()
            .ok_or_else(|| damaged(&"a name leads out of it"))?;
        if file.is_dir() || name.components().count() > MAX_DEPTH {
            continue;
        }
        let to = folder.path().join(name);
        fs::create_dir_all(to.parent().unwrap_or(folder.path())).map_err(io)?;
        let mut out = File::create(&to).map_err(|e| InteropError::io(&to, e))?;
        unpack(file, &mut out).map_err(|e| damaged(&e))?;
    }
    Ok(Some(folder))
}

/// Returns the folder that contains the files: `dir` itself, or its only entry if this is a folder.
pub(crate) fn root(dir: &Path) -> PathBuf {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let paths: Vec<PathBuf> = entries.map(|entry| entry.path()).take(2).collect();
    match &paths[..] {
        [one] if one.is_dir() => one.clone(),
        _ => dir.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use zip::write::SimpleFileOptions;
    use zip::{DateTime, ZipWriter};

    use super::*;

    const ENTRY: &[u8] = b"PK\x01\x02";

    /// An archive of `files`, stored as they are, each with its name.
    fn write(files: &[(String, Vec<u8>)]) -> Vec<u8> {
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        let options = options.last_modified_time(DateTime::DEFAULT);
        let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, bytes) in files {
            archive.start_file(name.as_str(), options).unwrap();
            archive.write_all(bytes).unwrap();
        }
        archive.finish().unwrap().into_inner()
    }

    fn files() -> Vec<(String, Vec<u8>)> {
        vec![
            ("a.npy".into(), vec![1, 2, 3]),
            ("folder/b".into(), vec![9; 100]),
        ]
    }

    /// A small archive would otherwise become as large in memory as it has names.
    #[test]
    fn names_that_share_bytes_are_refused() {
        let files = ["a.npy", "b.npy"].map(|name| (name.to_string(), vec![7; 400]));
        let mut bytes = write(&files);
        assert_eq!(entries(&bytes).unwrap().len(), 2);
        let second = bytes
            .windows(4)
            .rposition(|window| window == ENTRY)
            .unwrap();
        bytes[second + 42..second + 46].fill(0);
        let error = entries(&bytes).unwrap_err();
        assert!(error.contains("share bytes"), "{error}");
    }

    #[test]
    fn archived_files_are_found() {
        let bytes = write(&files());
        assert!(is_zip(&bytes) && bytes == write(&files()));
        let found = entries(&bytes).unwrap();
        assert_eq!(found.len(), 2);
        for (name, content) in files() {
            assert_eq!(bytes[found[&name].clone()], content[..], "{name}");
        }
    }

    #[test]
    fn an_archive_cut_anywhere_or_with_a_false_place_is_refused() {
        let bytes = write(&files());
        for len in 0..bytes.len() {
            assert!(entries(&bytes[..len]).is_err(), "{len}");
        }
        for index in 0..bytes.len() {
            let mut other = bytes.clone();
            other[index] ^= 0xff;
            let _ = entries(&other);
        }
    }

    #[test]
    fn compressed_files_are_refused_with_a_remedy() {
        let mut bytes = write(&files());
        let entry = bytes.windows(4).position(|window| window == ENTRY).unwrap();
        bytes[entry + 10] = 8;
        assert!(entries(&bytes).unwrap_err().contains("numpy.savez"));
    }
}
