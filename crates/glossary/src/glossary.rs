//! Entries, and how they are found in a sentence.

use std::collections::{HashMap, HashSet};

use crate::error::{GlossaryError, Place};
use crate::words::{Word, normalized, words};

/// The largest number of characters of a term.
pub const MOST_CHARACTERS: usize = 200;
/// The largest number of translations of a term.
pub const MOST_ALTERNATIVES: usize = 20;
/// The largest number of terms of a sentence.
pub const MOST_TERMS: usize = 64;

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
    /// The words of the terms that are found as they are written.
    as_written: Trie,
    /// The words of the terms that are found in any case, in lower case.
    any_case: Trie,
}

/// The words of many terms as a tree, in which a sentence is followed word by word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Trie {
    /// What follows: words that stand directly after the one before, and those after a space.
    next: [HashMap<String, Trie>; 2],
    /// The number of the entry whose term ends here.
    entry: Option<usize>,
}

/// The text of a word by which a [`Trie`] knows it.
type Text = fn(&Word) -> &String;
const WRITTEN: Text = |word| &word.text;
const FOLDED: Text = |word| &word.folded;

impl Trie {
    fn add(&mut self, words: &[Word], text: Text, entry: usize) {
        let mut trie = self;
        for (place, word) in words.iter().enumerate() {
            let next = &mut trie.next[usize::from(place > 0 && word.spaced)];
            trie = next.entry(text(word).clone()).or_default();
        }
        trie.entry = Some(entry);
    }

    /// The entry with the most words with which `sentence` begins.
    fn longest(&self, sentence: &[Word], text: Text) -> Option<usize> {
        let (mut trie, mut found) = (self, None);
        for (place, word) in sentence.iter().enumerate() {
            let next = &trie.next[usize::from(place > 0 && word.spaced)];
            let Some(next) = next.get(text(word)) else { break };
            trie = next;
            found = trie.entry.or(found);
        }
        found
    }
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
        match entry.any_case {
            true => self.any_case.add(&entry.words, FOLDED, number),
            false => self.as_written.add(&entry.words, WRITTEN, number),
        }
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
        let written = self.as_written.longest(sentence, WRITTEN);
        let found = [written, self.any_case.longest(sentence, FOLDED)].into_iter().flatten();
        found.map(|number| &self.entries[number]).max_by_key(|entry| entry.rank())
    }
}

/// What a translation of `sentence` has to contain by `glossaries`: for each term in it the translations of which any
/// one will do, each list once.
///
/// Terms are found as whole words, from left to right; of those that begin at the same word the longest is taken, and
/// terms do not overlap. A term in lower case is found in any case, another as it is written. Of glossaries with the
/// same term the first counts. Of more than [`MOST_TERMS`] those with the longest source terms are wanted.
///
/// The time grows with the words of the sentence, and with the words of the longest term, of which there are at most
/// [`MOST_CHARACTERS`]; the number of entries does not count.
pub fn wanted(glossaries: &[&Glossary], sentence: &str) -> Vec<Vec<String>> {
    if glossaries.iter().all(|glossary| glossary.is_empty()) {
        return Vec::new();
    }
    let words = words(sentence);
    let (mut found, mut seen) = (Vec::new(), HashSet::new());
    let mut rest = &words[..];
    while !rest.is_empty() {
        let entries = glossaries.iter().rev().filter_map(|glossary| glossary.entry_at(rest));
        // Of equals, the last one is taken: that of the first glossary.
        let Some(entry) = entries.max_by_key(|entry| entry.rank()) else {
            rest = &rest[1..];
            continue;
        };
        if seen.insert(&entry.targets) {
            found.push(entry);
        }
        rest = &rest[entry.words.len()..];
    }
    longest(found).into_iter().map(|entry| entry.targets.clone()).collect()
}

/// At most [`MOST_TERMS`] of `entries`, those with the longest terms, in their order.
fn longest(entries: Vec<&Entry>) -> Vec<&Entry> {
    let mut places: Vec<usize> = (0..entries.len()).collect();
    places.sort_by_key(|&place| std::cmp::Reverse(entries[place].source.len()));
    places.truncate(MOST_TERMS);
    places.sort_unstable();
    places.into_iter().map(|place| entries[place]).collect()
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
    fn of_too_many_terms_the_longest_are_wanted_in_their_order() {
        let term = |number: usize| "x".repeat(1 + number * 7 % 100);
        let pairs: Vec<_> = (0..100).map(|number| (term(number), number.to_string())).collect();
        let sentence: Vec<_> = (0..100).map(term).collect();
        let glossary = Glossary::from_pairs(pairs).unwrap();
        let found = wanted(&[&glossary], &sentence.join(" ")).concat();
        let longest = (0..100).filter(|&number| term(number).len() > 100 - MOST_TERMS);
        assert_eq!(found, longest.map(|number| number.to_string()).collect::<Vec<_>>());
    }

    #[test]
    fn a_sentence_is_searched_once_however_many_terms_begin_like_it() {
        // The terms differ in their last word alone, and none of them is in the sentence.
        let term = |number| format!("{}x{number}", "a ".repeat(90));
        let many: Vec<_> = (0..5_000).map(|number| (term(number), "b")).collect();
        let few = Glossary::from_pairs(many[..50].iter().map(|(s, t)| (s, t))).unwrap();
        let many = Glossary::from_pairs(many).unwrap();
        let sentence = "a ".repeat(20_000);
        let time = |glossary: &Glossary| {
            let begun = std::time::Instant::now();
            assert!(wanted(&[glossary], &sentence).is_empty());
            begun.elapsed()
        };
        // To compare each word with each term took a hundred times as long for a hundred times as many.
        let (few, many) = (time(&few), time(&many));
        assert!(many < 10 * few, "{many:?} for 5,000 terms, {few:?} for 50");
    }

    #[test]
    fn pairs_are_named_by_their_number() {
        let error = Glossary::from_pairs([("a", "b"), ("", "c")]).unwrap_err();
        assert!(error.to_string().starts_with("pair 2 of the glossary: "), "{error}");
        let error = Glossary::from_pairs([("a", "b"), ("a", "c")]).unwrap_err();
        assert!(matches!(error, GlossaryError::Duplicate { .. }), "{error}");
    }
}
