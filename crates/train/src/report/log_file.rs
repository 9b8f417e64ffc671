//! `train.log`: every printed line with its time.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::clock;
use crate::error::{At, TrainError};

/// The name of the log in a run directory.
pub const LOG_FILE: &str = "train.log";

/// The log of a run. It only grows: lines of a killed run stay.
#[derive(Debug)]
pub(super) struct LogFile {
    path: PathBuf,
    file: File,
}

impl LogFile {
    /// Opens the log of a run directory for appending.
    pub(super) fn open(dir: &Path) -> Result<Self, TrainError> {
        let path = dir.join(LOG_FILE);
        let file = OpenOptions::new().create(true).append(true).open(&path).at(&path)?;
        Ok(Self { path, file })
    }

    /// Appends `text`, with the time before each of its lines.
    pub(super) fn write(&mut self, text: &str) -> Result<(), TrainError> {
        let stamp = clock::utc(clock::since_epoch().as_secs());
        let stamped: String = text.lines().map(|line| format!("{stamp} {line}\n")).collect();
        self.file.write_all(stamped.as_bytes()).at(&self.path)
    }
}
