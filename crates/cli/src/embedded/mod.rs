//! A corpus and two models inside the binary, unpacked into the user's cache at their first use.

mod corpus;
mod models;

use std::path::Path;
use std::{fs, io};

pub use corpus::{entries, fill, find, text_file};
pub use models::{DEFAULT_MODEL, PAIRS, default_model, is_unpacked, model_dir};

/// Writes `bytes` to `path` unless they are there already.
fn unpack(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|found| found == bytes) {
        return Ok(());
    }
    fs::create_dir_all(burnformer_files::folder_of(path))?;
    burnformer_files::write(path, bytes)
}
