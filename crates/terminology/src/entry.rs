//! Entries: a term and its translations.

use crate::error::{EntryProblem, GlossaryError};
use crate::{MAX_ALTERNATIVES, MAX_CHARACTERS};
use burnformer_text::{Word, are_particles, is_blank, is_in_word, normalized, words};

/// A term and its translations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Where the entry is defined: a file and a line, or a number.
    pub location: String,
    /// The source term.
    pub source: String,
    /// The accepted translations.
    pub targets: Vec<String>,
    pub(crate) words: Vec<Word>,
    /// If true, the term is in lower case and matches in any case.
    pub(crate) any_case: bool,
    /// If true, its last word may have any ending.
    pub(crate) is_open: bool,
}

impl Entry {
    /// Creates an entry for the term `source`, with the translations in `target` separated by `|`.
    /// Both are normalised to form C, with single spaces and without invisible characters. A `*` at
    /// the end of a word stands for any ending (`talo*` for `talossa`).
    ///
    /// # Errors
    /// Returns a [`GlossaryError`] if a term is empty or too long, or has too many translations.
    pub fn new(location: String, source: &str, target: &str) -> Result<Self, GlossaryError> {
        let normal = normalized(source);
        let stem = normal
            .strip_suffix('*')
            .filter(|stem| stem.ends_with(is_in_word));
        let words = words(stem.unwrap_or(&normal));
        let is_open = stem.is_some();
        let any_case = words.iter().all(|word| word.text == word.folded);
        match terms(source, target) {
            Ok((source, targets)) => Ok(Self {
                location,
                source,
                targets,
                words,
                any_case,
                is_open,
            }),
            Err(problem) => Err(problem.at(location)),
        }
    }

    /// Returns the rank of the entry. Among entries that match at the same word, longer ones rank
    /// higher, then more exact ones.
    pub(crate) fn rank(&self) -> (usize, usize, bool, bool) {
        let last = self
            .words
            .last()
            .map_or(0, |word| word.text.chars().count());
        (self.words.len(), last, !self.any_case, !self.is_open)
    }

    /// Returns whether the last word of the term matches `word` of a sentence: exactly, with any
    /// ending if the term is open, or with particles. `text` selects the form to compare.
    pub(crate) fn ends_with(&self, word: &Word, text: fn(&Word) -> &str) -> bool {
        let last = self.words.last().map_or("", text);
        let rest = text(word).strip_prefix(last);
        rest.is_some_and(|rest| self.is_open || rest.is_empty() || are_particles(last, rest))
    }
}

/// Returns the source term and its translations in normal form.
fn terms(source: &str, target: &str) -> Result<(String, Vec<String>), EntryProblem> {
    let term = checked("source", source, source)?;
    let targets = target.split('|').map(|one| checked("target", one, target));
    let targets = targets.collect::<Result<Vec<_>, _>>()?;
    match targets.len() {
        count if count > MAX_ALTERNATIVES => Err(EntryProblem::TooManyAlternatives { term, count }),
        _ => Ok((term, targets)),
    }
}

/// Normalises `term`, a part of `text`, and checks it.
fn checked(side: &'static str, term: &str, text: &str) -> Result<String, EntryProblem> {
    if is_blank(term) {
        return Err(EntryProblem::Empty {
            side,
            text: text.into(),
        });
    }
    let normal = normalized(term);
    let characters = normal.chars().count();
    if characters > MAX_CHARACTERS {
        return Err(EntryProblem::TooLong {
            term: normal.chars().take(40).collect(),
            characters,
        });
    }
    Ok(normal)
}
