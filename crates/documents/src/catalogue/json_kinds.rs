//! Files in JSON and YAML that are no catalogues: most of their values are codes.

use std::collections::BTreeSet;

use super::message::{BrokenCatalogue, Result};

/// The kinds, one a line, in tab-separated columns: keys of the file itself that are all there, the
/// keys of its texts, and what it is. The value of a key with `{}` is an object, with `[]` a list,
/// and with `=` the text behind the sign. A file without keys of texts is refused, and the last
/// column has a remedy.
const KINDS: &str = include_str!("json_kinds.tsv");

/// A kind of file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kind {
    marks: &'static str,
    texts: &'static str,
    fault: &'static str,
}

impl Kind {
    fn all() -> impl Iterator<Item = Self> {
        KINDS.lines().filter_map(|line| {
            let (marks, rest) = line.split_once('\t')?;
            let (texts, fault) = rest.split_once('\t')?;
            Some(Self {
                marks,
                texts,
                fault,
            })
        })
    }

    /// Returns whether the `key` with a value written as `end` tells the kind of a file.
    pub(super) fn has_mark(key: &str, end: &str) -> bool {
        let mut marks = Self::all().flat_map(|kind| kind.marks.split(' '));
        marks.any(|mark| mark.strip_prefix(key) == Some(end))
    }

    /// Returns the kind of a file with these marks; `None` for a catalogue.
    pub(super) fn of(marks: &BTreeSet<String>) -> Option<Self> {
        Self::all().find(|kind| kind.marks.split(' ').all(|mark| marks.contains(mark)))
    }

    /// Returns the keys of the texts.
    ///
    /// # Errors
    /// If there are none.
    pub(super) fn texts(self) -> Result<Vec<&'static str>> {
        if self.texts.is_empty() {
            let fault = format!("the file is {}", self.fault);
            return Err(BrokenCatalogue { line: 1, fault });
        }
        Ok(self.texts.split(' ').collect())
    }
}
