//! A file that only grows: the lines of a killed run stay. The lines of `train.log` begin with the
//! UTC time, so that logs of different machines can be compared.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use humantime::format_rfc3339_seconds;

use crate::error::{Result, TrainError};

/// The name of the log in a run directory.
pub const LOG_FILE: &str = "train.log";

/// A file that only grows.
#[derive(Debug)]
pub(super) struct AppendFile {
    path: PathBuf,
    file: File,
}

impl AppendFile {
    /// Opens the file at `path` for appending.
    pub(super) fn open(path: PathBuf) -> Result<Self> {
        let file = File::options().create(true).append(true).open(&path);
        Ok(Self {
            file: file.map_err(TrainError::io(&path))?,
            path,
        })
    }

    /// Appends whole lines in one write, so that readers of a growing file see complete lines.
    pub(super) fn write(&mut self, lines: &[u8]) -> Result<()> {
        self.file
            .write_all(lines)
            .map_err(TrainError::io(&self.path))
    }

    /// Waits until the file and its name are on the disk.
    pub(super) fn sync(&self) -> Result<()> {
        self.file
            .sync_all()
            .and_then(|()| burnformer_files::sync_folder_of(&self.path))
            .map_err(TrainError::io(&self.path))
    }
}

/// The lines of `text`, each after the time.
pub(super) fn stamped(text: &str) -> String {
    // A clock that was never set can show an earlier time.
    let now = SystemTime::now().max(UNIX_EPOCH);
    let stamp = format_rfc3339_seconds(now);
    text.lines()
        .map(|line| format!("{stamp} {line}\n"))
        .collect()
}
