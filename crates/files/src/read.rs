//! Reads whole files up to a limit.
//!
//! A user's file may be a device or a pipe that never ends. Without a limit, reading it would fill
//! the memory of the machine.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// A kind of file that is read whole, and its size limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileKind {
    /// The name of the kind in messages, with its article: `a glossary`.
    pub name: &'static str,
    /// Maximum number of bytes.
    pub limit: u64,
    /// What the user can do about a longer file.
    pub remedy: &'static str,
}

impl FileKind {
    /// A settings file, written by people: at most 1 MiB.
    pub const SETTINGS: Self = Self::new("a file of settings", 1);
    /// A list of keys, tokens or certificates: at most 16 MiB.
    pub const KEYS: Self = Self::new("a file of keys", 16);
    /// A file of the program's own notes: at most 16 MiB.
    pub const NOTES: Self = Self::new("a file of notes", 16);
    /// A glossary: at most 256 MiB, several million terms.
    pub const GLOSSARY: Self = Self::new("a glossary", 256);
    /// A tokeniser: at most 256 MiB. A tokeniser with 250,000 tokens takes about 35 MiB.
    pub const TOKENIZER: Self = Self::new("a tokeniser", 256);
    /// A shortlist: at most 256 MiB. A shortlist for 250,000 tokens takes about 100 MiB.
    pub const SHORTLIST: Self = Self::new("a shortlist", 256);
    /// A document, catalogue or table not read line by line: at most 256 MiB.
    pub const DOCUMENT: Self = Self::divisible("a document", 256);
    /// The metrics of a run: at most 256 MiB, about a million lines.
    pub const METRICS: Self = Self::new("a file of metrics", 256);

    const fn new(name: &'static str, mebibytes: u64) -> Self {
        Self {
            name,
            limit: mebibytes << 20,
            remedy: "name another file",
        }
    }

    /// Creates a kind that can be split into several files.
    const fn divisible(name: &'static str, mebibytes: u64) -> Self {
        Self {
            remedy: "name another file, or divide this one",
            ..Self::new(name, mebibytes)
        }
    }
}

/// The error for a file that cannot be read whole.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct ReadError {
    /// The path of the file.
    pub path: PathBuf,
    /// The problem.
    pub problem: ReadProblem,
}

/// Why a file cannot be read whole.
#[derive(Debug, thiserror::Error)]
pub enum ReadProblem {
    /// The operating system returned an error.
    #[error(transparent)]
    Unreadable(io::Error),
    /// The file is longer than the limit of its kind, or never ends.
    #[error(
        "has more than {} MiB, the limit for {}; {}",
        .0.limit >> 20,
        .0.name,
        .0.remedy
    )]
    TooLong(FileKind),
}

impl ReadProblem {
    /// Converts the problem into an I/O error, for error types that hold one and name the path
    /// themselves.
    pub fn into_io(self) -> io::Error {
        match self {
            Self::Unreadable(cause) => cause,
            Self::TooLong(_) => io::Error::new(io::ErrorKind::FileTooLarge, self.to_string()),
        }
    }
}

impl ReadError {
    /// Converts the problem with [`ReadProblem::into_io`].
    pub fn into_io(self) -> io::Error {
        self.problem.into_io()
    }
}

/// Reads the file at `path`, of the given `kind`.
///
/// # Errors
/// If the file cannot be read, or exceeds the limit of its kind. At most one byte beyond the limit
/// is read.
pub fn read_whole(path: &Path, kind: FileKind) -> Result<Vec<u8>, ReadError> {
    let content = match File::open(path) {
        Ok(file) => read_to_end(file, kind),
        Err(cause) => Err(ReadProblem::Unreadable(cause)),
    };
    content.map_err(|problem| ReadError {
        path: path.into(),
        problem,
    })
}

/// Reads everything from `reader`, such as a decompressor.
///
/// # Errors
/// The errors of [`read_whole`], without the path.
pub fn read_to_end(reader: impl Read, kind: FileKind) -> Result<Vec<u8>, ReadProblem> {
    let mut bytes = Vec::new();
    reader
        .take(kind.limit + 1)
        .read_to_end(&mut bytes)
        .map_err(ReadProblem::Unreadable)?;
    if bytes.len() as u64 > kind.limit {
        return Err(ReadProblem::TooLong(kind));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const SMALL: FileKind = FileKind::new("a small file", 1);

    #[test]
    fn a_file_of_the_limit_is_read_and_one_more_byte_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("file");
        let limit = 1 << 20;
        fs::write(&path, vec![b'a'; limit]).unwrap();
        assert_eq!(read_whole(&path, SMALL).unwrap().len(), limit);
        fs::write(&path, vec![b'a'; limit + 1]).unwrap();
        let refused = read_whole(&path, SMALL).unwrap_err();
        assert_eq!(
            refused.to_string(),
            format!(
                "{}: has more than 1 MiB, the limit for a small file; name another file",
                path.display()
            )
        );
    }

    #[test]
    fn no_more_than_a_byte_beyond_the_limit_is_taken_from_an_endless_reader() {
        let mut endless = io::repeat(b'a').take(u64::MAX);
        let refused = read_to_end(&mut endless, SMALL);
        assert!(matches!(refused, Err(ReadProblem::TooLong(SMALL))));
        assert_eq!(u64::MAX - endless.limit(), (1 << 20) + 1);
    }

    #[test]
    fn a_missing_file_keeps_the_error_of_the_system() {
        let path = Path::new("no/such/file");
        let error = read_whole(path, SMALL).unwrap_err();
        let error = error.into_io();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
