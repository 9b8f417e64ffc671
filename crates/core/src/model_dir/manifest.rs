use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::error::ModelDirError;

const MANIFEST: &str = "manifest.json";

#[derive(Serialize, Deserialize)]
struct Manifest {
    files: BTreeMap<String, Entry>,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    bytes: u64,
    sha256: String,
}

/// Writes `manifest.json` over all files in `dir`: the last step of saving.
///
/// # Errors
/// [`ModelDirError::Io`] if a file cannot be read or the manifest not be written.
pub fn seal(dir: &Path) -> Result<(), ModelDirError> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(dir).map_err(|e| ModelDirError::io(dir, e))? {
        let path = entry.map_err(|e| ModelDirError::io(dir, e))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_file() && name != MANIFEST {
            let bytes = fs::read(&path).map_err(|e| ModelDirError::io(&path, e))?;
            files.insert(name, Entry { bytes: bytes.len() as u64, sha256: sha256(&bytes) });
        }
    }
    let json = serde_json::to_vec_pretty(&Manifest { files }).expect("a manifest is plain data");
    write_atomically(&dir.join(MANIFEST), &json)
}

/// Checks every file that the manifest of `dir` lists.
///
/// # Errors
/// A [`ModelDirError`] that names the first file that is missing, changed or truncated.
pub fn verify(dir: &Path) -> Result<(), ModelDirError> {
    let names: Vec<String> = read_manifest(dir)?.files.into_keys().collect();
    names.iter().try_for_each(|name| read_checked(dir, name).map(drop))
}

/// The bytes of `dir/name`, checked against the manifest; `None` if that does not list it.
///
/// # Errors
/// A [`ModelDirError`] if the file is missing, changed or truncated.
pub fn read(dir: &Path, name: &str) -> Result<Option<Vec<u8>>, ModelDirError> {
    match read_checked(dir, name) {
        Err(ModelDirError::Unlisted { .. }) => Ok(None),
        bytes => bytes.map(Some),
    }
}

/// The bytes of `dir/name`, if they are those that the manifest lists.
pub(super) fn read_checked(dir: &Path, name: &str) -> Result<Vec<u8>, ModelDirError> {
    let path = dir.join(name);
    let manifest = read_manifest(dir)?;
    let Some(entry) = manifest.files.get(name) else {
        return Err(ModelDirError::Unlisted { path });
    };
    // The size is compared before anything of that size is allocated.
    let mut file = File::open(&path).map_err(|e| ModelDirError::io(&path, e))?;
    let size = file.metadata().map_err(|e| ModelDirError::io(&path, e))?.len();
    if size != entry.bytes {
        return Err(ModelDirError::Tampered { path, what: "size" });
    }
    let mut bytes = Vec::with_capacity(size as usize);
    file.read_to_end(&mut bytes).map_err(|e| ModelDirError::io(&path, e))?;
    if sha256(&bytes) != entry.sha256 {
        return Err(ModelDirError::Tampered { path, what: "hash" });
    }
    Ok(bytes)
}

fn read_manifest(dir: &Path) -> Result<Manifest, ModelDirError> {
    let path = dir.join(MANIFEST);
    let bytes = fs::read(&path).map_err(|e| ModelDirError::io(&path, e))?;
    serde_json::from_slice(&bytes).map_err(|e| ModelDirError::Json { path, message: e.to_string() })
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect()
}

/// Writes a temporary file beside `path`, flushes it to the disk and renames it into place, so that
/// `path` always holds either the old content or the new.
pub(super) fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), ModelDirError> {
    let temporary = path.with_extension("partial");
    let write = || -> std::io::Result<()> {
        let mut file = File::create(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, path)?;
        File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
    };
    write().map_err(|e| ModelDirError::io(path, e))
}
