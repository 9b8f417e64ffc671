//! Entries, and how they are found in a sentence.

use std::collections::HashMap;

use crate::error::{GlossaryError, Place};
use crate::words::{Word, normalized, words};

/// The largest number of characters of a term.
pub const MOST_CHARACTERS: usize = 200;
/// The largest number of translations of a term.
pub const MOST_ALTERNATIVES: usize = 20;

/// A term and its translations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    place: Place,
    source: String,
    targets: Vec<String>,
    words: Vec<Word>,
    /// Whether the term is in lower case, so that it is found in any case.
    any_case: bool,
}

impl Entry {
    /// An entry for `source` whose translations `target` holds, separated by `|`. Both are brought to normal form C,
    /// with single spaces.
    ///
    /// # Errors
    /// [`GlossaryError`] if a term is empty or too long, or has too many translations.
    pub fn new(place: Place, source: &str, target: &str) -> Result<Self, GlossaryError> {
        let source_words = words(source);
        let any_case = source_words.iter().all(|word| word.text == word.folded);
        let source = checked(&place, "source", source, source)?;
        let targets: Vec<String> = target
            .split('|')
            .map(|one| checked(&place, "target", one, target))
            .collect::<Result<_, _>>()?;
        if targets.len() > MOST_ALTERNATIVES {
            let count = targets.len();
            return Err(GlossaryError::TooManyAlternatives { place, term: source, count });
        }
        Ok(Self { place, source, targets, words: source_words, any_case })
    }

    /// Where the entry was given.
    pub fn place(&self) -> &Place {
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

    /// Whether `sentence` goes on with the term.
    fn begins(&self, sentence: &[Word]) -> bool {
        let same = |(place, (own, word)): (usize, (&Word, &Word))| {
            let same_text =
                if self.any_case { own.folded == word.folded } else { own.text == word.text };
            same_text && (place == 0 || own.spaced == word.spaced)
        };
        sentence.len() >= self.words.len() && self.words.iter().zip(sentence).enumerate().all(same)
    }

    /// The better of two entries that begin at the same word has the larger rank.
    fn rank(&self) -> (usize, bool) {
        (self.words.len(), !self.any_case)
    }
}

/// `term`, which is a part of `text`, in its normal form.
fn checked(
    place: &Place,
    side: &'static str,
    term: &str,
    text: &str,
) -> Result<String, GlossaryError> {
    let normal = normalized(term);
    let characters = normal.chars().count();
    if normal.is_empty() {
        return Err(GlossaryError::Empty { place: place.clone(), side, text: text.into() });
    }
    if characters > MOST_CHARACTERS {
        let term = normal.chars().take(40).collect();
        return Err(GlossaryError::TooLong { place: place.clone(), term, characters });
    }
    Ok(normal)
}

/// Terms and their translations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Glossary {
    entries: Vec<Entry>,
    /// The entries by their term.
    by_source: HashMap<String, usize>,
    /// The entries by the first word of their term, in lower case.
    by_word: HashMap<String, Vec<usize>>,
}

impl Glossary {
    /// A glossary of pairs: a source term and its translation, or several separated by `|`.
    ///
    /// # Errors
    /// [`GlossaryError`] that names the pair by its number.
    pub fn from_pairs<S: AsRef<str>, T: AsRef<str>>(
        pairs: impl IntoIterator<Item = (S, T)>,
    ) -> Result<Self, GlossaryError> {
        let mut glossary = Self::default();
        for (number, (source, target)) in (1..).zip(pairs) {
            let place = Place::Pair { number };
            glossary.add(Entry::new(place, source.as_ref(), target.as_ref())?)?;
        }
        Ok(glossary)
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// [`GlossaryError::Duplicate`] if there is one for its term.
    pub fn add(&mut self, entry: Entry) -> Result<(), GlossaryError> {
        if let Some(&first) = self.by_source.get(&entry.source) {
            let first = self.entries[first].place.clone();
            return Err(GlossaryError::Duplicate { place: entry.place, term: entry.source, first });
        }
        let number = self.entries.len();
        self.by_source.insert(entry.source.clone(), number);
        self.by_word.entry(entry.words[0].folded.clone()).or_default().push(number);
        self.entries.push(entry);
        Ok(())
    }

    /// The entries in the order in which they were given.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The best entry with which `sentence` begins.
    fn entry_at(&self, sentence: &[Word]) -> Option<&Entry> {
        let numbers = self.by_word.get(&sentence.first()?.folded)?;
        let found = numbers.iter().map(|&number| &self.entries[number]);
        found.filter(|entry| entry.begins(sentence)).max_by_key(|entry| entry.rank())
    }
}

/// What a translation of `sentence` has to contain by `glossaries`: for each term in it the translations of which any
/// one will do, each list once.
///
/// Terms are found as whole words, from left to right; of those that begin at the same word the longest is taken, and
/// terms do not overlap. A term in lower case is found in any case, another as it is written. Of glossaries with the
/// same term the first counts.
pub fn wanted(glossaries: &[&Glossary], sentence: &str) -> Vec<Vec<String>> {
    if glossaries.iter().all(|glossary| glossary.is_empty()) {
        return Vec::new();
    }
    let words = words(sentence);
    let mut wanted: Vec<Vec<String>> = Vec::new();
    let mut rest = &words[..];
    while !rest.is_empty() {
        let found = glossaries.iter().rev().filter_map(|glossary| glossary.entry_at(rest));
        // Of equals, the last one is taken: that of the first glossary.
        let Some(entry) = found.max_by_key(|entry| entry.rank()) else {
            rest = &rest[1..];
            continue;
        };
        if !wanted.contains(&entry.targets) {
            wanted.push(entry.targets.clone());
        }
        rest = &rest[entry.words.len()..];
    }
    wanted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn glossary(pairs: &[(&str, &str)]) -> Glossary {
        Glossary::from_pairs(pairs.iter().copied()).unwrap()
    }

    fn found(pairs: &[(&str, &str)], sentence: &str) -> String {
        let lists = wanted(&[&glossary(pairs)], sentence);
        lists.into_iter().map(|list| list.join("|")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn terms_are_whole_words() {
        let pairs = [("Haus", "house"), ("E-Mail", "email"), ("C++", "C++")];
        assert_eq!(found(&pairs, "Das Haus."), "house");
        assert_eq!(found(&pairs, "Das »Haus« und die Haus-Tür"), "house");
        assert_eq!(found(&pairs, "Hausbau, Rathaus, Haus2"), "");
        assert_eq!(found(&pairs, "Eine E-Mail in C++!"), "email C++");
        assert_eq!(found(&pairs, "Eine E - Mail"), "");
    }

    #[test]
    fn characters_of_scripts_without_spaces_are_words() {
        assert_eq!(found(&[("猫", "cat")], "私の猫は黒い"), "cat");
    }

    #[test]
    fn the_longest_term_is_taken_and_terms_do_not_overlap() {
        let pairs = [("rot", "red"), ("rotes Haus", "Red House"), ("Haus am See", "lake house")];
        assert_eq!(found(&pairs, "Ein rotes   Haus am See"), "Red House");
        assert_eq!(found(&pairs, "Das Haus am See ist rot"), "lake house red");
    }

    #[test]
    fn a_term_in_lower_case_is_found_in_any_case_and_others_as_they_are_written() {
        let pairs = [("haus", "home"), ("Haus", "house"), ("IT", "IT")];
        assert_eq!(found(&pairs, "HAUS"), "home");
        assert_eq!(found(&pairs, "Haus"), "house", "the one that is written so is preferred");
        assert_eq!(found(&pairs, "it"), "");
        assert_eq!(found(&[("größe", "size")], "GRÖSSE GRO\u{308}ßE"), "size");
    }

    #[test]
    fn a_term_that_occurs_twice_is_wanted_once() {
        let pairs = [("Haus", "house|houses"), ("Bau", "house|houses"), ("Hund", "dog")];
        assert_eq!(found(&pairs, "Haus, Haus, Bau und Hund"), "house|houses dog");
    }

    #[test]
    fn the_first_of_several_glossaries_wins_unless_another_has_a_longer_term() {
        let (own, base) = (
            glossary(&[("Haus", "home")]),
            glossary(&[("Haus", "house"), ("Haus am See", "lodge")]),
        );
        assert_eq!(wanted(&[&own, &base], "Haus"), [["home"]]);
        assert_eq!(wanted(&[&base, &own], "Haus"), [["house"]]);
        assert_eq!(wanted(&[&own, &base], "Haus am See"), [["lodge"]]);
        assert!(wanted(&[], "Haus").is_empty());
    }

    #[test]
    fn pairs_are_named_by_their_number() {
        let error = Glossary::from_pairs([("a", "b"), ("", "c")]).unwrap_err();
        assert!(error.to_string().starts_with("pair 2 of the glossary: "), "{error}");
        let error = Glossary::from_pairs([("a", "b"), ("a", "c")]).unwrap_err();
        assert!(matches!(error, GlossaryError::Duplicate { .. }), "{error}");
    }
}
