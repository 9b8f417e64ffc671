use std::io;
use std::path::PathBuf;

use burnformer_text::counted;

use super::Side;

/// A result with [`TextError`] as its default error.
pub(super) type Result<T, E = TextError> = std::result::Result<T, E>;

/// A file that cannot be opened, or text that cannot be read from it.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum TextError {
    /// The file does not exist.
    #[error("{0}: no such file; check the path (`-` reads standard input)")]
    NotFound(PathBuf),
    /// The file exists but cannot be read: it is a directory, or permissions or the disk prevent
    /// it.
    #[error("{0}: cannot be read: {1}; check that it is a file you may read")]
    Unreadable(PathBuf, io::Error),
    /// The file has no line.
    #[error("{0}: the file is empty; give a file with one sentence per line")]
    Empty(PathBuf),
    /// The two sides of a corpus do not have the same number of lines.
    #[error(
        "{shorter} ends after line {shorter_lines}, but {longer} has {}; line {at} has no partner: \
         the sides of a corpus must be translations line by line, so find where they lost step",
        counted(longer_lines, "line"), at = shorter_lines + 1
    )]
    LineCountMismatch {
        /// The side that ended first.
        shorter: PathBuf,
        /// Number of lines of the shorter side.
        shorter_lines: u64,
        /// The other side.
        longer: PathBuf,
        /// Number of lines of the longer side.
        longer_lines: u64,
    },
    /// A line is not UTF-8 and the policy is [`Utf8Policy::Error`](crate::Utf8Policy::Error).
    #[error(
        "{path}:{line}: byte 0x{byte:02x} at byte {column} is not valid UTF-8; convert the file \
         from the encoding that it has (`iconv -f latin1 -t utf-8`)"
    )]
    InvalidUtf8 {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The byte within the line, from 1.
        column: usize,
        /// The first byte that is not part of a valid character.
        byte: u8,
    },
    /// A line of a TSV corpus does not have exactly one tab.
    #[error(
        "{path}:{line}: {} where source<TAB>target were expected, in {excerpt:?}; {remedy}",
        counted(columns, "column"),
        remedy = match columns {
            1 => "if the target sentences are in a file of their own, name both files",
            _ => "keep the first two columns (`cut -f1,2`) and make sure that no sentence holds a tab",
        }
    )]
    NotTwoColumns {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// Number of columns found.
        columns: usize,
        /// The start of the line.
        excerpt: String,
    },
    /// A line is empty on one side only, in a text that is divided into documents by empty lines.
    #[error(
        "{path}:{line}: the {side} is empty and the other side is not; a pair that is empty on both sides \
         divides documents, so remove this pair, or empty both of its sides"
    )]
    EmptyOnOneSide {
        /// The file of the empty line.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The empty side.
        side: Side,
    },
    /// Two TSV files, each with both sides, were given as the two sides of a corpus.
    #[error(
        "{first} and {second} are TSV files, each with both sides; give one of them alone, or join them first \
         (`cat {first} {second} > corpus.tsv`)"
    )]
    TwoTables {
        /// The file given as the source side.
        first: PathBuf,
        /// The file given as the target side.
        second: PathBuf,
    },
    /// The text is UTF-16 or UTF-32. The encoding has the name that iconv uses.
    #[error("{0}: the text is {name}; convert it to UTF-8 (`iconv -f {1} -t utf-8`)",
        name = .1.to_uppercase())]
    Wide(PathBuf, &'static str),
    /// A line is longer than any sentence. Most likely the file is not text, or has no line ends.
    #[error(
        "{path}:{line}: the line is longer than {limit} bytes; one sentence per line is expected, \
         is this a text file with line ends?"
    )]
    LineTooLong {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The limit in bytes.
        limit: usize,
    },
    /// A gzip or zstd stream ends early or is corrupt.
    #[error(
        "{path}: the compressed data is truncated or damaged after line {line}: {cause}; \
         test it (`gzip -t`, `zstd -t`) and fetch it again"
    )]
    DamagedCompression {
        /// The file.
        path: PathBuf,
        /// Number of complete lines before the damage.
        line: u64,
        /// The error of the decoder.
        cause: io::Error,
    },
    /// The name of a file ends in `.gz` or `.zst`, but its content is not in that format.
    #[error("{0}: the name says {1}, the content does not; rename the file or compress it")]
    NotCompressed(PathBuf, &'static str),
    /// Standard input or another pipe was given for more than one text.
    #[error(
        "`{0}` was given twice, but standard input and pipes can be read only once; give one TSV, or write the text \
         to a file first (`cat > corpus.tsv`)"
    )]
    PipeTwice(PathBuf),
    /// Standard input or another pipe was given where the text has to be read more than once.
    #[error(
        "`{0}` cannot be used here, because the text is read more than once and a pipe can be read only once; write \
         it to a file first (`cat > corpus.tsv`)"
    )]
    NotRepeatable(PathBuf),
}

burnformer_text::debug_as_message!(TextError);

impl TextError {
    /// Returns the paths of the texts that the error names. The user may know such a text by
    /// another name.
    pub fn texts_mut(&mut self) -> Vec<&mut PathBuf> {
        match self {
            Self::NotFound(path)
            | Self::Unreadable(path, _)
            | Self::Empty(path)
            | Self::Wide(path, _)
            | Self::NotCompressed(path, _)
            | Self::InvalidUtf8 { path, .. }
            | Self::NotTwoColumns { path, .. }
            | Self::LineTooLong { path, .. }
            | Self::EmptyOnOneSide { path, .. }
            | Self::DamagedCompression { path, .. } => vec![path],
            Self::LineCountMismatch {
                shorter, longer, ..
            } => vec![shorter, longer],
            Self::TwoTables { first, second } => vec![first, second],
            Self::PipeTwice(_) | Self::NotRepeatable(_) => vec![],
        }
    }
}
