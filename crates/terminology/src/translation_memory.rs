//! Translation memories: segments with human translations, found by exact or fuzzy match.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use unicode_normalization::UnicodeNormalization;

use burnformer_text::{is_in_word, is_letter};

/// Maximum number of index entries that a search visits, starting with the rarest words.
const MAX_VISITED: usize = 10_000;
/// Maximum number of pairs that a search compares word by word.
const MAX_COMPARED: usize = 32;
/// Number of words compared in a longer segment.
const MAX_WORDS: usize = 200;
/// The minimum score of a match.
const MIN_SCORE: f64 = 0.6;
/// The maximum score of a match that is not exact.
const MAX_FUZZY_SCORE: f64 = 0.99;

/// A translation memory: looks up exact translations, and finds similar segments.
///
/// ```
/// use burnformer_terminology::TranslationMemory;
///
/// let memory = TranslationMemory::from_iter([("The house is red.", "Das Haus ist rot.")]);
/// assert_eq!(memory.translation("The house  is red."), Some("Das Haus ist rot."));
/// let near = memory.nearest("The house is blue.").unwrap();
/// assert_eq!((near.source, near.score), ("The house is red.", 0.8));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TranslationMemory {
    /// The source and translation of each pair, one after the other.
    text: String,
    /// The ends of source and translation in `text`.
    ends: Vec<[usize; 2]>,
    /// The index of the last pair of each source, by the source's hash.
    exact: HashMap<u64, u32>,
    /// The index of the last pair of each source in each context, by the hash of both.
    contexts: HashMap<u64, u32>,
    /// The indices of the pairs that contain each word, by the word's hash.
    words: HashMap<u64, Vec<u32>>,
}

/// A pair of a translation memory with a source similar to a given segment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FuzzyMatch<'a> {
    /// The source of the pair.
    pub source: &'a str,
    /// The translation of the pair.
    pub translation: &'a str,
    /// The share of equal words and signs, from 0 to 1; 1 if the segments are equal.
    pub score: f64,
}

impl TranslationMemory {
    /// Returns the number of pairs, including those that a later pair replaced.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there are no pairs.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Adds a pair. It replaces an earlier pair with the same source. A pair without text is
    /// ignored.
    pub fn push(&mut self, source: &str, translation: &str) {
        self.push_in("", source, translation);
    }

    /// Adds a pair in a context, such as `msgctxt` of a PO file; empty for none. It replaces an
    /// earlier pair with the same source in this context, and the pair for any other context.
    pub fn push_in(&mut self, context: &str, source: &str, translation: &str) {
        let sides = [source, translation];
        if sides.iter().any(|side| side.trim().is_empty()) {
            return;
        }
        let normal = normal(source);
        let key = hash(&normal);
        let in_context = hash_of_two(context, &normal);
        let pair = self.exact.get(&key).copied();
        if let Some(pair) = pair.filter(|&pair| self.pair(pair) == sides) {
            self.contexts.insert(in_context, pair);
            return;
        }
        let index = self.ends.len() as u32;
        self.contexts.insert(in_context, index);
        self.text += source;
        let middle = self.text.len();
        self.text += translation;
        self.ends.push([middle, self.text.len()]);
        self.exact.insert(key, index);
        for word in words(source)
            .iter()
            .filter(|word| word.starts_with(is_letter))
        {
            let pairs = self.words.entry(hash(word)).or_default();
            if pairs.last() != Some(&index) {
                pairs.push(index);
            }
        }
    }

    /// Returns the translation of `source`, if the memory contains it. Differences in white space
    /// and Unicode normalisation are ignored.
    pub fn translation(&self, source: &str) -> Option<&str> {
        self.equal(source).map(|[_, translation]| translation)
    }

    /// Returns the translation of `source` as a message in `context`, and whether it is from a
    /// message in the same context. Otherwise it is from a message without a context or in another
    /// one: the same word can have another meaning there.
    pub fn in_context(&self, source: &str, context: &str) -> Option<(&str, bool)> {
        let normal_source = normal(source);
        let same = self.contexts.get(&hash_of_two(context, &normal_source));
        let free = self.contexts.get(&hash_of_two("", &normal_source));
        let any = self.exact.get(&hash(&normal_source));
        let &index = same.or(free).or(any)?;
        let [found, translation] = self.pair(index);
        (normal(found) == normal_source).then_some((translation, same.is_some()))
    }

    /// Returns the pair with this source, ignoring white space and Unicode normalisation.
    fn equal(&self, source: &str) -> Option<[&str; 2]> {
        let source = normal(source);
        let pair = self.pair(*self.exact.get(&hash(&source))?);
        (normal(pair[0]) == source).then_some(pair)
    }

    /// Returns the pair with the most similar source; `None` if no pair is similar. The time does
    /// not grow with the memory.
    pub fn nearest(&self, source: &str) -> Option<FuzzyMatch<'_>> {
        if let Some([source, translation]) = self.equal(source) {
            return Some(FuzzyMatch {
                source,
                translation,
                score: 1.0,
            });
        }
        let sought = words(source);
        let distinct: BTreeSet<u64> = sought.iter().map(|word| hash(word)).collect();
        let mut lists: Vec<&Vec<u32>> = distinct
            .iter()
            .filter_map(|word| self.words.get(word))
            .collect();
        lists.sort_by_key(|pairs| pairs.len());
        let mut shared: HashMap<u32, usize> = HashMap::new();
        for &index in lists.into_iter().flatten().take(MAX_VISITED) {
            *shared.entry(index).or_default() += 1;
        }
        let mut candidates: Vec<(u32, usize)> = shared.into_iter().collect();
        candidates.sort_unstable_by_key(|&(index, count)| (Reverse(count), index));
        candidates.truncate(8 * MAX_COMPARED);
        candidates.sort_by_cached_key(|&(index, count)| {
            (
                Reverse(count),
                self.pair(index)[0].len().abs_diff(source.len()),
            )
        });
        let matches = candidates.into_iter().take(MAX_COMPARED).map(|(index, _)| {
            let [source, translation] = self.pair(index);
            FuzzyMatch {
                source,
                translation,
                score: likeness(&sought, &words(source)).min(MAX_FUZZY_SCORE),
            }
        });
        let best = matches.max_by(|a, b| a.score.total_cmp(&b.score));
        best.filter(|best| best.score >= MIN_SCORE)
    }

    /// Returns the source and translation of the pair `index`.
    fn pair(&self, index: u32) -> [&str; 2] {
        let index = index as usize;
        let start = index
            .checked_sub(1)
            .map_or(0, |before| self.ends[before][1]);
        let [middle, end] = self.ends[index];
        [&self.text[start..middle], &self.text[middle..end]]
    }
}

impl<S: AsRef<str>, T: AsRef<str>> FromIterator<(S, T)> for TranslationMemory {
    fn from_iter<I: IntoIterator<Item = (S, T)>>(pairs: I) -> Self {
        let mut memory = Self::default();
        pairs
            .into_iter()
            .for_each(|(from, to)| memory.push(from.as_ref(), to.as_ref()));
        memory
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

fn hash_of_two(context: &str, source: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (context, source).hash(&mut hasher);
    hasher.finish()
}

/// Normalises `text` to form C with single spaces.
fn normal(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    if text.is_ascii() {
        text
    } else {
        text.nfc().collect()
    }
}

/// Returns the words of `text` in lower case, and its other signs. In scripts without spaces, each
/// character is a word.
fn words(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut continues = false;
    for c in normal(text).chars() {
        if continues && is_in_word(c) {
            all.last_mut()
                .expect("a word was begun")
                .extend(c.to_lowercase());
            continue;
        }
        continues = is_in_word(c);
        if all.len() == MAX_WORDS {
            break;
        }
        if c != ' ' {
            all.push(c.to_lowercase().collect());
        }
    }
    all
}

/// Returns 1 minus the edit distance between two lists of words, divided by the longer length.
#[allow(clippy::ptr_arg, reason = "strsim takes no slices")]
fn likeness(one: &Vec<String>, other: &Vec<String>) -> f64 {
    let edits = strsim::generic_levenshtein(one, other);
    1.0 - edits as f64 / one.len().max(other.len()).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memory_answers_what_it_has_and_finds_what_is_like_it() {
        let more = (0..3000).map(|i| (format!("The other {i}"), format!("Das andere {i}")));
        let mut memory = TranslationMemory::from_iter(more);
        for (source, target) in [
            ("The house is red", "Alt"),
            ("The  house is red", "Das Haus ist rot"),
            ("A dog", "Ein Hund"),
            ("Empty", " "),
            ("Cafe\u{301}", "Kaffeehaus"),
            ("私は猫が好きです", "Ich mag Katzen"),
        ] {
            memory.push(source, target);
        }
        for (source, target) in [
            ("The house is  red", Some("Das Haus ist rot")),
            ("the house is red", None),
            ("Empty", None),
            ("Café", Some("Kaffeehaus")),
            ("The other 2999", Some("Das andere 2999")),
        ] {
            assert_eq!(memory.translation(source), target, "{source}");
        }
        for (source, score) in [
            ("The house is red", 1.0),
            ("the house is red", 0.99),
            ("The house is not red", 0.8),
            ("The house is blue", 0.75),
            ("The house is red.", 0.8),
            ("私は犬が好きです", 7.0 / 8.0),
        ] {
            let found = memory.nearest(source).unwrap();
            assert!(found.source.ends_with(['d', 'す']), "{source}");
            assert!(
                (found.score - score).abs() < 1e-9,
                "{source}: {}",
                found.score
            );
        }
        assert!(memory.nearest("No cat").is_none() && memory.nearest("").is_none());
    }

    #[test]
    fn a_message_gets_the_translation_of_its_own_context() {
        let mut memory = TranslationMemory::default();
        memory.push_in("menu", "Open", "Öffnen");
        memory.push_in("state", "Open", "Offen");
        memory.push("Close", "Schließen");
        memory.push_in("other", "Close", "Schließen");
        for (source, context, expected) in [
            ("Open", "menu", Some(("Öffnen", true))),
            ("Open", "state", Some(("Offen", true))),
            ("Open", "door", Some(("Offen", false))),
            ("Open", "", Some(("Offen", false))),
            ("Close", "", Some(("Schließen", true))),
            ("Close", "other", Some(("Schließen", true))),
            ("Close", "menu", Some(("Schließen", false))),
            ("Shut", "", None),
        ] {
            assert_eq!(
                memory.in_context(source, context),
                expected,
                "{source} {context}"
            );
        }
        assert_eq!(memory.translation("Open"), Some("Offen"));
    }

    #[test]
    fn the_likeness_is_that_of_word_edits() {
        for (one, other, expected) in [
            ("a b c d", "a x c", 0.5),
            ("", "", 1.0),
            ("a", "", 0.0),
            ("a b", "a b", 1.0),
        ] {
            assert_eq!(likeness(&words(one), &words(other)), expected);
        }
    }
}
