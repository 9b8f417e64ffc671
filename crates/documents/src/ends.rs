//! The ends of sentences: those of `sentencex`, without those behind abbreviations, and with those before code, an address, a number or
//! a small letter, which it never sees.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use sentencex::language_factory;
use sentencex::languages::Language;

use crate::words::{self, floor, is_unspaced};

/// The most bytes of a word that is looked up.
const LONGEST_WORD: usize = 48;

/// A mark that can end a sentence, with the quotes and brackets behind it.
static END: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"([.!?…؟。！？।॥۔]+)(["'”“’»«›‹)\]」』]*)\s+"#).expect("a valid pattern")
});

/// By language, the abbreviations within a sentence; with `^`, words that are capitalised only at its beginning.
static WORDS: LazyLock<HashMap<&str, HashSet<&str>>> = LazyLock::new(|| {
    let lines = include_str!("abbreviations.txt").lines().filter_map(|line| line.split_once(": "));
    lines.map(|(language, words)| (language, words.split(' ').collect())).collect()
});

/// Languages that write an ordinal number with a full stop.
const ORDINAL_LANGUAGES: [&str; 13] =
    ["de", "da", "nb", "nn", "no", "fi", "cs", "sk", "sl", "hr", "sr", "hu", "et"];

/// Languages with words whose vowel is an r or an l.
const SYLLABIC_LANGUAGES: [&str; 6] = ["cs", "sk", "sl", "hr", "sr", "bs"];

/// Words behind a quotation in Japanese, without which its sentence is not complete.
const QUOTATIVES: [&str; 5] = ["と", "って", "という", "なんて", "など"];

/// The rules of a language.
pub(crate) struct Ends {
    language: Box<dyn Language>,
    code: String,
}

/// The part of the text that was read since the last end.
#[derive(Default)]
struct Sentence {
    start: usize,
    read: usize,
    brackets: usize,
    is_quoted: bool,
}

/// A mark that can end a sentence, with the word before it.
struct Mark<'a> {
    text: &'a str,
    /// The mark in the text.
    range: Range<usize>,
    word: &'a str,
    /// Whether the word is the first of its sentence.
    is_first: bool,
    /// Behind the mark and white space.
    next: &'a str,
}

impl Ends {
    /// The rules of `language` (`de`, `pt-BR`; English if it is not known).
    pub(crate) fn new(language: Option<&str>) -> Self {
        let language = language.unwrap_or("en");
        let code = language.split(['-', '_']).next().unwrap_or("en").to_lowercase();
        Self { language: language_factory(&code), code }
    }

    /// Places at which a sentence of `text` ends, sorted. The splitter gets `parts` of it, and none is within one of `atoms`.
    pub(crate) fn find(
        &self,
        text: &str,
        parts: &[Range<usize>],
        atoms: &[Range<usize>],
    ) -> Vec<usize> {
        let known = self.known(text, parts);
        let marks: BTreeMap<usize, (Range<usize>, bool)> = END
            .captures_iter(text)
            .filter_map(|found| {
                let (mark, closing) = (found.get(1)?, found.get(2)?);
                Some((found.get(0)?.end(), (mark.range(), closing.is_empty())))
            })
            .collect();
        let mut all: Vec<usize> = known.iter().chain(marks.keys()).copied().collect();
        all.sort_unstable();
        all.dedup();
        let start = text.len() - text.trim_start().len();
        let mut sentence = Sentence { start, ..Sentence::default() };
        let mut ends = Vec::new();
        for at in all {
            sentence.read(text, at);
            if !can_end(text, at, atoms) {
                continue;
            }
            let is_known = known.binary_search(&at).is_ok();
            let ends_here = match marks.get(&at) {
                Some((range, true)) => {
                    let mark = Mark::new(text, sentence.start, range.clone(), at);
                    match is_known {
                        true => !self.is_within(&mark),
                        false => !sentence.is_open() && self.is_unseen(&mark, at, atoms),
                    }
                }
                // Behind a bracket or a quotation, a dash or a small letter goes on.
                Some(_) => {
                    let whole = text[sentence.start..].starts_with(opens) && !sentence.is_open();
                    let next = text[at..].trim_start_matches(['-', '–', '—', ' ']);
                    (is_known || whole) && !next.starts_with(char::is_lowercase)
                }
                None => is_known,
            };
            if ends_here {
                sentence = Sentence { start: at, read: at, ..Sentence::default() };
                ends.push(at);
            }
        }
        ends
    }

    /// The ends that the splitter finds.
    fn known(&self, text: &str, parts: &[Range<usize>]) -> Vec<usize> {
        let ends = |part: &Range<usize>| {
            let mut at = part.start;
            let pieces = self.language.segment(&text[part.clone()]);
            pieces
                .into_iter()
                .map(move |piece| {
                    at += piece.len();
                    at
                })
                .collect::<Vec<_>>()
        };
        parts.iter().flat_map(ends).collect()
    }

    /// Whether the sentence goes on behind `mark`, although a capital follows: an initial, an abbreviation, an ordinal number.
    fn is_within(&self, mark: &Mark<'_>) -> bool {
        let ordinal = ORDINAL_LANGUAGES.contains(&self.code.as_str()) && mark.is_number(2);
        let small = mark.next.starts_with(char::is_lowercase);
        mark.is_stop()
            && (is_initial(mark.word)
                || ordinal
                || self.is_listed(mark)
                || self.is_vowelless(mark)
                || small && self.is_abbreviation(mark))
            && !self.begins(mark)
    }

    /// Whether the sentence ends at `mark`, behind which `sentencex` sees no beginning: code, a small letter, a number.
    fn is_unseen(&self, mark: &Mark<'_>, at: usize, atoms: &[Range<usize>]) -> bool {
        let Some(next) = mark.next.chars().next() else {
            return false;
        };
        let is_atom = |at: usize| {
            atoms
                .get(atoms.partition_point(|atom| atom.end <= at))
                .is_some_and(|atom| atom.start <= at)
        };
        let begins = match words::mark(next) {
            words::Mark::Terminal | words::Mark::Separator | words::Mark::Close => {
                mark.next[next.len_utf8()..].starts_with(char::is_alphanumeric)
            }
            _ => next.is_lowercase() || !next.is_alphabetic() || is_atom(at),
        };
        if !mark.is_stop() {
            let rests = mark.text[mark.range.clone()].contains(['.', '…']);
            return begins && !rests && !self.language.is_exclamation(mark.word, "");
        }
        if next.is_uppercase() && !is_atom(at) {
            return self.begins(mark);
        }
        let number = mark.is_number(usize::MAX) && next.is_numeric()
            || mark.is_number(2) && ORDINAL_LANGUAGES.contains(&self.code.as_str());
        begins
            && !number
            && !mark.word.is_empty()
            && (is_atom(mark.range.start - 1) || !self.is_abbreviation(mark))
    }

    /// Whether a word follows that is capitalised only where a sentence begins. Behind a title, it is a name.
    fn begins(&self, mark: &Mark<'_>) -> bool {
        let next = mark.next.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        !mark.is_first
            && !is_word("title", mark.word)
            && (is_word(&format!("{}^", self.code), next)
                || self.language.get_sentence_starters().contains(next))
    }

    fn is_abbreviation(&self, mark: &Mark<'_>) -> bool {
        let word = mark.word;
        let mut parts = word.split('.');
        word.chars().nth(1).is_none()
            || word.contains('.')
                && parts.next().is_some_and(|part| part.len() <= 2)
                && parts.all(|part| part.len() <= 3)
            || self.language.get_abbreviations().contains(&word.to_lowercase())
            || self.is_listed(mark)
            || self.is_vowelless(mark)
    }

    fn is_listed(&self, mark: &Mark<'_>) -> bool {
        let known =
            |word: &str| is_word(&self.code, word) || is_word("*", word) || is_word("title", word);
        let last = mark.word.rsplit(['-', '/']).next().unwrap_or_default();
        known(mark.word) || known(last) || mark.is_first && known(&mark.word.to_lowercase())
    }

    /// Whether the word has no vowel and is neither an acronym nor a unit behind a number.
    fn is_vowelless(&self, mark: &Mark<'_>) -> bool {
        const CONSONANTS: &str = "bcdfghjklmnpqrstvwxzбвгджзйклмнпрстфхцчшщ";
        let small: Vec<char> = mark.word.chars().flat_map(char::to_lowercase).collect();
        let capitals = mark.word.chars().filter(|c| c.is_uppercase()).count();
        let syllabic = SYLLABIC_LANGUAGES.contains(&self.code.as_str())
            && (small.contains(&'r') || small.contains(&'l'));
        let before = mark.text[..mark.range.start - mark.word.len()].trim_end();
        (2..=5).contains(&small.len())
            && capitals < 2
            && !syllabic
            && !before.ends_with(|c: char| c.is_numeric())
            && small.iter().all(|&c| CONSONANTS.contains(c))
    }
}

impl<'a> Mark<'a> {
    /// The mark `range` of a sentence that begins at `start`; the next begins at `next`.
    fn new(text: &'a str, start: usize, range: Range<usize>, next: usize) -> Self {
        let start = start.min(range.start);
        let low = floor(text, range.start.saturating_sub(LONGEST_WORD)).max(start);
        let tail = &text[low..range.start];
        let word = tail.rsplit(char::is_whitespace).next().unwrap_or_default();
        let word = word.trim_start_matches(|c: char| !c.is_alphanumeric());
        let is_first = text[start..range.start - word.len()].trim().is_empty();
        Self { text, range, word, is_first, next: &text[next..] }
    }

    /// Whether it is a full stop.
    fn is_stop(&self) -> bool {
        &self.text[self.range.clone()] == "."
    }

    /// Whether the word is a number of at most `digits` digits.
    fn is_number(&self, digits: usize) -> bool {
        !self.word.is_empty()
            && self.word.len() <= digits
            && self.word.chars().all(|c| c.is_ascii_digit())
    }
}

impl Sentence {
    /// Reads up to `end`.
    fn read(&mut self, text: &str, end: usize) {
        for c in text[self.read..end].chars() {
            match c {
                '¿' | '¡' | '\'' | '‘' | '’' | '‚' => {}
                _ => match words::mark(c) {
                    words::Mark::Open => self.brackets += 1,
                    words::Mark::Close => self.brackets = self.brackets.saturating_sub(1),
                    words::Mark::Quote => self.is_quoted = !self.is_quoted,
                    _ => {}
                },
            }
        }
        self.read = end;
    }

    fn is_open(&self) -> bool {
        self.brackets > 0 || self.is_quoted
    }
}

fn opens(c: char) -> bool {
    words::mark(c) == words::Mark::Open
}

fn is_word(list: &str, word: &str) -> bool {
    WORDS.get(list).is_some_and(|words| words.contains(word))
}

/// Whether `word` is one capital letter.
fn is_initial(word: &str) -> bool {
    let mut chars = word.chars();
    chars.next().is_some_and(char::is_uppercase) && chars.next().is_none()
}

/// Whether a sentence can end at `at`: behind white space, in a script that has none, or between a closing quote and the beginning of
/// another sentence. A particle behind a quotation (Korean, Japanese) belongs to its sentence.
fn can_end(text: &str, at: usize, atoms: &[Range<usize>]) -> bool {
    let next = atoms.partition_point(|atom| atom.end <= at);
    let (before, after) = text.split_at(at);
    let (Some(last), Some(first)) = (before.chars().next_back(), after.chars().next()) else {
        return false;
    };
    let quoted = words::mark(last) == words::Mark::Quote;
    let free = last.is_whitespace()
        || is_unspaced(last) && !quoted
        || quoted
            && (is_unspaced(first)
                || first.is_uppercase()
                || matches!(words::mark(first), words::Mark::Quote | words::Mark::Open))
            && !QUOTATIVES.iter().any(|word| after.starts_with(word));
    free && atoms.get(next).is_none_or(|atom| atom.start >= at)
}
