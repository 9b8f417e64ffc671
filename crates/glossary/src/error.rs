use std::fmt;
use std::path::PathBuf;

/// Where an entry of a glossary was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a file.
    Line {
        /// The file.
        path: PathBuf,
        /// The number of the line, from 1.
        line: usize,
    },
    /// In a list of pairs.
    Pair {
        /// The number of the pair, from 1.
        number: usize,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line { path, line } => write!(out, "{}:{line}", path.display()),
            Self::Pair { number } => write!(out, "pair {number} of the glossary"),
        }
    }
}

/// What is wrong with a glossary.
#[derive(Debug, thiserror::Error)]
pub enum GlossaryError {
    /// The file cannot be read.
    #[error("{}: {cause}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: std::io::Error,
    },
    /// A line is not UTF-8.
    #[error("{place}: the line is not UTF-8; save the file as UTF-8")]
    NotUtf8 {
        /// The line.
        place: Place,
    },
    /// A line has not two columns.
    #[error(
        "{place}: the line {line:?} has {columns} columns; write a term, a tab and its translation"
    )]
    Columns {
        /// The line.
        place: Place,
        /// What it holds.
        line: String,
        /// The number of its columns.
        columns: usize,
    },
    /// A term is empty.
    #[error("{place}: the {side} term is empty in {text:?}; write it, or leave the entry out")]
    Empty {
        /// Where it was given.
        place: Place,
        /// `source` or `target`.
        side: &'static str,
        /// The column, with all its alternatives.
        text: String,
    },
    /// A term is too long.
    #[error(
        "{place}: the term {term:?} has {characters} characters; at most {} are possible",
        crate::MOST_CHARACTERS
    )]
    TooLong {
        /// Where it was given.
        place: Place,
        /// The beginning of the term.
        term: String,
        /// The number of its characters.
        characters: usize,
    },
    /// There are too many alternatives.
    #[error(
        "{place}: the term {term:?} has {count} translations; at most {} are possible",
        crate::MOST_ALTERNATIVES
    )]
    TooManyAlternatives {
        /// Where it was given.
        place: Place,
        /// The source term.
        term: String,
        /// The number of its translations.
        count: usize,
    },
    /// Two entries have the same source term.
    #[error(
        "{place}: the term {term:?} was given before ({first}); write its translations in one entry, separated by |"
    )]
    Duplicate {
        /// Where it was given again.
        place: Place,
        /// The source term.
        term: String,
        /// Where it was given first.
        first: Place,
    },
}
