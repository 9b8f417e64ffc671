//! The journal of finished pairs. The file grows with each chunk, and a later process resumes from
//! it.
//!
//! The first line names the teacher and the options. Each further line belongs to one line of the
//! source. It has the sentence, a tab and the translation, which is empty if the pair is left out.
//! If a reference chose the translation, the reference follows after another tab.
//!
//! This module also reads the sentences to translate, with their references.

use std::fs::{File, TryLockError, remove_file};
use std::io::{BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use burnformer_data::corpus::Side;
use burnformer_data::{CorpusPaths, LineReader, ParallelReader, Utf8Policy};
use derive_more::Display;
use serde_json::Value;

use crate::output::unwritable;
use crate::shards::length;

#[derive(Display)]
#[display("{}", path.display())]
pub(super) struct Journal {
    path: PathBuf,
    file: BufWriter<File>,
    /// The number of finished lines of the source.
    pub(super) lines: u64,
    /// Number of lines with a translation.
    kept: u64,
}

/// The journal of the output `out`.
///
/// # Errors
/// Returns an error if `out` names no file.
pub(super) fn path_for(out: &Path) -> Result<PathBuf> {
    out.file_name().context("--out: name a file")?;
    Ok(out.with_added_extension("work"))
}

impl Journal {
    /// Opens the journal of the output `out`, and skips the sentences in `input` that the journal
    /// contains.
    ///
    /// # Errors
    /// Returns an error if the journal belongs to another `identity`, another text or another
    /// process, or cannot be read or written.
    pub(super) fn open(out: &Path, identity: &Value, input: &mut Input) -> Result<Self> {
        let path = path_for(out)?;
        if out.is_dir() {
            bail!("{}: is a folder; name a file", out.display());
        }
        let file = burnformer_files::open_or_create(&path);
        let file = file.with_context(|| unwritable(path.display()))?;
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            bail!(
                "{}: another process is at work on it; wait for its end",
                path.display()
            );
        }
        let mut journal = Self {
            path,
            file: BufWriter::new(file),
            lines: 0,
            kept: 0,
        };
        let whole = journal.read(identity, input)?;
        journal
            .go_on_at(whole, identity)
            .with_context(|| unwritable(&journal))?;
        Ok(journal)
    }

    /// Reads the journal, and returns the number of bytes in complete lines.
    fn read(&mut self, identity: &Value, input: &mut Input) -> Result<u64> {
        let mut reader = BufReader::new(self.file.get_ref());
        let mut line = Vec::new();
        let mut whole = 0;
        loop {
            line.clear();
            reader
                .read_until(b'\n', &mut line)
                .with_context(|| self.to_string())?;
            // A killed process may leave half a line, and a power failure zeros in the place of
            // lines. They are written again.
            let Some((b'\n', text)) = line.split_last().filter(|(_, text)| !text.contains(&0))
            else {
                return Ok(whole);
            };
            match whole {
                0 => {
                    let same =
                        serde_json::from_slice::<Value>(text).is_ok_and(|it| it == *identity);
                    self.check(same, "of another teacher or other options")?;
                }
                _ => {
                    let sentence = input.next().transpose()?;
                    let done = JournalLine::of(text);
                    let same = sentence.as_ref().is_some_and(|it| done.is_of(it));
                    self.check(
                        same,
                        &format!("of other text: line {} differs", self.lines + 1),
                    )?;
                    self.lines += 1;
                    self.kept += u64::from(!done.translation.is_empty());
                }
            }
            whole += line.len() as u64;
        }
    }

    fn check(&self, good: bool, what: &str) -> Result<()> {
        if !good {
            bail!("{self}: holds the work {what}; remove it to begin anew, or name another --out");
        }
        Ok(())
    }

    fn go_on_at(&mut self, end: u64, identity: &Value) -> std::io::Result<()> {
        self.file.get_ref().set_len(end)?;
        self.file.seek(SeekFrom::Start(end))?;
        if end == 0 {
            writeln!(self.file, "{identity}")?;
        }
        self.file.flush()
    }

    /// Adds sentences with their translations.
    ///
    /// # Errors
    /// Returns an error if the sentences cannot be written.
    pub(super) fn add<'a>(
        &mut self,
        pairs: impl Iterator<Item = (&'a Sentence, Option<String>)>,
    ) -> Result<()> {
        for (Sentence { source, reference }, translation) in pairs {
            self.kept += u64::from(translation.is_some());
            let translation = one_column(&translation.unwrap_or_default());
            let reference = reference
                .as_ref()
                .map(|text| format!("\t{text}"))
                .unwrap_or_default();
            writeln!(self.file, "{source}\t{translation}{reference}")
                .with_context(|| unwritable(&self))?;
            self.lines += 1;
        }
        self.file.flush().with_context(|| unwritable(&self))
    }

    /// Writes the pairs that have a translation to `out` atomically, and removes the journal.
    /// Returns the number of pairs.
    ///
    /// # Errors
    /// Returns an error if there is no such pair unless `may_be_empty`, or if the pairs cannot be
    /// written.
    pub(super) fn finish(mut self, out: &Path, may_be_empty: bool) -> Result<u64> {
        if self.kept == 0 && !may_be_empty {
            let out = out.display();
            bail!("{out}: no sentence has a translation of use; does the model fit the text?");
        }
        self.file
            .seek(SeekFrom::Start(0))
            .with_context(|| self.path.display().to_string())?;
        let done = BufReader::new(self.file.get_ref()).split(b'\n').skip(1);
        let copied = burnformer_files::write_with(out, |file| {
            let mut file = BufWriter::new(file);
            for line in done {
                let line = line?;
                let JournalLine {
                    source,
                    translation,
                    ..
                } = JournalLine::of(&line);
                if !translation.is_empty() {
                    file.write_all(&[source, b"\t", translation, b"\n"].concat())?;
                }
            }
            file.flush()
        });
        copied.with_context(|| unwritable(out.display()))?;
        drop(self.file);
        remove_file(&self.path).with_context(|| unwritable(self.path.display()))?;
        Ok(self.kept)
    }
}

/// A line of the journal.
struct JournalLine<'a> {
    source: &'a [u8],
    translation: &'a [u8],
    /// The reference that chose the translation.
    reference: Option<&'a [u8]>,
}

impl<'a> JournalLine<'a> {
    fn of(line: &'a [u8]) -> Self {
        let mut columns = line.split(|&byte| byte == b'\t');
        Self {
            source: columns.next().unwrap_or_default(),
            translation: columns.next().unwrap_or_default(),
            reference: columns.next(),
        }
    }

    /// Returns whether the line belongs to `sentence`.
    fn is_of(&self, sentence: &Sentence) -> bool {
        self.source == sentence.source.as_bytes()
            && self.reference == sentence.reference.as_deref().map(str::as_bytes)
    }
}

/// Sentences of the source, in order.
pub(super) type Input = Box<dyn Iterator<Item = Result<Sentence>>>;

/// A sentence, and its reference if there is one.
pub(super) struct Sentence {
    pub(super) source: String,
    pub(super) reference: Option<String>,
}

impl Sentence {
    fn new(source: &str, reference: Option<&str>) -> Self {
        Self {
            source: one_column(source),
            reference: reference.map(one_column),
        }
    }
}

/// Opens the sentences on `lines`, counted from 0.
pub(super) fn open(source: &Path, reference: Option<&Path>, lines: &Range<u64>) -> Result<Input> {
    let rest: Input = match reference {
        None => {
            let mut all = LineReader::open_side(source, Side::Source, Utf8Policy::Error)?;
            all.skip_lines(lines.start)?;
            Box::new(all.map(|line| Ok(Sentence::new(&line?.text, None))))
        }
        Some(reference) => {
            let paths = CorpusPaths::pair(source, reference);
            let mut all = ParallelReader::open(&paths, Utf8Policy::Error)?;
            all.skip_pairs(lines.start)?;
            Box::new(all.map(|pair| {
                let pair = pair?;
                Ok(Sentence::new(&pair.source, Some(&pair.target)))
            }))
        }
    };
    Ok(Box::new(rest.take(length(lines))))
}

/// Returns the text as a column of TSV: tabs and line breaks become spaces. So do carriage returns,
/// because a reader would take them for line ends.
pub(super) fn one_column(text: &str) -> String {
    text.replace(['\t', '\r', '\n'], " ")
}
