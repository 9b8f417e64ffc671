use std::path::PathBuf;

/// An error that makes a glossary unusable.
#[derive(Debug, thiserror::Error)]
pub enum GlossaryError {
    /// The file cannot be read.
    #[error("{path}: {cause}")]
    Unreadable {
        /// The path of the file.
        path: PathBuf,
        /// The error of the operating system.
        cause: std::io::Error,
    },
    /// An entry is invalid.
    #[error("{location}: {problem}")]
    Entry {
        /// The file and line of the entry, or its number in a list of pairs.
        location: String,
        /// What is wrong with the entry, and the remedy.
        problem: EntryProblem,
    },
}

/// A problem with a glossary entry.
#[derive(Debug, thiserror::Error)]
pub enum EntryProblem {
    /// The line is not UTF-8.
    #[error("the line is not UTF-8; save the file as UTF-8")]
    NotUtf8,
    /// The line does not have two columns.
    #[error(
        "the line {line:?} has {columns} columns instead of two; write a term, a tab and its translation"
    )]
    Columns {
        /// The content of the line.
        line: String,
        /// The number of columns in the line.
        columns: usize,
    },
    /// A term is empty.
    #[error("the {side} term is empty in {text:?}; write it, or leave the entry out")]
    Empty {
        /// `source` or `target`.
        side: &'static str,
        /// The column, with all its alternatives.
        text: String,
    },
    /// A term is too long.
    #[error(
        "the term {term:?} has {characters} characters; at most {} are possible",
        crate::MAX_CHARACTERS
    )]
    TooLong {
        /// The beginning of the term.
        term: String,
        /// The number of characters of the term.
        characters: usize,
    },
    /// There are too many alternatives.
    #[error(
        "the term {term:?} has {count} translations; at most {} are possible",
        crate::MAX_ALTERNATIVES
    )]
    TooManyAlternatives {
        /// The source term.
        term: String,
        /// The number of its translations.
        count: usize,
    },
    /// Another entry has the same source term.
    #[error(
        "the term {term:?} was given before ({first}); write its translations in one entry, separated by |"
    )]
    Duplicate {
        /// The source term.
        term: String,
        /// The location at which it was given first.
        first: String,
    },
}

impl EntryProblem {
    /// Returns the error with the entry's location.
    pub(crate) fn at(self, location: String) -> GlossaryError {
        GlossaryError::Entry {
            location,
            problem: self,
        }
    }
}
