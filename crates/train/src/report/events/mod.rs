//! TensorBoard's events file, written without TensorFlow: protocol buffers ([`message`]) in framed
//! records ([`frame`]).

mod frame;
mod message;

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::clock;
use super::record::{TrainRecord, ValidRecord};
use crate::error::{At, TrainError};
use message::{Event, SessionLog, What};
use prost::Message;

/// The format version with which every events file begins.
const FILE_VERSION: &str = "brain.Event:2";

/// An events file, open at its end.
#[derive(Debug)]
pub(super) struct EventsFile {
    path: PathBuf,
    file: File,
}

impl EventsFile {
    /// Starts a new events file. That of a resumed run tells TensorBoard to ignore earlier values
    /// after `resume_step`.
    pub(super) fn create(dir: &Path, resume_step: Option<u64>) -> Result<Self, TrainError> {
        let (path, file) = create_new(dir)?;
        let mut events = Self { path, file };
        events.write(0, What::FileVersion(FILE_VERSION.into()))?;
        if let Some(step) = resume_step {
            events.write(step.saturating_add(1), What::Session(SessionLog { status: 1 }))?;
        }
        Ok(events)
    }

    /// Adds a point to each `train/` curve.
    pub(super) fn train(&mut self, point: &TrainRecord) -> Result<(), TrainError> {
        let scalars = [
            ("train/loss", point.loss),
            ("train/nll", point.nll),
            ("train/ppl", point.ppl),
            ("train/lr", point.lr),
            ("train/gnorm", point.gnorm),
            ("train/tokens_per_second", point.tokens_per_second),
        ];
        self.write(point.step, What::scalars(&scalars))
    }

    /// Adds a point to each `valid/` curve.
    pub(super) fn valid(&mut self, point: &ValidRecord) -> Result<(), TrainError> {
        let mut scalars =
            vec![("valid/loss", point.loss), ("valid/nll", point.nll), ("valid/ppl", point.ppl)];
        scalars.extend(point.bleu.map(|bleu| ("valid/bleu", bleu)));
        scalars.extend(point.chrf.map(|chrf| ("valid/chrf", chrf)));
        self.write(point.step, What::scalars(&scalars))
    }

    /// Waits until the file is on the disk.
    pub(super) fn sync(&self) -> Result<(), TrainError> {
        self.file.sync_all().at(&self.path)
    }

    fn write(&mut self, step: u64, what: What) -> Result<(), TrainError> {
        let (wall_time, what) = (clock::since_epoch().as_secs_f64(), Some(what));
        let event = Event { wall_time, step: i64::try_from(step).unwrap_or(i64::MAX), what };
        // One write a record: TensorBoard reads along while the run goes on.
        self.file.write_all(&frame::framed(&event.encode_to_vec())).at(&self.path)
    }
}

/// Creates a file with a name that is not used yet. TensorBoard reads the files of a directory in
/// the order of their names.
fn create_new(dir: &Path) -> Result<(PathBuf, File), TrainError> {
    let host = host();
    let mut time = clock::since_epoch().as_secs();
    loop {
        let path = dir.join(format!("events.out.tfevents.{time:010}.{host}"));
        match OpenOptions::new().append(true).create_new(true).open(&path) {
            // A run resumed within the second it stopped in.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => time += 1,
            opened => return opened.at(&path).map(|file| (path, file)),
        }
    }
}

/// The name of this machine, as far as a file name can hold it.
fn host() -> String {
    let plain = |c: &char| c.is_ascii_alphanumeric() || "-_.".contains(*c);
    let name: String = sysinfo::System::host_name().unwrap_or_default();
    let name: String = name.chars().filter(plain).take(64).collect();
    if name.is_empty() { "localhost".to_string() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(events: &EventsFile) -> Vec<Vec<u8>> {
        frame::tests::unframed(&std::fs::read(&events.path).unwrap())
    }

    fn contains(record: &[u8], text: &str) -> bool {
        record.windows(text.len()).any(|window| window == text.as_bytes())
    }

    #[test]
    fn the_file_opens_with_its_version_and_every_frame_is_sound() {
        let dir = tempfile::tempdir().unwrap();
        let mut events = EventsFile::create(dir.path(), None).unwrap();
        events.train(&TrainRecord { step: 100, ..TrainRecord::default() }).unwrap();
        events.valid(&ValidRecord { step: 100, ..ValidRecord::default() }).unwrap();
        let records = records(&events);
        assert_eq!(records.len(), 3);
        assert!(contains(&records[0], FILE_VERSION));
        let tags = ["loss", "nll", "ppl", "lr", "gnorm", "tokens_per_second"];
        assert!(tags.iter().all(|tag| contains(&records[1], &format!("train/{tag}"))));
        assert!(contains(&records[2], "valid/ppl") && !contains(&records[2], "valid/bleu"));
    }

    #[test]
    fn a_validation_with_bleu_has_its_curve() {
        let dir = tempfile::tempdir().unwrap();
        let mut events = EventsFile::create(dir.path(), None).unwrap();
        events.valid(&ValidRecord { bleu: Some(24.0), ..ValidRecord::default() }).unwrap();
        assert!(contains(&records(&events)[1], "valid/bleu"));
    }

    #[test]
    fn a_run_resumed_within_a_second_sorts_after_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let paths = [None, Some(1), Some(2)]
            .map(|resume| EventsFile::create(dir.path(), resume).unwrap().path);
        assert!(paths[0] < paths[1] && paths[1] < paths[2], "{paths:?}");
        let name = paths[0].file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with("events.out.tfevents."), "{name}");
    }
}
