//! Glossaries, and the search for their entries in a sentence.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;

use crate::entry::Entry;
use crate::error::{EntryProblem, GlossaryError};
use crate::finder::Finder;
use burnformer_text::{PartKind, Word, joined, parts, words};

/// Maximum number of terms in a sentence.
pub const MAX_TERMS: usize = 64;

/// Terms and their translations.
#[derive(Clone, Debug, Default)]
pub struct Glossary {
    entries: Vec<Entry>,
    /// The index of each entry, by its term.
    by_source: HashMap<String, usize>,
    /// Built on first use.
    finder: OnceLock<Finder>,
}

impl PartialEq for Glossary {
    fn eq(&self, other: &Self) -> bool {
        self.entries == other.entries
    }
}

impl Eq for Glossary {}

impl Glossary {
    /// Creates a glossary from pairs of a source term and its translations, separated by `|`.
    ///
    /// # Errors
    /// Returns a [`GlossaryError`] that names the pair by its number.
    pub fn from_pairs<S: AsRef<str>, T: AsRef<str>>(
        pairs: impl IntoIterator<Item = (S, T)>,
    ) -> Result<Self, GlossaryError> {
        let mut glossary = Self::default();
        for (number, (source, target)) in (1..).zip(pairs) {
            let location = format!("pair {number} of the glossary");
            glossary.add(Entry::new(location, source.as_ref(), target.as_ref())?)?;
        }
        Ok(glossary)
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// Returns [`EntryProblem::Duplicate`] if the glossary already has an entry for this term.
    pub fn add(&mut self, entry: Entry) -> Result<(), GlossaryError> {
        if let Some(&first) = self.by_source.get(&entry.source) {
            let first = self.entries[first].location.clone();
            return Err(EntryProblem::Duplicate {
                term: entry.source,
                first,
            }
            .at(entry.location));
        }
        let number = self.entries.len();
        self.by_source.insert(entry.source.clone(), number);
        self.finder.take();
        self.entries.push(entry);
        Ok(())
    }

    /// Iterates over the entries in the order in which they were added.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the approximate memory of the glossary in bytes, including the automaton that finds
    /// its terms.
    pub fn size(&self) -> usize {
        let texts = self
            .entries
            .iter()
            .flat_map(|it| it.targets.iter().chain([&it.source]));
        // Each entry takes 1 KiB, and each byte of its texts 8 bytes of words.
        1024 * self.len() + 8 * texts.map(String::len).sum::<usize>()
    }

    /// Returns whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns, for each word of `sentence`, the best entry that begins with it.
    fn entries_at(&self, sentence: &[Word]) -> Vec<Option<&Entry>> {
        let finder = self.finder.get_or_init(|| Finder::new(&self.entries));
        let numbers = finder.entries_at(&self.entries, sentence).into_iter();
        numbers
            .map(|number| number.map(|number| &self.entries[number]))
            .collect()
    }
}

/// A term found in a sentence.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Term {
    /// The term as the sentence writes it, in normal form C with single spaces.
    pub source: String,
    /// The accepted translations.
    pub targets: Vec<String>,
}

impl Term {
    /// Returns the number of bytes of the texts.
    pub fn size(&self) -> usize {
        self.source.len() + self.targets.iter().map(String::len).sum::<usize>()
    }
}

/// Returns the terms of `glossaries` in `sentence`, with their accepted translations, in order. The
/// translation of the sentence must contain one translation of each.
///
/// Terms match whole words from left to right and do not overlap. The longest term that begins at a
/// word is taken. A lower-case term matches in any case; all others match case-sensitively. If
/// several glossaries have a term, the first one counts. Nothing is a term inside of a placeholder,
/// an address or a tag, unless the term contains all of it. The time is linear in the sentence and
/// in the terms.
pub fn wanted(glossaries: &[&Glossary], sentence: &str) -> Vec<Term> {
    if glossaries.iter().all(|glossary| glossary.is_empty()) {
        return Vec::new();
    }
    let (words, borders) = words_with_borders(sentence);
    let entries_by_glossary: Vec<_> = glossaries
        .iter()
        .map(|glossary| glossary.entries_at(&words))
        .collect();
    let mut terms = Vec::new();
    let mut position = 0;
    while position < words.len() {
        // The last maximum is the entry of the first glossary.
        let best = entries_by_glossary
            .iter()
            .rev()
            .filter_map(|entries| entries[position])
            .filter(|entry| borders[position] && borders[position + entry.words.len()])
            .max_by_key(|entry| entry.rank());
        let Some(entry) = best else {
            position += 1;
            continue;
        };
        let term = &words[position..position + entry.words.len()];
        position += term.len();
        terms.push(Term {
            source: joined(term),
            targets: entry.targets.clone(),
        });
    }
    terms
}

/// Returns the words of `sentence`, and for each word and the end whether a term may begin or end
/// before it: not inside of a placeholder, an address or a tag.
fn words_with_borders(sentence: &str) -> (Vec<Word>, Vec<bool>) {
    let mut all = Vec::new();
    let mut borders = Vec::new();
    for (range, is_verbatim) in pieces(sentence) {
        let mut words = words(&sentence[range.clone()]);
        if let Some(first) = words.first_mut() {
            first.spaced |= sentence[..range.start].ends_with(char::is_whitespace);
        }
        borders.extend((0..words.len()).map(|index| !is_verbatim || index == 0));
        all.extend(words);
    }
    borders.push(true);
    (all, borders)
}

/// Returns the ranges of the verbatim parts of `sentence` and of the text between them, and whether
/// each is such a part.
fn pieces(sentence: &str) -> Vec<(Range<usize>, bool)> {
    let mut pieces = Vec::new();
    let mut end = 0;
    for part in parts(sentence) {
        if part.kind == PartKind::Verbatim {
            pieces.push((end..part.range.start, false));
            end = part.range.end;
            pieces.push((part.range, true));
        }
    }
    pieces.push((end..sentence.len(), false));
    pieces
}

/// Returns the [`MAX_TERMS`] longest terms of `wanted`, or all if there are fewer, in their order.
pub fn longest(wanted: Vec<Term>) -> Vec<Term> {
    let mut numbered: Vec<(usize, Term)> = wanted.into_iter().enumerate().collect();
    numbered.sort_by_cached_key(|(_, term)| Reverse(term.source.chars().count()));
    numbered.truncate(MAX_TERMS);
    numbered.sort_by_key(|(number, _)| *number);
    numbered.into_iter().map(|(_, term)| term).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn glossary(pairs: &[(&str, &str)]) -> Glossary {
        Glossary::from_pairs(pairs.iter().copied()).unwrap()
    }

    fn found(pairs: &[(&str, &str)], sentence: &str) -> String {
        let terms = wanted(&[&glossary(pairs)], sentence);
        terms
            .into_iter()
            .map(|term| term.targets.join("|"))
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn terms_are_whole_words() {
        let pairs = [("Haus", "house"), ("E-Mail", "email"), ("C++", "C++")];
        assert_eq!(found(&pairs, "Das Haus."), "house");
        assert_eq!(found(&pairs, "Das »Haus« und die Haus-Tür"), "house house");
        assert_eq!(found(&pairs, "Hausbau, Rathaus, Haus2"), "");
        assert_eq!(found(&pairs, "Eine E-Mail in C++!"), "email C++");
        assert_eq!(found(&pairs, "Eine E - Mail"), "");
    }

    #[test]
    fn a_term_with_a_visible_character_is_found_in_its_own_text_and_others_are_refused() {
        // A control, invisible marks, the blank of Braille, and what is visible.
        let characters = "\0\u{200B}\u{180B}\u{FE0F}\u{301}\u{2800} *aä".chars();
        let mut texts = vec![String::new()];
        for _ in 0..3 {
            let longer: Vec<String> = texts
                .iter()
                .flat_map(|text| characters.clone().map(move |c| format!("{text}{c}")))
                .collect();
            texts.extend(longer);
        }
        for text in texts {
            match Entry::new("1".into(), &text, "x") {
                Ok(_) => assert_eq!(found(&[(&text, "x")], &text), "x", "{text:?}"),
                Err(_) => assert!(burnformer_text::is_blank(&text), "{text:?}"),
            }
            assert_eq!(
                Entry::new("1".into(), "x", &text).is_err(),
                burnformer_text::is_blank(&text),
                "{text:?}"
            );
        }
    }

    #[test]
    fn a_term_is_found_wherever_it_stands_but_not_inside_of_a_part() {
        let pairs = [
            ("Hund", "dog"),
            ("rotes Haus", "Red House"),
            ("b", "B"),
            ("{Stadt}", "{city}"),
        ];
        assert_eq!(found(&pairs, "Der Hund und der Hund."), "dog dog");
        assert_eq!(found(&pairs, "Hallo {Hund}, ein Hund!"), "dog");
        assert_eq!(
            found(&pairs, "Siehe https://Hund.de/Hund und %(Hund)s."),
            ""
        );
        assert_eq!(found(&pairs, "<b>Hund</b> a@Hund.de"), "dog");
        assert_eq!(found(&pairs, "ein rotes {x} Haus, rotes Haus"), "Red House");
        assert_eq!(found(&pairs, "Hallo {Stadt}"), "{city}");
    }

    #[test]
    fn characters_of_scripts_without_spaces_are_words() {
        assert_eq!(found(&[("猫", "cat")], "私の猫は黒い"), "cat");
    }

    #[test]
    fn the_longest_term_is_taken_and_terms_do_not_overlap() {
        let pairs = [
            ("rot", "red"),
            ("rotes Haus", "Red House"),
            ("Haus am See", "lake house"),
        ];
        assert_eq!(found(&pairs, "Ein rotes   Haus am See"), "Red House");
        assert_eq!(found(&pairs, "Das Haus am See ist rot"), "lake house red");
    }

    #[test]
    fn a_term_in_lower_case_is_found_in_any_case_and_others_as_they_are_written() {
        let pairs = [("haus", "home"), ("Haus", "house"), ("IT", "IT")];
        assert_eq!(found(&pairs, "HAUS"), "home");
        assert_eq!(
            found(&pairs, "Haus"),
            "house",
            "the one that is written so is preferred"
        );
        assert_eq!(found(&pairs, "it"), "");
        assert_eq!(found(&[("größe", "size")], "GRÖSSE GRO\u{308}ßE"), "size");
    }

    #[test]
    fn a_term_is_found_before_particles_and_with_a_star_before_any_ending() {
        let pairs = [
            ("사과", "apple"),
            ("TV", "TV"),
            ("한국", "Korea"),
            ("빨간 집", "red house"),
        ];
        assert_eq!(found(&pairs, "나는 사과를 먹고 TV를 본다."), "apple TV");
        assert_eq!(
            found(&pairs, "한국에서는 사과들도 빨간 집에서 판다."),
            "Korea apple red house"
        );
        assert_eq!(found(&pairs, "사과나무와 한국어"), "");
        let pairs = [
            ("talo*", "house"),
            ("ev*", "home"),
            ("Ház*", "house!"),
            ("talot", "houses"),
        ];
        assert_eq!(
            found(&pairs, "Talossa on talot. Evde! Házban"),
            "house houses home house!"
        );
        assert_eq!(found(&pairs, "házban, kev, (talo)"), "house");
        assert_eq!(
            found(
                &[("사과*", "apple"), ("사과", "apples")],
                "사과나무, 사과는"
            ),
            "apple apples"
        );
        assert_eq!(
            found(&[("C*", "c"), ("*", "star"), ("猫*", "cat")], "C* 猫*"),
            "c star cat"
        );
    }

    #[test]
    fn invisible_characters_hide_no_term() {
        let pairs = [
            ("Donaudampf\u{AD}schiff", "steamer"),
            ("das Haus", "the house"),
        ];
        for mark in [
            '\u{AD}', '\u{200B}', '\u{200D}', '\u{2060}', '\u{FEFF}', '\u{200E}',
        ] {
            let dirty: String = "Das Donaudampfschiff, das Haus"
                .chars()
                .flat_map(|c| [mark, c])
                .collect();
            assert_eq!(found(&pairs, &dirty), "steamer the house");
        }
        assert_eq!(
            found(&[("کتاب\u{200C}ها", "books")], "کتاب\u{200C}ها خوب"),
            "books"
        );
    }

    #[test]
    fn a_term_is_given_as_it_stands_in_the_sentence() {
        for (term, sentence, source) in [
            ("e-mail an", "Eine E-Mail   an alle", "E-Mail an"),
            ("größe", "Die GRO\u{308}ßE.", "GRÖßE"),
        ] {
            let glossary = glossary(&[(term, "translation")]);
            assert_eq!(wanted(&[&glossary], sentence)[0].source, source);
        }
    }

    /// Finds the best entry at each word by trying every entry.
    fn by_trying(glossary: &Glossary, sentence: &str) -> Vec<Vec<String>> {
        let words = words(sentence);
        let mut at = 0;
        let mut found = Vec::new();
        while at < words.len() {
            let fitting = glossary
                .entries()
                .filter(|entry| begins(entry, &words[at..]));
            let best = fitting.max_by_key(|entry| entry.rank());
            at += best.map_or(1, |entry| entry.words.len());
            found.extend(best.map(|entry| entry.targets.clone()));
        }
        found
    }

    /// Returns whether `words` begin with the term of `entry`.
    fn begins(entry: &Entry, words: &[Word]) -> bool {
        let text: fn(&Word) -> &str = if entry.any_case {
            |word| &word.folded
        } else {
            |word| &word.text
        };
        let mut pairs = entry.words.iter().zip(words).enumerate();
        entry.words.len() <= words.len()
            && pairs.all(|(index, (term_word, word))| {
                let same = if index + 1 == entry.words.len() {
                    entry.ends_with(word, text)
                } else {
                    text(term_word) == text(word)
                };
                same && (index == 0 || term_word.spaced == word.spaced)
            })
    }

    #[test]
    fn the_automaton_finds_what_trying_every_term_finds() {
        // Random numbers from the higher bits of a linear congruential generator.
        let mut state = 1u32;
        let mut next = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % below
        };
        let mut matches = 0;
        for _ in 0..2000 {
            let mut text = |words: u32| -> String {
                let length = 1 + next(words);
                let words = [
                    "a", "A", "b", " ", " ", "-", "ab", "ß", "사과", "를", "도", "*",
                ];
                (0..length).map(|_| words[next(12) as usize]).collect()
            };
            let pairs: Vec<(String, String)> = (0..8)
                .map(|number| (text(6), format!("t{number}")))
                .collect();
            let mut glossary = Glossary::default();
            for (source, target) in &pairs {
                let location = "1".into();
                let entry = Entry::new(location, source, target);
                entry.and_then(|entry| glossary.add(entry)).ok();
            }
            let sentence = text(30);
            let found: Vec<_> = wanted(&[&glossary], &sentence)
                .into_iter()
                .map(|term| term.targets)
                .collect();
            assert_eq!(
                found,
                by_trying(&glossary, &sentence),
                "{pairs:?} {sentence:?}"
            );
            matches += found.len();
        }
        assert!(matches > 1000, "{matches}");
    }

    include!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/growth/shortest_time.rs"
    ));

    /// Comparing every word with every term would take a hundred times as long with a hundred times
    /// as many terms.
    #[test]
    fn terms_that_all_begin_alike_are_found_in_one_pass() {
        let start = "a ".repeat(96);
        let sentence = "a ".repeat(200_000);
        let [few, many] = [5, 500].map(|count| {
            let pairs = (0..count).map(|number| (format!("{start}{number}"), "b"));
            let glossary = Glossary::from_pairs(pairs).unwrap();
            assert_eq!(wanted(&[&glossary], &format!("{sentence}3")).len(), 1);
            shortest_time(|| assert!(wanted(&[&glossary], &sentence).is_empty()))
        });
        assert!(many < 20 * few, "{few:?} {many:?}");
    }

    #[test]
    fn a_term_that_occurs_twice_is_wanted_twice() {
        let pairs = [
            ("Haus", "house|houses"),
            ("Bau", "house|houses"),
            ("Hund", "dog"),
        ];
        assert_eq!(
            found(&pairs, "Haus, Haus, Bau und Hund"),
            "house|houses house|houses house|houses dog"
        );
    }

    #[test]
    fn the_first_of_several_glossaries_wins_unless_another_has_a_longer_term() {
        let first = glossary(&[("Haus", "home")]);
        let base = glossary(&[("Haus", "house"), ("Haus am See", "lodge")]);
        for (glossaries, sentence, target) in [
            ([&first, &base], "Haus", "home"),
            ([&base, &first], "Haus", "house"),
            ([&first, &base], "Haus am See", "lodge"),
        ] {
            let found = wanted(&glossaries, sentence).into_iter();
            let targets: Vec<_> = found.map(|term| term.targets).collect();
            assert_eq!(targets, [[target]]);
        }
        assert!(wanted(&[], "Haus").is_empty());
    }

    #[test]
    fn of_too_many_terms_the_longest_are_wanted_in_their_order() {
        let term = |number: usize| "x".repeat(1 + number * 7 % 100);
        let pairs: Vec<_> = (0..100)
            .map(|number| (term(number), number.to_string()))
            .collect();
        let sentence: Vec<_> = (0..100).map(term).collect();
        let glossary = Glossary::from_pairs(pairs).unwrap();
        let found = longest(wanted(&[&glossary], &sentence.join(" ")));
        let found: Vec<_> = found.into_iter().flat_map(|term| term.targets).collect();
        let expected = (0..100).filter(|&number| term(number).len() > 100 - MAX_TERMS);
        assert_eq!(
            found,
            expected
                .map(|number| number.to_string())
                .collect::<Vec<_>>()
        );
    }

    #[test]
    fn pairs_are_named_by_their_number() {
        let error = Glossary::from_pairs([("a", "b"), ("", "c")]).unwrap_err();
        assert!(
            error.to_string().starts_with("pair 2 of the glossary: "),
            "{error}"
        );
        let error = Glossary::from_pairs([("a", "b"), ("a", "c")]).unwrap_err();
        assert!(
            error.to_string().contains("was given before (pair 1"),
            "{error}"
        );
    }
}
