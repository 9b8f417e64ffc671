//! The stamp of a shard: a description of the inputs of its output, in a hidden file beside it.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use burnformer_files::{FileKind, read_whole};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::texts::check_ends;

/// The key of the description of the whole text. If only this differs, the shard is still valid.
pub(super) const TEXT: &str = "whole text";

/// The path of the stamp of the output at `path`. The file is hidden, so that `OUT.*` matches
/// outputs only.
pub(super) fn stamp_of(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".stamp");
    path.with_file_name(name)
}

/// Returns the difference between the inputs of the output at `path` and `made_from`, or `None` if
/// there is no output. The difference is empty if the output can be used; the stamp is then updated
/// to the current whole text.
pub(super) fn what_differs(path: &Path, made_from: &Value) -> Result<Option<String>> {
    if !path.exists() {
        return Ok(None);
    }
    let stamp = read_whole(&stamp_of(path), FileKind::NOTES).unwrap_or_default();
    let Ok(stamp) = serde_json::from_slice::<Value>(&stamp) else {
        return Ok(Some(
            "the file that says what it was made from is missing or damaged".into(),
        ));
    };
    // Printing a number may change its last digit.
    let made_from: Value = serde_json::from_str(&made_from.to_string())?;
    let parts = made_from.as_object().into_iter().flatten();
    let differs: Vec<String> = parts
        .filter(|(key, value)| *key != TEXT && stamp["made from"][key.as_str()] != **value)
        .map(|(key, _)| key.clone())
        .collect();
    let digest = digest_of_file(path)?;
    Ok(Some(match &differs[..] {
        [] if stamp["output"] != digest => "the file itself has changed".into(),
        [] => {
            if stamp["made from"][TEXT] != made_from[TEXT] {
                let result = write_stamp(path, &digest, &made_from);
                result.with_context(|| path.display().to_string())?;
            }
            String::new()
        }
        differs => format!("made from another {}", differs.join(", another ")),
    }))
}

/// The inputs of the shard at `path`, according to its stamp.
pub(super) fn trusted(path: &Path) -> Result<Value> {
    let stamp = read_whole(&stamp_of(path), FileKind::NOTES).unwrap_or_default();
    let stamp: Value = serde_json::from_slice(&stamp).unwrap_or_default();
    if stamp["output"] != digest_of_file(path)? {
        bail!(
            "{}: is not as its process left it, or the hidden file beside it is missing; start this shard again",
            path.display()
        );
    }
    Ok(stamp["made from"].clone())
}

/// Writes the stamp of the output at `path` with the hash `digest` and the inputs `made_from`.
pub(super) fn write_stamp(path: &Path, digest: &str, made_from: &Value) -> io::Result<()> {
    let stamp = json!({ "output": digest, "made from": made_from });
    burnformer_files::write(&stamp_of(path), format!("{stamp}\n").as_bytes())
}

/// SHA-256 of the file at `path`.
///
/// # Errors
/// Returns errors of the operating system, with the path, and an error for a device, because it may
/// never end.
pub fn digest_of_file(path: &Path) -> Result<String> {
    check_ends(path)?;
    let mut digest = Sha256::new();
    let copied = File::open(path).and_then(|mut file| io::copy(&mut file, &mut digest));
    copied.with_context(|| path.display().to_string())?;
    Ok(format!("{:x}", digest.finalize()))
}
