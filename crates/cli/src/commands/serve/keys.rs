//! The keys that requests name.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use burnformer_files::{FileKind, read_whole};

/// The API keys in a file.
pub(super) fn read_keys(path: &Path) -> Result<Vec<String>> {
    let bytes = read_whole(path, FileKind::KEYS)
        .map_err(|error| error.problem)
        .with_context(|| unreadable(path))?;
    let text = String::from_utf8(bytes).with_context(|| unreadable(path))?;
    let lines = text.trim_start_matches('\u{feff}').lines().map(str::trim);
    let keys = lines
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(str::to_owned);
    let keys: Vec<String> = keys.collect();
    ensure!(
        !keys.is_empty(),
        "{}: contains no API keys; write one per line",
        path.display()
    );
    Ok(keys)
}

fn unreadable(path: &Path) -> String {
    let name = path.display();
    format!(
        "--api-keys {name}: write one key per line in UTF-8, such as that of `openssl rand -hex 16`"
    )
}
