//! One side of a corpus, read line by line.

use std::io::{BufRead, Cursor, Read, empty};
use std::path::{Path, PathBuf};

use super::error::{Result, TextError};
use super::open::{OpenText, check_encoding, decompress, open};
use super::{Side, Utf8Policy, is_standard_input, is_tsv};

/// The longest accepted line, in bytes. A longer line is not a sentence, and could fill the memory
/// if a file is damaged.
pub const MAX_LINE_BYTES: usize = 1 << 20;

/// A line of text without its line end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Line number, from 1.
    pub number: u64,
    /// The text, without `\n` or `\r\n`, and without a byte-order mark on line 1.
    pub text: String,
    /// `false` if the line was not UTF-8 and the policy is [`Utf8Policy::Skip`]; `text` is then
    /// empty.
    pub valid: bool,
    /// Changes that were made to the text.
    pub repair: Repair,
}

/// Changes that a tolerant reader made to a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repair {
    /// Bytes that are not UTF-8 were replaced by U+FFFD ([`Utf8Policy::Replace`]).
    pub replaced: bool,
    /// The part beyond [`MAX_LINE_BYTES`] was left out ([`LineReader::cutting_long_lines`]).
    pub cut: bool,
}

/// A streaming reader of lines: exactly one [`Line`] for every line of the input.
pub struct LineReader {
    path: PathBuf,
    input: OpenText,
    policy: Utf8Policy,
    cut_long_lines: bool,
    /// The column that is read of TSV.
    column: Option<Side>,
    /// The last column that TSV may have.
    last_column: LastColumn,
    /// The last byte of a line: `\n`, or `\r` in a text that has no `\n`.
    line_end: u8,
    number: u64,
    bytes: Vec<u8>,
}

impl LineReader {
    /// Opens `path` (`-` is standard input) and decompresses gzip and zstd.
    ///
    /// # Errors
    /// Returns an error if the file is missing or unreadable, or if its name ends in `.gz` or
    /// `.zst` but its content is not compressed.
    pub fn open(path: &Path, policy: Utf8Policy) -> Result<Self> {
        Ok(Self::over(path, open(path)?, policy))
    }

    /// Opens one side of a text. If the file name marks it as TSV, only the column of that side is
    /// read, otherwise whole lines.
    ///
    /// # Errors
    /// Returns the errors of [`LineReader::open`]. A TSV line without exactly two columns is
    /// reported later, by [`LineReader::next_line`].
    pub fn open_side(path: &Path, side: Side, policy: Utf8Policy) -> Result<Self> {
        let column = is_tsv(path).then_some(side);
        Ok(Self {
            column,
            ..Self::open(path, policy)?
        })
    }

    /// Reads lines from any reader; `name` is its name in error messages.
    ///
    /// # Errors
    /// Returns the errors of [`LineReader::open`].
    pub fn from_reader(
        name: &str,
        reader: impl Read + Send + 'static,
        policy: Utf8Policy,
    ) -> Result<Self> {
        let path = Path::new(name);
        let input = decompress(path, Box::new(reader))?;
        Ok(Self::over(path, input, policy))
    }

    fn over(path: &Path, input: OpenText, policy: Utf8Policy) -> Self {
        let path = if is_standard_input(path) {
            "standard input".into()
        } else {
            path.to_path_buf()
        };
        Self {
            path,
            input,
            policy,
            cut_long_lines: false,
            column: None,
            last_column: LastColumn::Target,
            line_end: b'\n',
            number: 0,
            bytes: Vec::new(),
        }
    }

    /// Makes the reader cut a line at [`MAX_LINE_BYTES`] instead of refusing it, for callers that
    /// need a result for every line.
    pub fn cutting_long_lines(self) -> Self {
        Self {
            cut_long_lines: true,
            ..self
        }
    }

    /// Makes the reader accept TSV with a third column, the name of the document.
    pub fn with_documents(self) -> Self {
        Self {
            last_column: LastColumn::Document,
            ..self
        }
    }

    /// Returns the name of the file as it is shown in messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Number of lines read so far.
    pub fn lines_read(&self) -> u64 {
        self.number
    }

    /// Reads the next line. Returns `None` at the end of the text.
    ///
    /// # Errors
    /// Returns an error for invalid UTF-8 (depending on the policy), damaged compression, a line
    /// longer than [`MAX_LINE_BYTES`], or a failed read.
    pub fn next_line(&mut self) -> Result<Option<Line>> {
        let Some(cut) = self.read_bytes()? else {
            return Ok(None);
        };
        self.number += 1;
        let (text, valid, replaced) = self.decode()?;
        let text = match self.column {
            Some(side) if valid => self.cell(&text, side)?,
            _ => text,
        };
        let repair = Repair { replaced, cut };
        Ok(Some(Line {
            number: self.number,
            text,
            valid,
            repair,
        }))
    }

    /// Returns the column of `side` in a line of TSV.
    fn cell(&self, line: &str, side: Side) -> Result<String> {
        let (source, target, _) = columns(&self.path, self.number, line, self.last_column)?;
        Ok(match side {
            Side::Source => source,
            Side::Target => target,
        }
        .to_owned())
    }

    /// Reads to the end without decoding, and returns the number of lines of the whole text.
    ///
    /// # Errors
    /// Returns the errors of [`LineReader::next_line`], except for UTF-8.
    pub fn count_rest(&mut self) -> Result<u64> {
        self.skip_lines(u64::MAX)?;
        Ok(self.number)
    }

    /// Skips the next `count` lines without decoding them, or all remaining lines if there are
    /// fewer.
    ///
    /// # Errors
    /// Returns the errors of [`LineReader::next_line`], except for UTF-8.
    pub fn skip_lines(&mut self, count: u64) -> Result<()> {
        for _ in 0..count {
            if self.read_bytes()?.is_none() {
                break;
            }
            self.number += 1;
        }
        Ok(())
    }

    /// Fills `bytes` with the next line without its line end. Returns whether the line was cut, or
    /// `None` at the end of the input.
    fn read_bytes(&mut self) -> Result<Option<bool>> {
        if self.number == 0 {
            match self.input.reader.fill_buf() {
                Ok(head) => check_encoding(&self.path, head)?,
                Err(cause) => return Err(self.failed(cause)),
            }
        }
        let mut ended = self.read_until_end()?;
        if self.number == 0 && !ended && self.has_only_carriage_returns() {
            ended = self.read_until_end()?;
        }
        if self.bytes.is_empty() {
            return Ok(None);
        }
        if ended {
            self.bytes.pop();
        }
        if self.line_end == b'\n' && self.bytes.last() == Some(&b'\r') {
            self.bytes.pop();
        }
        let cut = self.bytes.len() > MAX_LINE_BYTES;
        if cut {
            self.cut(ended)?;
        }
        if self.number == 0 && self.bytes.starts_with("\u{feff}".as_bytes()) {
            self.bytes.drain(..3);
        }
        Ok(Some(cut))
    }

    /// Fills `bytes` with the next line and its end, at most a little more than the longest line,
    /// and returns whether it has its end.
    fn read_until_end(&mut self) -> Result<bool> {
        self.bytes.clear();
        let limit = MAX_LINE_BYTES as u64 + 2;
        let read = (&mut self.input.reader)
            .take(limit)
            .read_until(self.line_end, &mut self.bytes);
        read.map_err(|cause| self.failed(cause))?;
        Ok(self.bytes.last() == Some(&self.line_end))
    }

    /// Returns whether `\r` ends the lines of the text, as in old Macintosh files: it has a `\r`
    /// before its end, and no `\n`. If so, the bytes are put back and read again.
    fn has_only_carriage_returns(&mut self) -> bool {
        let before_end = self.bytes.len().saturating_sub(1);
        if !self.bytes[..before_end].contains(&b'\r') {
            return false;
        }
        self.line_end = b'\r';
        let rest = std::mem::replace(&mut self.input.reader, Box::new(empty()));
        self.input.reader = Box::new(Cursor::new(std::mem::take(&mut self.bytes)).chain(rest));
        true
    }

    /// Shortens an overlong line at the end of a character and skips the rest of it.
    fn cut(&mut self, ended: bool) -> Result<()> {
        if !self.cut_long_lines {
            return Err(TextError::LineTooLong {
                path: self.path.clone(),
                line: self.number + 1,
                limit: MAX_LINE_BYTES,
            });
        }
        let near = MAX_LINE_BYTES - 3..=MAX_LINE_BYTES;
        let end = near
            .rev()
            .find(|&at| !is_continuation(self.bytes[at]))
            .unwrap_or(MAX_LINE_BYTES);
        self.bytes.truncate(end);
        if !ended {
            let skipped = self.input.reader.skip_until(self.line_end);
            skipped.map_err(|cause| self.failed(cause))?;
        }
        Ok(())
    }

    fn failed(&self, cause: std::io::Error) -> TextError {
        let path = self.path.clone();
        if self.input.compressed {
            TextError::DamagedCompression {
                path,
                line: self.number,
                cause,
            }
        } else {
            TextError::Unreadable(path, cause)
        }
    }

    /// Returns the text, whether it may be used, and whether bytes were replaced.
    fn decode(&self) -> Result<(String, bool, bool)> {
        match std::str::from_utf8(&self.bytes) {
            Ok(text) => Ok((text.to_owned(), true, false)),
            Err(error) => match self.policy {
                Utf8Policy::Error => Err(self.invalid(error.valid_up_to())),
                Utf8Policy::Replace => Ok((
                    String::from_utf8_lossy(&self.bytes).into_owned(),
                    true,
                    true,
                )),
                Utf8Policy::Skip => Ok((String::new(), false, false)),
            },
        }
    }

    fn invalid(&self, at: usize) -> TextError {
        TextError::InvalidUtf8 {
            path: self.path.clone(),
            line: self.number,
            column: at + 1,
            byte: self.bytes[at],
        }
    }
}

impl Iterator for LineReader {
    type Item = Result<Line>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_line().transpose()
    }
}

/// Returns whether `byte` is not the first byte of a character in UTF-8.
fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

/// The last column of a TSV.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LastColumn {
    /// The TSV has sources and targets.
    Target,
    /// A third column may name the document of a line.
    Document,
}

/// Returns the columns of line `number` of the TSV file `path`: source, target and the name of the
/// document, if there is one. Both texts are empty in an empty line.
pub(super) fn columns<'a>(
    path: &Path,
    number: u64,
    line: &'a str,
    last: LastColumn,
) -> Result<(&'a str, &'a str, Option<&'a str>)> {
    if burnformer_text::visible(line).trim().is_empty() && !line.contains('\t') {
        return Ok(("", "", None));
    }
    let columns: Vec<&str> = line.splitn(4, '\t').collect();
    match (&columns[..], last) {
        (&[source, target], _) => Ok((source, target, None)),
        (&[source, target, document], LastColumn::Document) => Ok((source, target, Some(document))),
        _ => Err(TextError::NotTwoColumns {
            path: path.into(),
            line: number,
            columns: line.split('\t').count(),
            excerpt: line.chars().take(60).collect(),
        }),
    }
}
