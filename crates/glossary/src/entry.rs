//! Entries: a term and its translations.

use crate::error::{EntryPlace, EntryProblem, GlossaryError};
use crate::words::{Word, normalized, words};
use crate::{MOST_ALTERNATIVES, MOST_CHARACTERS};

/// A term and its translations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub(crate) place: EntryPlace,
    pub(crate) source: String,
    pub(crate) targets: Vec<String>,
    pub(crate) words: Vec<Word>,
    /// Whether the term is in lower case; it is then found in any case.
    pub(crate) any_case: bool,
}

impl Entry {
    /// An entry for `source` whose translations `target` holds, separated by `|`. Both are brought to normal form C,
    /// with single spaces.
    ///
    /// # Errors
    /// [`GlossaryError`] if a term is empty or too long, or has too many translations.
    pub fn new(place: EntryPlace, source: &str, target: &str) -> Result<Self, GlossaryError> {
        let words = words(source);
        let any_case = words.iter().all(|word| word.text == word.folded);
        match terms(source, target) {
            Ok((source, targets)) => Ok(Self { place, source, targets, words, any_case }),
            Err(problem) => Err(problem.at(place)),
        }
    }

    /// The place at which the entry was given.
    pub fn place(&self) -> &EntryPlace {
        &self.place
    }

    /// The source term.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The translations, of which any one will do.
    pub fn targets(&self) -> &[String] {
        &self.targets
    }

    /// The better of two entries that begin at the same word has the larger rank.
    pub(crate) fn rank(&self) -> (usize, bool) {
        (self.words.len(), !self.any_case)
    }
}

/// The source term and its translations in normal form.
fn terms(source: &str, target: &str) -> Result<(String, Vec<String>), EntryProblem> {
    let term = checked("source", source, source)?;
    let targets = target.split('|').map(|one| checked("target", one, target));
    let targets = targets.collect::<Result<Vec<_>, _>>()?;
    match targets.len() {
        count if count > MOST_ALTERNATIVES => {
            Err(EntryProblem::TooManyAlternatives { term, count })
        }
        _ => Ok((term, targets)),
    }
}

/// `term`, which is a part of `text`, in its normal form.
fn checked(side: &'static str, term: &str, text: &str) -> Result<String, EntryProblem> {
    let normal = normalized(term);
    match normal.chars().count() {
        0 => Err(EntryProblem::Empty { side, text: text.into() }),
        characters if characters > MOST_CHARACTERS => {
            Err(EntryProblem::TooLong { term: normal.chars().take(40).collect(), characters })
        }
        _ => Ok(normal),
    }
}
