//! The lines to translate, with their prefixes.

use std::path::PathBuf;

use anyhow::{Error, Result, bail};
use burnformer_data::corpus::repeated_pipe;
use burnformer_data::{DataError, LineReader, Utf8Policy};

use super::Args;
use crate::line_warnings::LineWarnings;

/// The largest number of bytes of text that are read ahead, however many lines that is.
const CHUNK_BYTES: usize = 4 << 20;

/// The lines to translate and their prefixes.
pub(super) struct Input {
    pub(super) lines: LineReader,
    pub(super) prefixes: Option<LineReader>,
    pub(super) warnings: LineWarnings,
    pub(super) prefix_warnings: Option<LineWarnings>,
}

/// Some lines, of which the first has the number `first`, and the error that follows them, if any.
#[derive(Default)]
pub(super) struct Chunk {
    pub(super) first: u64,
    pub(super) lines: Vec<String>,
    pub(super) prefixes: Vec<String>,
    pub(super) failure: Option<Error>,
}

impl Input {
    pub(super) fn open(args: &Args) -> Result<Self> {
        let both = [Some(&args.input), args.prefix.as_ref()].into_iter().flatten();
        if let Some(path) = repeated_pipe(both.map(PathBuf::as_path)) {
            return Err(DataError::PipeTwice { path: path.into() }.into());
        }
        let lines = LineReader::open(&args.input, Utf8Policy::Replace)?.cutting_long_lines();
        let prefixes = args.prefix.as_ref().map(|path| LineReader::open(path, Utf8Policy::Error));
        let warnings = LineWarnings::new(lines.path());
        let prefixes = prefixes.transpose()?;
        let prefix_warnings = prefixes.as_ref().map(|lines| LineWarnings::new(lines.path()));
        Ok(Self { lines, prefixes, warnings, prefix_warnings })
    }

    /// Reports how many lines were translated although something was wrong with them.
    pub(super) fn finish(&self) {
        [Some(&self.warnings), self.prefix_warnings.as_ref()]
            .into_iter()
            .flatten()
            .for_each(LineWarnings::finish);
    }

    pub(super) fn name(&self) -> String {
        self.lines.path().display().to_string()
    }

    /// The next lines; none at the end of the input.
    pub(super) fn next_chunk(&mut self, args: &Args) -> Chunk {
        let mut chunk = Chunk { first: self.lines.lines_read() + 1, ..Chunk::default() };
        let mut bytes = 0;
        while chunk.lines.len() < args.chunk && bytes < CHUNK_BYTES {
            match self.next_line() {
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

    fn next_line(&mut self) -> Result<Option<(String, Option<String>)>> {
        let Some(line) = self.lines.next_line()? else {
            return Ok(None);
        };
        self.warnings.line(&line);
        let Some(prefixes) = &mut self.prefixes else {
            return Ok(Some((line.text, None)));
        };
        if let Some(prefix) = prefixes.next_line()? {
            return Ok(Some((line.text, Some(prefix.text))));
        }
        let (path, number) = (prefixes.path().display(), line.number);
        bail!("--prefix {path}: ends before line {number}; it needs one line per sentence")
    }
}
