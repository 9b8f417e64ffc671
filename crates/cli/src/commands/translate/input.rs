//! The lines to translate, with their prefixes.

use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Error, Result, bail};
use burnformer_data::corpus::{Line, Side, is_standard_input};
use burnformer_data::{LineReader, TextError, Utf8Policy};

use crate::line_warnings::LineWarnings;
use crate::shards::length;

/// The largest number of bytes to read ahead, in any number of lines.
const CHUNK_BYTES: usize = 4 << 20;

/// The number of lines that the reader thread is ahead of the search. A line may have a megabyte.
const READ_AHEAD_LINES: usize = 16;

/// How long a line of an interactive input waits for others in its batch.
const BATCH_WAIT: Duration = Duration::from_millis(20);

/// The lines to translate and their prefixes. A thread reads the lines, so that waiting for one can
/// time out.
pub(super) struct Input {
    pub(super) path: PathBuf,
    /// If true, the input may be interactive: the next line may depend on this line's translation.
    pub(super) is_dialogue: bool,
    pub(super) warnings: LineWarnings,
    pub(super) prefixes: Option<(LineReader, LineWarnings)>,
    lines: Receiver<Result<Line, TextError>>,
    /// The number of lines taken or skipped.
    taken: u64,
    /// If true, these are all lines up to the end of the text. A shard ends earlier.
    is_whole: bool,
}

/// Consecutive lines, and the error after them, if any. `first` is the number of the first line.
#[derive(Default)]
pub(super) struct Chunk {
    pub(super) first: u64,
    pub(super) lines: Vec<String>,
    pub(super) prefixes: Vec<String>,
    pub(super) failure: Option<Error>,
}

impl Input {
    /// Opens the lines with the numbers `range`, counted from 0.
    pub(super) fn open(input: &Path, prefix: Option<&Path>, range: &Range<u64>) -> Result<Self> {
        let reader = LineReader::open_side(input, Side::Source, Utf8Policy::Replace)?;
        let mut reader = reader.cutting_long_lines();
        reader.skip_lines(range.start)?;
        let path = reader.path().to_owned();
        let lines = read_ahead(reader, length(range))?;
        let mut prefixes = None;
        if let Some(path) = prefix {
            let mut reader = LineReader::open_side(path, Side::Target, Utf8Policy::Error)?;
            reader.skip_lines(range.start)?;
            let warnings = LineWarnings::new(reader.path());
            prefixes = Some((reader, warnings));
        }
        Ok(Self {
            warnings: LineWarnings::new(&path),
            path,
            is_dialogue: is_dialogue(input),
            prefixes,
            lines,
            taken: range.start,
            is_whole: range.end == u64::MAX,
        })
    }

    /// Reports how many lines were translated although something was wrong with them.
    pub(super) fn finish(&self) {
        self.warnings.finish();
        self.prefixes
            .iter()
            .for_each(|(_, warnings)| warnings.finish());
    }

    /// Returns the next lines, at most `most`, or none at the end of the input. In a dialogue,
    /// returns the lines that have arrived.
    pub(super) fn next_chunk(&mut self, most: usize) -> Chunk {
        let mut chunk = Chunk {
            first: self.taken + 1,
            ..Chunk::default()
        };
        let mut bytes = 0;
        while chunk.lines.len() < most && bytes < CHUNK_BYTES {
            match self.next_pair(!chunk.lines.is_empty()) {
                Ok(Some((line, prefix))) => {
                    bytes += line.len();
                    chunk.lines.push(line);
                    chunk.prefixes.extend(prefix);
                }
                Ok(None) => break,
                Err(failure) => {
                    chunk.failure = Some(failure);
                    break;
                }
            }
        }
        chunk
    }

    /// The next line. It is `None` at the end, and in a dialogue also if `may_be_late` is true and
    /// no line has arrived within [`BATCH_WAIT`].
    fn next_line(&mut self, may_be_late: bool) -> Result<Option<Line>> {
        let line = if self.is_dialogue && may_be_late {
            self.lines.recv_timeout(BATCH_WAIT).ok()
        } else {
            self.lines.recv().ok()
        };
        self.taken += u64::from(line.is_some());
        Ok(line.transpose()?)
    }

    /// The next line with its prefix.
    fn next_pair(&mut self, is_further: bool) -> Result<Option<(String, Option<String>)>> {
        let Some(line) = self.next_line(is_further)? else {
            if !is_further {
                self.check_prefixes_end()?;
            }
            return Ok(None);
        };
        self.warnings.line(&line);
        self.warnings.columns(line.number, &line.text);
        let Some((prefixes, _)) = &mut self.prefixes else {
            return Ok(Some((line.text, None)));
        };
        if let Some(prefix) = prefixes.next_line()? {
            return Ok(Some((line.text, Some(prefix.text))));
        }
        let path = prefixes.path().display();
        let number = line.number;
        bail!("--prefix {path}: ends before line {number}; it needs one line per sentence")
    }

    /// Refuses more prefixes than lines in the whole text.
    fn check_prefixes_end(&mut self) -> Result<()> {
        let Some((prefixes, _)) = self.prefixes.as_mut().filter(|_| self.is_whole) else {
            return Ok(());
        };
        if prefixes.next_line()?.is_none() {
            return Ok(());
        }
        let path = prefixes.path().display();
        let count = self.taken;
        let text = self.path.display();
        bail!(
            "--prefix {path}: has more than the {count} lines of {text}; it needs one line per \
             sentence (an empty one for a sentence without a prefix)"
        )
    }
}

/// Starts a thread that reads the next `count` lines of `reader`, and returns its channel.
fn read_ahead(reader: LineReader, count: usize) -> Result<Receiver<Result<Line, TextError>>> {
    let (sender, lines) = sync_channel(READ_AHEAD_LINES);
    let thread = thread::Builder::new().name("input".into()).spawn(move || {
        for line in reader.take(count) {
            let is_last = line.is_err();
            if sender.send(line).is_err() || is_last {
                return;
            }
        }
    });
    thread.context("no thread can be started that reads the text")?;
    Ok(lines)
}

/// Returns whether the text at `path` comes from a terminal, a pipe or the like, so that its writer
/// may wait for translations.
fn is_dialogue(path: &Path) -> bool {
    let input = io::stdin();
    #[cfg(unix)]
    let input = std::os::fd::AsFd::as_fd(&input).try_clone_to_owned();
    #[cfg(windows)]
    let input = std::os::windows::io::AsHandle::as_handle(&input).try_clone_to_owned();
    let found = if is_standard_input(path) {
        input.and_then(|input| File::from(input).metadata())
    } else {
        fs::metadata(path)
    };
    found.map_or(true, |found| !found.is_file())
}
