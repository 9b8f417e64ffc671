//! TensorBoard's event file: the numbers of `metrics.jsonl` as scalars.
//!
//! The file holds TensorFlow records. Each is a protocol buffer `Event`. The file is derived from
//! `metrics.jsonl`: a run that resumes, or that goes back, writes a new file with the records that
//! are kept, and empties its old file. A step therefore has one value, and no record after an
//! interrupted write is lost. The new file begins with the start of a session, and then a
//! TensorBoard that is watching the run forgets the old file.
//!
//! The crates that write this format need an installed `protoc`, or old versions of `image`,
//! `protobuf` or `ndarray`. A scalar takes four fields.

use std::fs::{self, File};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use super::append_file::AppendFile;
use super::record::{Record, TrainRecord, ValidRecord};
use crate::error::{Result, TrainError};

/// The beginning of the name of an event file. Names sort by the time, which follows.
const PREFIX: &str = "events.out.tfevents.";
/// The end of the name, where other programs write the name of the machine. Only files with this
/// end are emptied.
const SUFFIX: &str = ".burnformer";
/// The version of the format, in the first event.
const FILE_VERSION: &[u8] = b"brain.Event:2";
/// The value of `SessionLog.START`.
const START: u64 = 1;

/// The fields of `Event`, by their numbers.
mod event {
    pub const WALL_TIME: u64 = 1;
    pub const STEP: u64 = 2;
    pub const FILE_VERSION: u64 = 3;
    pub const SUMMARY: u64 = 5;
    pub const SESSION_LOG: u64 = 7;
}

/// The only field of `Summary`.
const SUMMARY_VALUE: u64 = 1;
/// The field `tag` of `Summary.Value`.
const TAG: u64 = 1;
/// The field `simple_value` of `Summary.Value`.
const SIMPLE_VALUE: u64 = 2;
/// The field `status` of `SessionLog`.
const STATUS: u64 = 1;

/// Returns whether a run of this program wrote the event file `name`.
pub(crate) fn is_event_file(name: &str) -> bool {
    name.starts_with(PREFIX) && name.ends_with(SUFFIX)
}

/// The event file of a run.
#[derive(Debug)]
pub(super) struct EventFile {
    file: AppendFile,
    /// The Unix time, in seconds, when the run would have begun without interruptions.
    begin: f64,
}

impl EventFile {
    /// Replaces the event file in `dir` by one with `records`.
    ///
    /// # Errors
    /// Returns the error of the file system.
    pub fn create(dir: &Path, records: &[Record]) -> Result<Self> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.unwrap_or_default();
        let trained = records.iter().filter_map(seconds).fold(0.0, f64::max);
        let begin = now.as_secs_f64() - trained;
        let mut bytes = framed(&version(begin));
        bytes.extend(framed(&session_start(begin)));
        for record in records {
            bytes.extend(framed_scalars(record, begin));
        }
        let time = format!("{:010}.{:06}", now.as_secs(), now.subsec_micros());
        let name = format!("{PREFIX}{time}{SUFFIX}");
        // A file that a kill cuts short is readable, and the next resume replaces it.
        let mut file = AppendFile::open(dir.join(&name))?;
        file.write(&bytes)?;
        empty_others(dir, &name)?;
        Ok(Self { file, begin })
    }

    /// Appends the scalars of `record` in one write.
    ///
    /// # Errors
    /// Returns the error of the file system.
    pub fn write(&mut self, record: &Record) -> Result<()> {
        self.file.write(&framed_scalars(record, self.begin))
    }
}

/// Empties the event files in `dir`, except the one of this name. They are not removed: a
/// TensorBoard goes on to the next file only while the one that it reads exists.
fn empty_others(dir: &Path, name: &str) -> Result<()> {
    for entry in fs::read_dir(dir).map_err(TrainError::io(dir))? {
        let entry = entry.map_err(TrainError::io(dir))?;
        let other = entry.file_name();
        let other = other.to_string_lossy();
        if is_event_file(&other) && other != name {
            let path = entry.path();
            File::create(&path).map_err(TrainError::io(&path))?;
        }
    }
    Ok(())
}

/// The seconds of training until `record`, if it has scalars.
fn seconds(record: &Record) -> Option<f64> {
    match record {
        Record::Train(point) => Some(point.seconds),
        Record::Valid(point) => Some(point.seconds),
        Record::Divergence(_) => None,
    }
}

/// The event of `record` as bytes of the file; nothing for a record without scalars.
fn framed_scalars(record: &Record, begin: f64) -> Vec<u8> {
    match record {
        Record::Train(point) => {
            let event = scalars(
                begin + point.seconds,
                point.step,
                "train",
                &of_training(point),
            );
            framed(&event)
        }
        Record::Valid(point) => {
            let group = if point.averaged { "average" } else { "valid" };
            let event = scalars(
                begin + point.seconds,
                point.step,
                group,
                &of_validation(point),
            );
            framed(&event)
        }
        Record::Divergence(_) => Vec::new(),
    }
}

/// The scalars of training, by the names of `metrics.jsonl`.
fn of_training(point: &TrainRecord) -> Vec<(String, f64)> {
    let scalars = [
        ("epoch", point.epoch as f64),
        ("loss", point.loss),
        ("nll", point.nll),
        ("ppl", point.ppl),
        ("lr", point.lr),
        ("gnorm", point.gnorm),
        ("tokens_per_second", point.tokens_per_second),
        ("padding", point.padding),
        ("data_wait", point.data_wait),
        ("tokens", point.tokens as f64),
        ("pairs", point.pairs as f64),
    ];
    scalars.map(|(name, value)| (name.to_owned(), value)).into()
}

/// The scalars of a validation, by the names of `metrics.jsonl`. In a run of several pairs of
/// languages, the pair is before the name, as in `de-en/bleu`.
fn of_validation(point: &ValidRecord) -> Vec<(String, f64)> {
    let means = [
        ("loss", Some(point.loss)),
        ("nll", Some(point.nll)),
        ("ppl", Some(point.ppl)),
        ("bleu", point.bleu),
        ("chrf", point.chrf),
    ];
    let means = means.map(|(name, value)| (name.to_owned(), value));
    let pair_values = point.pairs.iter().flat_map(|of| {
        let values = [
            ("nll", Some(of.nll)),
            ("ppl", Some(of.ppl)),
            ("bleu", of.bleu),
            ("chrf", of.chrf),
        ];
        values.map(|(name, value)| (format!("{}/{name}", of.pair), value))
    });
    means
        .into_iter()
        .chain(pair_values)
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
}

/// The first event of a file.
fn version(wall_time: f64) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_f64(&mut bytes, event::WALL_TIME, wall_time);
    put_bytes(&mut bytes, event::FILE_VERSION, FILE_VERSION);
    bytes
}

/// The event that makes a reader forget the files before this one.
fn session_start(wall_time: f64) -> Vec<u8> {
    let mut log = Vec::new();
    put_integer(&mut log, STATUS, START);
    let mut bytes = Vec::new();
    put_f64(&mut bytes, event::WALL_TIME, wall_time);
    put_bytes(&mut bytes, event::SESSION_LOG, &log);
    bytes
}

/// The event of several scalars at `step`, named `group/name`.
fn scalars(wall_time: f64, step: u64, group: &str, scalars: &[(String, f64)]) -> Vec<u8> {
    let mut summary = Vec::new();
    for (name, number) in scalars {
        let mut value = Vec::new();
        put_bytes(&mut value, TAG, format!("{group}/{name}").as_bytes());
        put_f32(&mut value, SIMPLE_VALUE, *number as f32);
        put_bytes(&mut summary, SUMMARY_VALUE, &value);
    }
    let mut bytes = Vec::new();
    put_f64(&mut bytes, event::WALL_TIME, wall_time);
    put_integer(&mut bytes, event::STEP, step);
    put_bytes(&mut bytes, event::SUMMARY, &summary);
    bytes
}

/// `event` as a TensorFlow record: its length, the length's checksum, the event and its checksum.
fn framed(event: &[u8]) -> Vec<u8> {
    let length = (event.len() as u64).to_le_bytes();
    let mut bytes = length.to_vec();
    bytes.extend(masked_crc(&length).to_le_bytes());
    bytes.extend(event);
    bytes.extend(masked_crc(event).to_le_bytes());
    bytes
}

/// The checksum of TensorFlow records: CRC-32C, rotated and shifted.
fn masked_crc(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes)
        .rotate_right(15)
        .wrapping_add(0xa282_ead8)
}

/// Appends `number` in the variable length of protocol buffers: 7 bits a byte, the lowest first.
fn put_varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn put_integer(bytes: &mut Vec<u8>, field: u64, number: u64) {
    put_varint(bytes, field << 3);
    put_varint(bytes, number);
}

fn put_f64(bytes: &mut Vec<u8>, field: u64, number: f64) {
    put_varint(bytes, field << 3 | 1);
    bytes.extend(number.to_le_bytes());
}

fn put_bytes(bytes: &mut Vec<u8>, field: u64, content: &[u8]) {
    put_varint(bytes, field << 3 | 2);
    put_varint(bytes, content.len() as u64);
    bytes.extend(content);
}

fn put_f32(bytes: &mut Vec<u8>, field: u64, number: f32) {
    put_varint(bytes, field << 3 | 5);
    bytes.extend(number.to_le_bytes());
}

#[cfg(test)]
pub(super) mod tests {
    use std::path::PathBuf;

    use super::super::record::PairRecord;
    use super::*;

    /// Hexadecimal digits of `bytes`.
    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The expected bytes come from `RecordWriter` and `Event` of the Python package tensorboard
    /// 2.21.
    #[test]
    fn records_are_those_of_tensorboards_own_writer() {
        let time = 1_764_374_400.5;
        assert_eq!(
            hex(&framed(&version(time))),
            "1800000000000000a37f4b2209000020e08d4ada411a0d627261696e2e4576656e743a32bdbf1c38"
        );
        assert_eq!(
            hex(&framed(&session_start(time))),
            "0d000000000000003c37b83409000020e08d4ada413a020801bb7aff05"
        );
        let numbers = [("loss".to_owned(), 4.5), ("lr".to_owned(), 0.0)];
        let event = scalars(time + 59.75, 300, "train", &numbers);
        assert_eq!(
            hex(&framed(&event)),
            "3200000000000000241956ec09000010ef8d4ada4110ac022a240a110a0a747261696e2f6c6f7373150000\
             90400a0f0a08747261696e2f6c721500000000b07a54ca"
        );
    }

    #[test]
    fn each_pair_of_languages_has_scalars_under_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let record = ValidRecord {
            step: 7,
            nll: 1.5,
            bleu: Some(20.0),
            pairs: vec![PairRecord {
                pair: "de-en".into(),
                nll: 2.5,
                bleu: Some(30.0),
                ..PairRecord::default()
            }],
            ..ValidRecord::default()
        };
        EventFile::create(folder.path(), &[Record::Valid(record)]).unwrap();
        let found = scalars_in(folder.path());
        for expected in [
            ("valid/nll", 1.5),
            ("valid/bleu", 20.0),
            ("valid/de-en/nll", 2.5),
            ("valid/de-en/bleu", 30.0),
        ] {
            let is_there = |(tag, step, value): &(String, u64, f32)| {
                (tag.as_str(), *value) == expected && *step == 7
            };
            assert!(found.iter().any(is_there), "{expected:?} in {found:?}");
        }
    }

    /// The event file in `dir` that is not empty.
    pub fn path_in(dir: &Path) -> PathBuf {
        let paths = fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let full: Vec<_> = paths
            .filter(|path| is_event_file(&path.file_name().unwrap().to_string_lossy()))
            .filter(|path| fs::metadata(path).unwrap().len() > 0)
            .collect();
        assert_eq!(full.len(), 1, "{full:?}");
        full[0].clone()
    }

    /// The whole records of the event file in `dir`, as tag, step and value.
    pub fn scalars_in(dir: &Path) -> Vec<(String, u64, f32)> {
        let bytes = fs::read(path_in(dir)).unwrap();
        let mut rest = &bytes[..];
        let mut found = Vec::new();
        while let Some(event) = next_record(&mut rest) {
            let fields = fields(event);
            let step = fields.iter().find(|(field, _)| *field == event::STEP);
            let step = step.map_or(0, |(_, step)| {
                u64::from_le_bytes(step[..].try_into().unwrap())
            });
            for (_, summary) in fields.iter().filter(|(field, _)| *field == event::SUMMARY) {
                for (_, value) in self::fields(summary) {
                    let value = self::fields(&value);
                    let tag = String::from_utf8(value[0].1.clone()).unwrap();
                    let number = f32::from_le_bytes(value[1].1[..].try_into().unwrap());
                    found.push((tag, step, number));
                }
            }
        }
        found
    }

    /// Takes the next whole record from `rest`, whose checksums must be right.
    fn next_record<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
        let length = u64::from_le_bytes(rest.get(..8)?.try_into().unwrap()) as usize;
        let record = rest.get(..length + 16)?;
        let event = &record[12..12 + length];
        assert_eq!(record[8..12], masked_crc(&record[..8]).to_le_bytes());
        assert_eq!(record[12 + length..], masked_crc(event).to_le_bytes());
        *rest = &rest[length + 16..];
        Some(event)
    }

    /// The fields of a message: numbers and contents. Integers become 8 bytes.
    fn fields(mut message: &[u8]) -> Vec<(u64, Vec<u8>)> {
        let mut found = Vec::new();
        while !message.is_empty() {
            let key = varint(&mut message);
            let length = match key & 7 {
                0 => {
                    let number = varint(&mut message);
                    found.push((key >> 3, number.to_le_bytes().to_vec()));
                    continue;
                }
                1 => 8,
                2 => varint(&mut message) as usize,
                _ => 4,
            };
            let (content, others) = message.split_at(length);
            found.push((key >> 3, content.to_vec()));
            message = others;
        }
        found
    }

    fn varint(message: &mut &[u8]) -> u64 {
        let end = message.iter().position(|byte| byte & 0x80 == 0).unwrap();
        let (bytes, others) = message.split_at(end + 1);
        *message = others;
        bytes
            .iter()
            .rev()
            .fold(0, |sum, byte| sum << 7 | u64::from(byte & 0x7f))
    }
}
