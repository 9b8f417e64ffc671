//! `train.log`: every printed line with its time.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::clock;
use super::error::{Result, unwritable};

/// The log's name in a run directory.
pub const LOG_FILE: &str = "train.log";

/// A log that only grows: what a killed run said stays said.
#[derive(Debug)]
pub(super) struct LogFile {
    path: PathBuf,
    file: File,
}

impl LogFile {
    /// Opens the log of a run directory at its end.
    pub(super) fn open(dir: &Path) -> Result<Self> {
        let path = dir.join(LOG_FILE);
        let file =
            OpenOptions::new().create(true).append(true).open(&path).map_err(unwritable(&path))?;
        Ok(Self { path, file })
    }

    /// Appends `text`, each of its lines stamped with the time.
    pub(super) fn write(&mut self, text: &str) -> Result<()> {
        let stamp = clock::utc(clock::since_epoch().as_secs());
        let stamped: String = text.lines().map(|line| format!("{stamp} {line}\n")).collect();
        self.file.write_all(stamped.as_bytes()).map_err(unwritable(&self.path))
    }
}
