//! Models by name: fetched, and converted once into the user's cache.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use burnformer_files::user_cache;
use burnformer_files::{FileKind, FolderLock, read_whole};
use burnformer_interop::TextFiles;
use burnformer_interop::hub::{Download, ModelName, Progress, Settings};
use burnformer_train::copy_files;
use serde::{Deserialize, Serialize};

use crate::conversion;
use crate::new_model::{self, not_written};
use crate::output::note;

/// The origin of a converted model, stored in a file beside the model directory.
#[derive(Debug, Deserialize, Serialize)]
pub struct Origin {
    /// The requested name of the model.
    pub name: String,
    /// The commit or version of the model.
    pub revision: String,
    /// The licence according to the model's source, if known.
    pub licence: Option<String>,
}

/// The file of an [`Origin`].
const ORIGIN: &str = "origin.json";

/// The folder that contains a folder for each converted model.
pub fn folder() -> PathBuf {
    user_cache().join("named")
}

/// Returns the model directory of the model `name`, after fetching and converting the model if
/// necessary. `keep_going` is called before each part of a file. If it returns false, the download
/// is cancelled.
///
/// # Errors
/// Returns an error if the model cannot be fetched, or if no importer can read it.
pub fn model(name: &ModelName, keep_going: &dyn Fn() -> bool) -> Result<PathBuf> {
    let fetched = fetch(name, keep_going)?;
    let stem: String = name
        .to_string()
        .chars()
        .map(|c: char| {
            if c.is_ascii_alphanumeric() || "-_.".contains(c) {
                c
            } else {
                '-'
            }
        })
        .collect();
    let revision: String = fetched.revision.chars().take(12).collect();
    let folder = folder().join(format!("{stem}-{revision}"));
    if folder.join(ORIGIN).exists() {
        return Ok(folder.join("model"));
    }
    burnformer_files::create_folder(burnformer_files::folder_of(&folder))
        .map_err(|cause| not_written(&folder, &cause))?;
    // Another process may be converting the same model.
    let lock = FolderLock::wait(&folder).map_err(|cause| not_written(&folder, &cause))?;
    if !folder.join(ORIGIN).exists() {
        new_model::replace(&lock, &folder, |made| write(made, name, fetched))?;
    }
    Ok(folder.join("model"))
}

/// Writes the fetched model `name` and its origin to `folder`.
fn write(folder: &Path, name: &ModelName, fetched: Download) -> Result<()> {
    convert(&fetched.folder, &folder.join("model"))?;
    let origin = Origin {
        name: name.to_string(),
        revision: fetched.revision,
        licence: fetched.licence,
    };
    let path = folder.join(ORIGIN);
    fs::write(&path, serde_json::to_vec_pretty(&origin)?)
        .with_context(|| path.display().to_string())
}

/// Fetches the files of the model `name`, and prints the progress every few seconds. The download
/// stops when `keep_going` returns false.
///
/// # Errors
/// Returns the errors of [`burnformer_interop::hub::fetch`].
pub fn fetch(name: &ModelName, keep_going: &dyn Fn() -> bool) -> Result<Download> {
    let mut last_note = Instant::now();
    let fetched = burnformer_interop::hub::fetch(
        name,
        &Settings::from_env(),
        &mut |Progress { file, done, size }: Progress| {
            if last_note.elapsed() > Duration::from_secs(5) {
                last_note = Instant::now();
                let [done, size] = [done, size].map(|bytes| bytes as f64 / 1e6);
                note(format_args!("{name}: {file}: {done:.0} of {size:.0} MB"));
            }
            keep_going()
        },
    )?;
    if fetched.is_stale {
        note(format_args!(
            "{name}: from the cache, revision {}",
            fetched.revision
        ));
    }
    Ok(fetched)
}

/// Converts the model in `from`, or copies it if it is a model directory.
fn convert(from: &Path, to: &Path) -> Result<()> {
    if from.join("manifest.json").exists() {
        fs::create_dir(to)?;
        copy_files(from, to, &[])?;
        return Ok(burnformer_core::model_dir::verify(to)?);
    }
    conversion::convert(None, from, to, &TextFiles::default(), true).map(drop)
}

/// Returns all converted models with their folders.
pub fn all() -> Vec<(PathBuf, Origin)> {
    let entries = fs::read_dir(folder()).into_iter().flatten().flatten();
    let mut all: Vec<_> = entries
        .filter_map(|entry| with_origin(entry.path()))
        .collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

/// Returns `folder` with the origin of the model in it, if it has one.
fn with_origin(folder: PathBuf) -> Option<(PathBuf, Origin)> {
    let origin = read_whole(&folder.join(ORIGIN), FileKind::NOTES).ok()?;
    let origin = serde_json::from_slice(&origin).ok()?;
    Some((folder, origin))
}
