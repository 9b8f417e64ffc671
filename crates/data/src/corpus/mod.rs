//! Corpora as files with one sentence per line: plain, gzip, zstd, or standard input.
//!
//! Text is streamed: only one line per side is held in memory. A byte-order mark at the start of a
//! file and a carriage return at the end of a line are removed. Other control characters (such as
//! NUL) stay in the line, because line numbers and text must agree with the file; the normaliser of
//! the tokeniser removes them.

mod compressed;
mod error;
mod lines;
mod open;
mod parallel;

use std::path::{Path, PathBuf};

use derive_more::Display;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use error::TextError;
pub use lines::{Line, LineReader, MAX_LINE_BYTES, Repair};
pub(crate) use open::open_error;
pub use open::{COMPRESSED, is_pipe, open_bytes, repeated_pipe};
pub use parallel::{LinePair, ParallelReader, check_line_counts, read_documents, read_pairs};

/// The policy for a line that is not valid UTF-8.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Utf8Policy {
    /// Stop with an error that names the file and the line.
    #[default]
    Error,
    /// Put the replacement character U+FFFD in place of the invalid bytes, and keep the line.
    Replace,
    /// Drop the pair, and count it in the report on cleaning; readers give the line out as empty
    /// and marked invalid.
    Skip,
}

/// The files of a parallel corpus.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CorpusPaths {
    /// Two files, where line n of one is the translation of line n of the other.
    Pair {
        /// The source side.
        source: PathBuf,
        /// The target side.
        target: PathBuf,
    },
    /// One file of `source<TAB>target` lines.
    Tsv {
        /// The file.
        tsv: PathBuf,
    },
    /// A corpus whose targets are the sources.
    Reversed {
        /// The corpus in the other direction.
        reversed: Box<CorpusPaths>,
    },
    /// A corpus that is divided into documents: by lines that are empty on both sides, or by the
    /// third column of a TSV. Without them, it is one document.
    Documents {
        /// The corpus.
        documents: Box<CorpusPaths>,
    },
}

impl CorpusPaths {
    /// Creates a corpus of two files, where line n of one is the translation of line n of the
    /// other.
    pub fn pair(source: impl Into<PathBuf>, target: impl Into<PathBuf>) -> Self {
        Self::Pair {
            source: source.into(),
            target: target.into(),
        }
    }

    /// Creates a corpus of one file with lines `source<TAB>target`.
    pub fn tsv(path: impl Into<PathBuf>) -> Self {
        Self::Tsv { tsv: path.into() }
    }

    /// Returns the corpus in the other direction.
    pub fn reversed(self) -> Self {
        Self::Reversed {
            reversed: Box::new(self),
        }
    }

    /// Returns the corpus divided into documents.
    pub fn in_documents(self) -> Self {
        Self::Documents {
            documents: Box::new(self),
        }
    }

    /// Returns the files, source first; of a reversed corpus in the order of the corpus in the
    /// other direction.
    pub fn files(&self) -> Vec<&Path> {
        match self {
            Self::Reversed { reversed } => reversed.files(),
            Self::Documents { documents } => documents.files(),
            Self::Pair { source, target } => vec![source, target],
            Self::Tsv { tsv } => vec![tsv],
        }
    }
}

/// A side of a corpus, which in TSV is a column.
#[derive(Clone, Copy, Debug, Display, PartialEq, Eq)]
pub enum Side {
    /// The sentences to translate: the first column.
    #[display("source")]
    Source,
    /// The translations: the second column.
    #[display("target")]
    Target,
}

/// Returns whether the file name marks a text as TSV, with lines of `source<TAB>target`: it ends in
/// `.tsv`, or in `.tsv` and the suffix of a compression (`.tsv.gz`).
pub fn is_tsv(path: &Path) -> bool {
    if !has_extension(path, "gz") && !has_extension(path, "zst") {
        return has_extension(path, "tsv");
    }
    path.file_stem()
        .is_some_and(|stem| has_extension(Path::new(stem), "tsv"))
}

/// Returns whether the name of `path` ends in `.extension`, in upper or lower case.
fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension()
        .is_some_and(|found| found.eq_ignore_ascii_case(extension))
}

/// Returns whether `path` is `-`, which means standard input.
pub fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}
