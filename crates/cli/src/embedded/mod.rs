//! A corpus and two models inside the binary, unpacked into the user's cache at their first use.

mod corpus;
mod models;

use std::path::Path;
use std::{fs, io};

use burnformer_files::{FileKind, read_whole};

pub use corpus::{entries, fill, find, text_file};
pub use models::{DEFAULT_MODEL, PAIRS, default_model, is_unpacked, model_dir};

/// Writes `bytes` to `path` unless the file has them already.
fn unpack(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let kind = FileKind {
        name: "an unpacked file",
        limit: bytes.len() as u64,
        remedy: "remove it",
    };
    if read_whole(path, kind).is_ok_and(|found| found == bytes) {
        return Ok(());
    }
    fs::create_dir_all(burnformer_files::folder_of(path))?;
    burnformer_files::write(path, bytes)
}
