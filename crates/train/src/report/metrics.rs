//! `metrics.jsonl`: the numbers of a run, one JSON object per line.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use burnformer_files::{FileKind, read_whole};

use super::append_file::AppendFile;
use super::error::MetricsFileError;
use super::record::Record;
use crate::error::{Result, TrainError};

/// The name of the metrics file in a run directory.
pub const METRICS_FILE: &str = "metrics.jsonl";

/// The state of the report at the checkpoint that a run resumes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResumePoint {
    /// The number of updates made.
    pub step: u64,
    /// The update of the last validation; 0 before the first.
    pub validated: u64,
    /// The last update with a validated average; 0 before the first.
    pub averaged: u64,
    /// The validation of the model in `best/`: its update, and whether it is of an average. Its
    /// record stays even if the run rolls back to an earlier update.
    pub best: Option<(u64, bool)>,
    /// The number of records of divergence.
    pub divergences: u64,
}

impl ResumePoint {
    /// Returns whether `record` was written before this point. Later records will be written again.
    fn includes(&self, record: &Record) -> bool {
        match record {
            Record::Train(point) => point.step <= self.step,
            // The average is validated at the end of a run, after its last checkpoint. An
            // interrupted end is repeated.
            Record::Valid(point) if point.averaged => {
                point.step < self.step || point.step <= self.averaged
            }
            Record::Valid(point) => point.step <= self.validated,
            Record::Divergence(point) => point.number <= self.divergences,
        }
    }

    /// Returns whether `record` is the validation of the model in `best/`. Call it for the records
    /// in the order of the file: only the first match counts, as the resumed run will repeat a
    /// later one.
    fn takes_best(&mut self, record: &Record) -> bool {
        match record {
            Record::Valid(point)
                if point.best && self.best == Some((point.step, point.averaged)) =>
            {
                self.best.take().is_some()
            }
            _ => false,
        }
    }
}

/// Reads the records of the metrics file at `path`, in order, without an incomplete last line.
///
/// # Errors
/// Returns [`TrainError::Io`] if the file cannot be read, and [`MetricsFileError::Line`] for a
/// complete line that is not a [`Record`].
pub fn read_metrics(path: impl AsRef<Path>) -> Result<Vec<Record>> {
    let path = path.as_ref();
    let bytes = read_bytes(path)?;
    Ok(parse(path, &bytes)?
        .into_iter()
        .map(|(record, _)| record)
        .collect())
}

fn read_bytes(path: &Path) -> Result<Vec<u8>> {
    read_whole(path, FileKind::METRICS).map_err(|error| TrainError::io(path)(error.into_io()))
}

/// The records of a file, each with its original bytes.
fn parse<'a>(path: &Path, bytes: &'a [u8]) -> Result<Vec<(Record, &'a [u8])>, MetricsFileError> {
    let mut records = Vec::new();
    for (index, whole) in bytes.split_inclusive(|&byte| byte == b'\n').enumerate() {
        let line = whole.trim_ascii();
        match serde_json::from_slice(line) {
            Ok(record) => records.push((record, line)),
            // A blank line, an incomplete last line of a killed process, or what a power failure
            // made of lines after the last checkpoint.
            Err(_) if line.is_empty() || !whole.ends_with(b"\n") || line.contains(&0) => {}
            Err(error) => {
                let line = index + 1;
                let message = error.to_string();
                return Err(MetricsFileError::Line {
                    path: path.into(),
                    line,
                    message,
                });
            }
        }
    }
    Ok(records)
}

/// Starts the metrics of a run directory, or continues them at `resume`.
pub(super) fn open(dir: &Path, resume: Option<ResumePoint>) -> Result<AppendFile> {
    let path = dir.join(METRICS_FILE);
    let length = fs::metadata(&path).map_or(0, |metadata| metadata.len());
    match resume {
        Some(point) if length > 0 => cut(&path, point)?,
        None if length > 0 => return Err(MetricsFileError::OtherRun(path).into()),
        _ => {}
    }
    AppendFile::open(path)
}

/// The records of the metrics in `dir` that a run which continues at `point` does not write again.
/// Of several with the same kind and step, these are the last.
pub(super) fn kept(dir: &Path, point: ResumePoint) -> Result<Vec<Record>> {
    let path = dir.join(METRICS_FILE);
    let mut kept_records = read_metrics(&path)?;
    kept_records.retain(|record| point.includes(record));
    // A validation that stayed because its model is in `best/` may have been made again later.
    let mut later = HashSet::new();
    kept_records.reverse();
    kept_records.retain(|record| later.insert(record.place()));
    kept_records.reverse();
    Ok(kept_records)
}

/// The line of `record` in the file.
pub(super) fn line_of(record: &Record) -> Vec<u8> {
    let mut line = serde_json::to_vec(record).expect("a record is plain data");
    line.push(b'\n');
    line
}

/// Removes the records after `point`, which the run will write again.
fn cut(path: &Path, mut point: ResumePoint) -> Result<()> {
    let bytes = read_bytes(path)?;
    let mut kept_bytes = Vec::with_capacity(bytes.len());
    for (record, line) in parse(path, &bytes)? {
        if point.takes_best(&record) || point.includes(&record) {
            kept_bytes.extend_from_slice(line);
            kept_bytes.push(b'\n');
        }
    }
    if kept_bytes == bytes {
        Ok(())
    } else {
        burnformer_files::write(path, &kept_bytes).map_err(TrainError::io(path))
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::{Answer, DivergenceRecord, TrainRecord, ValidRecord};
    use std::path::PathBuf;

    use super::*;

    fn train(step: u64) -> Record {
        Record::Train(TrainRecord {
            epoch: 1,
            step,
            loss: 4.5,
            ..TrainRecord::default()
        })
    }

    /// The state at update `step`, which was validated, without divergence.
    fn at(step: u64) -> Option<ResumePoint> {
        Some(ResumePoint {
            step,
            validated: step,
            ..ResumePoint::default()
        })
    }

    fn valid(step: u64) -> Record {
        let signature = Some("nrefs:1|case:mixed".to_string());
        Record::Valid(ValidRecord {
            step,
            bleu: Some(24.25),
            signature,
            ..ValidRecord::default()
        })
    }

    fn averaged(step: u64) -> Record {
        match valid(step) {
            Record::Valid(point) => Record::Valid(ValidRecord {
                averaged: true,
                ..point
            }),
            other => other,
        }
    }

    /// A run directory whose run wrote `records` and then `tail`, and was killed.
    fn killed_run(records: &[Record], tail: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let mut file = open(dir.path(), None).unwrap();
        records
            .iter()
            .for_each(|record| file.write(&line_of(record)).unwrap());
        file.write(tail).unwrap();
        let path = dir.path().join(METRICS_FILE);
        (dir, path)
    }

    #[test]
    fn records_come_back_as_they_were_written() {
        let records = [train(100), train(200), valid(200)];
        let (_dir, path) = killed_run(&records, b"");
        assert_eq!(read_metrics(&path).unwrap(), records);
    }

    #[test]
    fn each_line_is_a_json_object_with_its_kind_first() {
        let (_dir, path) = killed_run(&[train(100), valid(100)], b"");
        let text = fs::read_to_string(path).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(
            lines[0],
            r#"{"kind":"train","epoch":1,"step":100,"loss":4.5,"nll":0.0,"ppl":0.0,"lr":0.0,"gnorm":0.0,"tokens_per_second":0.0,"padding":0.0,"data_wait":0.0,"seconds":0.0,"tokens":0,"pairs":0}"#
        );
        assert_eq!(
            lines[1],
            r#"{"kind":"valid","step":100,"seconds":0.0,"loss":0.0,"nll":0.0,"ppl":0.0,"bleu":24.25,"signature":"nrefs:1|case:mixed","best":false}"#
        );
    }

    #[test]
    fn a_diverged_loss_is_null_and_comes_back_as_nan() {
        let diverged = TrainRecord {
            loss: f64::NAN,
            ppl: f64::INFINITY,
            ..TrainRecord::default()
        };
        let (_dir, path) = killed_run(&[Record::Train(diverged)], b"");
        assert!(
            fs::read_to_string(&path)
                .unwrap()
                .contains(r#""loss":null"#)
        );
        let Record::Train(read) = &read_metrics(&path).unwrap()[0] else {
            panic!("no train record")
        };
        assert!(read.loss.is_nan() && read.ppl.is_nan() && read.nll == 0.0);
    }

    #[test]
    fn resuming_drops_later_steps_and_the_half_written_line() {
        let records = [train(100), valid(100), train(200), valid(200)];
        let (dir, path) = killed_run(&records, br#"{"kind":"train","ep"#);
        let mut file = open(dir.path(), at(100)).unwrap();
        file.write(&line_of(&train(200))).unwrap();
        assert_eq!(
            read_metrics(&path).unwrap(),
            [train(100), valid(100), train(200)]
        );
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn resuming_drops_later_lines_that_a_power_failure_replaced_by_zeros() {
        let (dir, path) = killed_run(&[train(100)], b"\0\0\0\0\n{\"ki\0\0\0\n");
        let mut file = open(dir.path(), at(100)).unwrap();
        file.write(&line_of(&train(200))).unwrap();
        assert_eq!(read_metrics(&path).unwrap(), [train(100), train(200)]);
        assert!(!fs::read(&path).unwrap().contains(&0));
    }

    fn skip(number: u64, step: u64) -> Record {
        Record::Divergence(DivergenceRecord {
            number,
            step,
            answer: Answer::Skip,
            loss: 1.0,
            gnorm: 1.0,
            back_to: None,
            rate_scale: 1.0,
        })
    }

    #[test]
    fn resuming_keeps_only_the_records_of_the_checkpoint() {
        let records = [
            train(100),
            valid(100),
            averaged(100),
            skip(1, 230),
            train(200),
            skip(2, 205),
            valid(200),
            averaged(200),
        ];
        let (dir, path) = killed_run(&records, b"");
        let point = ResumePoint {
            step: 200,
            validated: 100,
            divergences: 1,
            ..ResumePoint::default()
        };
        open(dir.path(), Some(point)).unwrap();
        let kept = [
            train(100),
            valid(100),
            averaged(100),
            skip(1, 230),
            train(200),
        ];
        assert_eq!(read_metrics(&path).unwrap(), kept);
    }

    #[test]
    fn a_continued_run_keeps_the_record_of_its_average() {
        let (dir, path) = killed_run(&[train(200), valid(200), averaged(200)], b"");
        let ended = ResumePoint {
            averaged: 200,
            ..at(200).unwrap()
        };
        open(dir.path(), Some(ended)).unwrap();
        assert_eq!(
            read_metrics(&path).unwrap(),
            [train(200), valid(200), averaged(200)]
        );
    }

    /// The validation of the best model, at update 240.
    fn best(loss: f64) -> Record {
        match valid(240) {
            Record::Valid(point) => Record::Valid(ValidRecord {
                best: true,
                loss,
                ..point
            }),
            other => other,
        }
    }

    #[test]
    fn a_rollback_keeps_the_record_of_the_best_model() {
        // Of two matching records, the first counts: the run will repeat the second.
        let (dir, path) = killed_run(&[valid(200), best(3.0), valid(220), best(2.0)], b"");
        let point = ResumePoint {
            best: Some((240, false)),
            ..at(200).unwrap()
        };
        open(dir.path(), Some(point)).unwrap();
        assert_eq!(read_metrics(&path).unwrap(), [valid(200), best(3.0)]);
    }

    #[test]
    fn resuming_leaves_the_kept_lines_byte_for_byte() {
        // Re-encoding would lose the field of a later version.
        let later = br#"{"kind":"valid","step":7,"seconds":1,"loss":1,"nll":1,"ppl":1,"best":true,"ter":3}"#;
        let (dir, path) = killed_run(&[], later);
        fs::write(&path, [&later[..], b"\n{\"ki"].concat()).unwrap();
        open(dir.path(), at(7)).unwrap();
        assert_eq!(fs::read(&path).unwrap(), [&later[..], b"\n"].concat());
    }

    #[test]
    fn a_whole_last_line_without_line_end_gets_one() {
        let (dir, path) = killed_run(&[], &serde_json::to_vec(&train(1)).unwrap());
        open(dir.path(), at(1))
            .unwrap()
            .write(&line_of(&train(2)))
            .unwrap();
        assert_eq!(read_metrics(&path).unwrap(), [train(1), train(2)]);
    }

    #[test]
    fn resuming_without_a_file_starts_one() {
        let dir = tempfile::tempdir().unwrap();
        open(dir.path(), at(5))
            .unwrap()
            .write(&line_of(&train(6)))
            .unwrap();
        assert_eq!(
            read_metrics(dir.path().join(METRICS_FILE)).unwrap(),
            [train(6)]
        );
    }

    #[test]
    fn a_running_file_reads_up_to_its_last_whole_line() {
        let (_dir, path) = killed_run(&[train(1)], br#"{"kind":"#);
        assert_eq!(read_metrics(&path).unwrap(), [train(1)]);
    }

    #[test]
    fn a_damaged_line_is_reported_and_stays() {
        let (dir, path) = killed_run(&[train(1)], b"oops\n");
        let before = fs::read(&path).unwrap();
        let error = open(dir.path(), at(0)).unwrap_err();
        assert!(
            matches!(
                error,
                TrainError::MetricsFile(MetricsFileError::Line { line: 2, .. })
            ),
            "{error}"
        );
        assert!(error.to_string().contains("metrics.jsonl:2: "), "{error}");
        assert_eq!(fs::read(&path).unwrap(), before);
    }

    #[test]
    fn a_new_run_does_not_mix_with_an_earlier_one() {
        let (dir, path) = killed_run(&[train(1)], b"");
        let error = open(dir.path(), None).unwrap_err();
        assert!(
            matches!(
                error,
                TrainError::MetricsFile(MetricsFileError::OtherRun(_))
            ),
            "{error}"
        );
        assert_eq!(read_metrics(&path).unwrap(), [train(1)]);
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = read_metrics("no/such/metrics.jsonl").unwrap_err();
        assert!(matches!(error, TrainError::Io { .. }), "{error}");
        assert!(
            error.to_string().starts_with("no/such/metrics.jsonl: "),
            "{error}"
        );
    }
}
