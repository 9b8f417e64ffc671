//! The reports of a run.

use std::fs;
use std::path::{Path, PathBuf};

use super::append_file::{AppendFile, LOG_FILE, stamped};
use super::console::{Console, Pace, Verbosity};
use super::metrics::{self, ResumePoint};
use super::record::{self, DivergenceRecord, Record, TrainRecord, ValidRecord};
use crate::error::{Result, TrainError};

/// The reports of a run: the files in its directory and the terminal.
///
/// Every method writes its numbers before it returns, so that a killed run has reported all results.
#[derive(Debug)]
pub struct Reporter {
    dir: PathBuf,
    metrics: AppendFile,
    log: AppendFile,
    console: Console,
}

impl Reporter {
    /// Opens the reports in the run directory `dir`, which is created if necessary. Records after
    /// `resume` are removed from `metrics.jsonl`; `train.log` keeps them.
    ///
    /// # Errors
    /// Returns a [`MetricsFileError`](super::MetricsFileError) if a new run finds the metrics of
    /// another run, or if the metrics to resume are damaged, and [`TrainError::Io`] if a file cannot
    /// be read or written.
    pub fn create(
        dir: &Path,
        verbosity: Verbosity,
        pace: Pace,
        resume: Option<ResumePoint>,
    ) -> Result<Self> {
        fs::create_dir_all(dir).map_err(TrainError::io(dir))?;
        Ok(Self {
            dir: dir.to_path_buf(),
            metrics: metrics::open(dir, resume)?,
            log: AppendFile::open(dir.join(LOG_FILE))?,
            console: Console::new(verbosity, pace),
        })
    }

    /// Reports training numbers: a log line and a record.
    ///
    /// # Errors
    /// Returns [`TrainError::Io`] if a file cannot be written.
    pub fn train(&mut self, point: &TrainRecord) -> Result<()> {
        self.metrics
            .write(&metrics::line_of(&Record::Train(point.clone())))?;
        self.note(&record::train_line(point))?;
        self.console.progress(point);
        Ok(())
    }

    /// Reports a validation.
    ///
    /// # Errors
    /// Returns [`TrainError::Io`] if a file cannot be written.
    pub fn valid(&mut self, point: &ValidRecord) -> Result<()> {
        self.metrics
            .write(&metrics::line_of(&Record::Valid(point.clone())))?;
        self.note(&record::valid_line(point))
    }

    /// Reports a divergence: a log line and a record.
    ///
    /// # Errors
    /// Returns [`TrainError::Io`] if a file cannot be written.
    pub fn divergence(&mut self, point: &DivergenceRecord) -> Result<()> {
        self.metrics
            .write(&metrics::line_of(&Record::Divergence(point.clone())))?;
        self.note(&record::divergence_line(point))
    }

    /// Removes the records after `point`, for a rollback.
    ///
    /// # Errors
    /// Returns the errors of [`Reporter::create`].
    pub fn go_back(&mut self, point: ResumePoint) -> Result<()> {
        self.metrics = metrics::open(&self.dir, Some(point))?;
        Ok(())
    }

    /// Waits until the numbers are on the disk.
    ///
    /// # Errors
    /// Returns [`TrainError::Io`] if the metrics file cannot be flushed to the disk.
    pub fn sync(&self) -> Result<()> {
        self.metrics.sync()
    }

    /// Reports a message on the terminal and in `train.log`.
    ///
    /// # Errors
    /// Returns [`TrainError::Io`] if a file cannot be written.
    pub fn note(&mut self, text: &str) -> Result<()> {
        self.console.print(text);
        self.log.write(stamped(text).as_bytes())
    }

    /// Removes the bar and waits until the numbers are on the disk.
    ///
    /// # Errors
    /// Returns [`TrainError::Io`] if the metrics file cannot be flushed to the disk.
    pub fn finish(self) -> Result<()> {
        self.console.finish();
        self.sync()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{METRICS_FILE, read_metrics};
    use super::*;

    fn quiet(dir: &Path, step: Option<u64>) -> Result<Reporter> {
        let resume = step.map(|step| ResumePoint {
            step,
            validated: step,
            ..ResumePoint::default()
        });
        Reporter::create(dir, Verbosity::Quiet, Pace::default(), resume)
    }

    fn train(step: u64) -> TrainRecord {
        TrainRecord {
            epoch: 1,
            step,
            ..TrainRecord::default()
        }
    }

    /// The lines of `train.log` without their time stamps, after a check of these.
    fn logged(dir: &Path) -> Vec<String> {
        let text = fs::read_to_string(dir.join("train.log")).unwrap();
        let unstamp = |line: &str| {
            let (stamp, said) = line.split_once(' ').unwrap();
            assert!(
                stamp.len() == 20 && stamp.ends_with('Z') && &stamp[10..11] == "T",
                "{stamp}"
            );
            said.to_string()
        };
        text.lines().map(unstamp).collect()
    }

    #[test]
    fn a_quiet_run_still_writes_every_file() {
        let dir = tempfile::tempdir().unwrap();
        let mut reporter = quiet(&dir.path().join("new/run"), None).unwrap();
        reporter.train(&train(100)).unwrap();
        reporter.valid(&ValidRecord::default()).unwrap();
        reporter.finish().unwrap();
        let run = dir.path().join("new/run");
        assert_eq!(read_metrics(run.join(METRICS_FILE)).unwrap().len(), 2);
        let log = logged(&run);
        assert!(
            log[0].starts_with("epoch 1 | step 100 | ") && log[1].starts_with("valid | step 0")
        );
        assert_eq!(fs::read_dir(&run).unwrap().count(), 2);
    }

    #[test]
    fn a_resumed_run_cuts_the_metrics_and_keeps_the_log() {
        let dir = tempfile::tempdir().unwrap();
        let mut killed = quiet(dir.path(), None).unwrap();
        [100, 200]
            .iter()
            .for_each(|&step| killed.train(&train(step)).unwrap());
        drop(killed);
        let mut resumed = quiet(dir.path(), Some(100)).unwrap();
        resumed.note("resumed from step 100").unwrap();
        let kept = read_metrics(dir.path().join(METRICS_FILE)).unwrap();
        assert!(
            matches!(&kept[..], [Record::Train(TrainRecord { step: 100, .. })]),
            "{kept:?}"
        );
        let log = logged(dir.path());
        assert_eq!((log.len(), log[2].as_str()), (3, "resumed from step 100"));
    }

    #[test]
    fn a_note_of_two_lines_is_stamped_twice() {
        let dir = tempfile::tempdir().unwrap();
        let mut reporter = quiet(dir.path(), None).unwrap();
        reporter.note("one\ntwo").unwrap();
        assert_eq!(logged(dir.path()), ["one", "two"]);
    }

    #[test]
    fn a_run_directory_that_is_a_file_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = quiet(file.path(), None).unwrap_err();
        assert!(matches!(error, TrainError::Io { .. }), "{error}");
        assert!(
            error
                .to_string()
                .starts_with(&file.path().display().to_string()),
            "{error}"
        );
    }
}
