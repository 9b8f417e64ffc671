use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::error::{ModelDirError, ModelDirProblem, Result};
use super::source::Source;
use super::tensors::{StoredTensors, read_from, write};

/// The file of the parameters.
pub(super) const WEIGHTS: &str = "model.safetensors";
const MANIFEST: &str = "manifest.json";
/// Largest accepted manifest in bytes; a manifest lists only a few files.
const MAX_MANIFEST_BYTES: u64 = 1 << 20;

#[derive(Serialize, Deserialize)]
struct Manifest {
    files: BTreeMap<String, Entry>,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    bytes: u64,
    sha256: String,
}

/// Writes `manifest.json` with the size and hash of every file in `dir`. This is the last step of
/// saving.
///
/// # Errors
/// Returns a [`ModelDirError`] if a file cannot be read or the manifest cannot be written.
pub fn seal(dir: &Path) -> Result<()> {
    seal_files(dir, |_| true)
}

/// Writes `manifest.json` again, with the size and hash of the files that it lists and of `new`;
/// see [`seal`]. Files that others put into `dir` stay unlisted, so that they may change.
///
/// # Errors
/// Returns the errors of [`seal`], and an error if the manifest cannot be read.
pub fn seal_again(dir: &Path, new: &str) -> Result<()> {
    let listed = read_manifest(dir.into())?.files;
    seal_files(dir, |name| name == new || listed.contains_key(name))
}

fn seal_files(dir: &Path, is_listed: impl Fn(&str) -> bool) -> Result<()> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(dir).map_err(|e| ModelDirError::io(dir, e))? {
        let path = entry.map_err(|e| ModelDirError::io(dir, e))?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        // A file that is left out here would be missing from the sealed folder without a word.
        let is_file = burnformer_files::is_file(&path).map_err(|e| ModelDirError::io(&path, e))?;
        if is_file && name != MANIFEST && is_listed(&name) {
            let hashed = File::open(&path).and_then(hashed);
            let (bytes, sha256) = hashed.map_err(|e| ModelDirError::io(&path, e))?;
            files.insert(name, Entry { bytes, sha256 });
        }
    }
    let json = serde_json::to_vec_pretty(&Manifest { files }).expect("a manifest is plain data");
    write(&dir.join(MANIFEST), &json)
}

/// Returns the paths of the manifest of `dir` and of the files that it lists.
///
/// # Errors
/// Returns a [`ModelDirError`] if the manifest cannot be read.
pub fn files(dir: &Path) -> Result<Vec<PathBuf>> {
    let listed = read_manifest(dir.into())?.files.into_keys();
    let names = [MANIFEST.to_owned()].into_iter().chain(listed);
    Ok(names.map(|name| dir.join(name)).collect())
}

/// Checks size and hash of every file that the manifest of `source` lists.
///
/// # Errors
/// Returns a [`ModelDirError`] that names the first file that is missing, changed, truncated or
/// outside of the directory.
pub fn verify<'a>(source: impl Into<Source<'a>>) -> Result<()> {
    verify_all(source.into(), |_| true)
}

/// Checks every file except the weights, which [`load`](super::load) checks when it reads them, so
/// that each file is read once.
///
/// # Errors
/// Returns the errors of [`verify`].
pub fn verify_before_load<'a>(source: impl Into<Source<'a>>) -> Result<()> {
    verify_all(source.into(), |name| name != WEIGHTS)
}

fn verify_all(source: Source, is_checked: impl Fn(&str) -> bool) -> Result<()> {
    for (name, entry) in &read_manifest(source)?.files {
        if is_checked(name) {
            verify_file(source, name, entry)?;
        }
    }
    Ok(())
}

/// Checks the file `name` without holding it in memory.
fn verify_file(source: Source, name: &str, entry: &Entry) -> Result<()> {
    let path = source.join(name);
    let (file, size) = open_checked(source, name, entry)?;
    if let Some(known) = source.hash(name) {
        return check_hash(known, entry, &path);
    }
    let hashed = hashed(file.take(size));
    let (_, hash) = hashed.map_err(|e| ModelDirError::io(&path, e))?;
    check_hash(&hash, entry, &path)
}

/// Checks that `hash` is the hash in the manifest.
fn check_hash(hash: &str, entry: &Entry, path: &Path) -> Result<()> {
    if hash == entry.sha256 {
        Ok(())
    } else {
        Err(ModelDirProblem::Tampered("hash").at(path))
    }
}

/// Reads the bytes of the file `name` and checks them against the manifest. Returns `None` if the
/// manifest does not list the file, even if it exists, because its content cannot be checked.
///
/// # Errors
/// Returns a [`ModelDirError`] if the file is missing, changed, truncated or outside of the
/// directory.
pub fn read<'a>(source: impl Into<Source<'a>>, name: &str) -> Result<Option<Vec<u8>>> {
    let source = source.into();
    let manifest = read_manifest(source)?;
    manifest
        .files
        .get(name)
        .map(|entry| checked(source, name, entry))
        .transpose()
}

/// Reads the bytes of the file `name`, which the manifest must list, and checks them.
pub(super) fn read_checked(source: Source, name: &str) -> Result<Vec<u8>> {
    read(source, name)?.ok_or_else(|| ModelDirProblem::Unlisted.at(source.join(name)))
}

/// Reads the tensors of the file `name`, a safetensors file that the manifest must list, and checks
/// its bytes as they come.
pub(super) fn read_tensors_checked(source: Source, name: &str) -> Result<StoredTensors> {
    let manifest = read_manifest(source)?;
    let path = source.join(name);
    let entry = manifest
        .files
        .get(name)
        .ok_or_else(|| ModelDirProblem::Unlisted.at(&path))?;
    let (mut file, size) = open_checked(source, name, entry)?;
    let known = source.hash(name);
    let mut hash = Sha256::new();
    let tensors = read_from(&path, &mut file, size, |bytes| {
        if known.is_none() {
            hash.update(bytes);
        }
    });
    if let Err(ModelDirError {
        problem: ModelDirProblem::Io(_) | ModelDirProblem::OutOfMemory,
        ..
    }) = tensors
    {
        return tensors;
    }
    // Reads the bytes that a damaged header left. A wrong hash explains more than the damage.
    io::copy(&mut file, &mut hash).map_err(|e| ModelDirError::io(&path, e))?;
    if known.unwrap_or(&format!("{:x}", hash.finalize())) != &entry.sha256 {
        return Err(ModelDirProblem::Tampered("hash").at(path));
    }
    tensors
}

fn checked(source: Source, name: &str, entry: &Entry) -> Result<Vec<u8>> {
    let path = source.join(name);
    let (file, size) = open_checked(source, name, entry)?;
    let bytes = read_up_to(&path, file, size)?;
    let hash = source.hash(name).cloned().unwrap_or_else(|| sha256(&bytes));
    check_hash(&hash, entry, &path)?;
    Ok(bytes)
}

/// Opens a file that is inside the directory and as large as the manifest says.
fn open_checked<'a>(
    source: Source<'a>,
    name: &str,
    entry: &Entry,
) -> Result<(Box<dyn Read + Send + 'a>, u64)> {
    source.check_inside(name)?;
    // The size is compared first, so that no memory is allocated for a file of the wrong size.
    let (file, size) = source.open(name)?;
    if size != entry.bytes {
        return Err(ModelDirProblem::Tampered("size").at(source.join(name)));
    }
    Ok((file, size))
}

/// Reads `file`, but at most `size` bytes.
fn read_up_to(path: &Path, file: impl Read, size: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    burnformer_files::try_reserve(&mut bytes, size)
        .map_err(|_| ModelDirProblem::OutOfMemory.at(path))?;
    file.take(size as u64)
        .read_to_end(&mut bytes)
        .map_err(|e| ModelDirError::io(path, e))?;
    Ok(bytes)
}

fn read_manifest(source: Source) -> Result<Manifest> {
    source.check_has(MANIFEST)?;
    let path = source.join(MANIFEST);
    let (file, size) = source.open(MANIFEST)?;
    if size > MAX_MANIFEST_BYTES {
        let message = format!("{size} bytes are too many for a list of a few files");
        return Err(ModelDirError::damaged(&path, message));
    }
    let bytes = read_up_to(&path, file, size)?;
    serde_json::from_slice(&bytes).map_err(|e| ModelDirError::damaged(&path, e))
}

/// Returns the number of bytes that `file` yields, and their hash.
fn hashed(mut file: impl Read) -> io::Result<(u64, String)> {
    let mut hash = Sha256::new();
    let bytes = io::copy(&mut file, &mut hash)?;
    Ok((bytes, format!("{:x}", hash.finalize())))
}

fn sha256(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}
