//! Glossaries in files.

use std::path::Path;

use burnformer_files::{FileKind, read_whole};

use crate::entry::Entry;
use crate::error::{EntryProblem, GlossaryError};
use crate::glossary::Glossary;

impl Glossary {
    /// Reads a UTF-8 file. Each line contains a source term, a tab, and one translation or several
    /// separated by `|`. Empty lines and lines that begin with `#` are ignored.
    ///
    /// # Errors
    /// Returns a [`GlossaryError`] that names the file and the line.
    pub fn load(path: &Path) -> Result<Self, GlossaryError> {
        let bytes =
            read_whole(path, FileKind::GLOSSARY).map_err(|error| GlossaryError::Unreadable {
                path: path.into(),
                cause: error.into_io(),
            })?;
        Self::parse(path, &bytes)
    }

    /// Parses the content of a file. Errors name the file as `path`.
    ///
    /// # Errors
    /// Returns [`GlossaryError::Entry`] for the first line that is not UTF-8, does not have two
    /// columns, or contains a term that [`Entry::new`] or [`Glossary::add`] refuses.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Self, GlossaryError> {
        let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
        let mut glossary = Self::default();
        for (line, bytes) in (1..).zip(bytes.split(|&byte| byte == b'\n')) {
            let location = format!("{}:{line}", path.display());
            let Ok(text) = std::str::from_utf8(bytes) else {
                return Err(EntryProblem::NotUtf8.at(location));
            };
            let text = text.trim_end_matches('\r');
            if text.trim().is_empty() || text.starts_with('#') {
                continue;
            }
            let columns: Vec<&str> = text.split('\t').collect();
            let &[source, target] = &columns[..] else {
                let columns = columns.len();
                return Err(EntryProblem::Columns {
                    line: text.into(),
                    columns,
                }
                .at(location));
            };
            glossary.add(Entry::new(location, source, target)?)?;
        }
        Ok(glossary)
    }
}

/// Returns the rows of a text table with their line numbers. Cells are separated by `separator`.
/// They may be quoted (RFC 4180) if `has_quotes` is true. Empty rows are left out.
pub fn rows(text: &str, separator: char, has_quotes: bool) -> Vec<(u64, Vec<String>)> {
    let mut builder = csv::ReaderBuilder::new();
    builder
        .delimiter(separator as u8)
        .quoting(has_quotes)
        .has_headers(false)
        .flexible(true);
    let mut reader = builder.from_reader(text.as_bytes());
    let mut rows = Vec::new();
    for record in reader.records().flatten() {
        let is_empty = record.iter().all(|cell| cell.trim().is_empty());
        if !is_empty {
            let line = record.position().map_or(1, csv::Position::line);
            rows.push((line, record.iter().map(String::from).collect()));
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(bytes: &[u8]) -> GlossaryError {
        Glossary::parse("terms.tsv".as_ref(), bytes).unwrap_err()
    }

    fn problem(bytes: &[u8]) -> EntryProblem {
        match error(bytes) {
            GlossaryError::Entry { problem, .. } => problem,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn comments_empty_lines_marks_and_line_ends_of_windows_are_left_out() {
        let text = "\u{feff}# terms\r\nHaus\thouse | houses\r\n\r\n \nHund\tdog";
        let glossary = Glossary::parse("terms.tsv".as_ref(), text.as_bytes()).unwrap();
        let entries: Vec<_> = glossary
            .entries()
            .map(|entry| (entry.source.as_str(), entry.targets.as_slice()))
            .collect();
        assert_eq!(
            entries[0],
            ("Haus", &["house".to_owned(), "houses".to_owned()][..])
        );
        assert_eq!(entries[1], ("Hund", &["dog".to_owned()][..]));
        assert_eq!(entries.len(), 2);
    }

    #[test]
    fn a_bad_line_is_named_with_its_remedy() {
        for line in ["Haus", "Haus\thouse\tmaison"] {
            let text = format!("#\n{line}\n");
            assert!(matches!(
                problem(text.as_bytes()),
                EntryProblem::Columns { .. }
            ));
            let message = error(text.as_bytes()).to_string();
            assert!(
                message.starts_with("terms.tsv:2: ") && message.contains("tab"),
                "{message}"
            );
        }
        assert!(matches!(problem(b"a\tb\n\xff\tc"), EntryProblem::NotUtf8));
        let message = error(b"a\tb\n\xff\tc").to_string();
        assert!(message.starts_with("terms.tsv:2: "));
        for (line, side) in [
            ("\tb", "source"),
            (" \tb", "source"),
            ("a\t", "target"),
            ("a\tb||c", "target"),
        ] {
            let problem = problem(line.as_bytes());
            assert!(matches!(problem, EntryProblem::Empty { side: found, .. } if found == side));
        }
        let long = format!("a\t{}", "x".repeat(201));
        assert!(matches!(
            problem(long.as_bytes()),
            EntryProblem::TooLong {
                characters: 201,
                ..
            }
        ));
        let many = format!("a\t{}", vec!["x"; 21].join("|"));
        assert!(matches!(
            problem(many.as_bytes()),
            EntryProblem::TooManyAlternatives { count: 21, .. }
        ));
    }

    #[test]
    fn a_term_that_comes_twice_is_refused_and_both_lines_named() {
        let message = error(b"das  Haus\thouse\nHund\tdog\ndas Haus\thome").to_string();
        assert!(message.starts_with("terms.tsv:3: "), "{message}");
        assert!(message.contains("terms.tsv:1"), "{message}");
        assert!(Glossary::parse("t".as_ref(), b"Haus\thouse\nhaus\thome").is_ok());
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("missing.tsv");
        let error = Glossary::load(&path).unwrap_err();
        assert!(matches!(error, GlossaryError::Unreadable { .. }));
        assert!(error.to_string().contains("missing.tsv"), "{error}");
        std::fs::write(&path, "a\tb\n").unwrap();
        assert_eq!(Glossary::load(&path).unwrap().len(), 1);
    }
}
