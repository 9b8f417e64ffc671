//! Sentence ends. `sentencex` finds most of them. This module removes ends after abbreviations, and
//! adds ends before code, addresses, numbers and lowercase letters, where `sentencex` never finds
//! one.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::LazyLock;

use regex::Regex;
use sentencex::language_factory;
use sentencex::languages::Language;

use crate::words::{self, Span, is_unspaced, is_within, regex};

/// Number of bytes examined before a mark.
const MAX_BYTES_BEFORE: usize = 512;

/// A mark that can end a sentence, with the closing quotes and brackets after it.
static END: LazyLock<Regex> = LazyLock::new(|| {
    const CLOSING: &str = r#"["'”“’»«›‹)\]」』）]*"#;
    let pattern = format!(r"([.!?…؟।॥۔]+)({CLOSING})\s+|([。！？｡]+)({CLOSING})\s*");
    regex(&pattern)
});

/// By language, abbreviations that occur within a sentence. Words marked `^` are capitalised only
/// at its beginning. Some lists belong to several languages.
static WORDS: LazyLock<HashMap<&str, HashSet<&str>>> = LazyLock::new(|| {
    let lines = include_str!("abbreviations.txt")
        .lines()
        .filter_map(|line| line.split_once(": "));
    lines
        .map(|(language, words)| (language, words.split(' ').collect()))
        .collect()
});

/// The rules of a language.
pub(crate) struct Ends {
    language: Box<dyn Language>,
    code: String,
}

/// A place where a sentence may end.
#[derive(Default)]
struct Candidate {
    /// If true, the splitter ends a sentence there.
    is_known: bool,
    mark: Option<FinalMark>,
}

/// The mark before a [`Candidate`].
enum FinalMark {
    Plain(Span),
    /// A bracket or quotation mark closes after it.
    Closed,
}

/// Returns whether the byte `at` belongs to one of `atoms`.
fn is_in_atom(atoms: &[Span], at: usize) -> bool {
    let next = atoms.partition_point(|atom| atom.end <= at);
    atoms.get(next).is_some_and(|atom| atom.start <= at)
}

/// A mark that can end a sentence.
struct PossibleEnd<'a> {
    /// The sentence up to the mark, at most its last [`MAX_BYTES_BEFORE`] bytes.
    before: &'a str,
    mark: &'a str,
    /// The word before the mark, and whether it is the first of its sentence.
    word: &'a str,
    is_first: bool,
    /// The text after the mark and white space.
    next: &'a str,
}

impl Ends {
    /// Returns the rules of `language`, such as `de` or `pt-BR`; English if `None` or unknown.
    pub(crate) fn new(language: Option<&str>) -> Self {
        let language = language.unwrap_or("en");
        let code = language
            .split(['-', '_'])
            .next()
            .unwrap_or("en")
            .to_lowercase();
        Self {
            language: language_factory(&code),
            code,
        }
    }

    /// Returns the sorted offsets where sentences of `text` end, none of them within `atoms`. The
    /// splitter gets `text` in `parts`.
    pub(crate) fn find(&self, text: &str, parts: &[Span], atoms: &[Span]) -> Vec<usize> {
        let mut start = text.len() - text.trim_start().len();
        let mut ends = Vec::new();
        for (at, candidate) in self.candidates(text, parts) {
            if can_end(text, at, atoms) && self.ends_at(text, start..at, &candidate, atoms) {
                start = at;
                ends.push(at);
            }
        }
        ends
    }

    /// Returns the places where a sentence of `text` may end, by offset.
    fn candidates(&self, text: &str, parts: &[Span]) -> BTreeMap<usize, Candidate> {
        let mut all: BTreeMap<usize, Candidate> = BTreeMap::new();
        for part in parts {
            for piece in self.language.segment(&text[part.clone()]) {
                let end = piece.as_ptr().addr() + piece.len() - text.as_ptr().addr();
                all.entry(end).or_default().is_known = true;
            }
        }
        for captures in END.captures_iter(text) {
            let group = |number| captures.get(number).or(captures.get(number + 2));
            if let (Some(end), Some(mark), Some(closing)) = (captures.get(0), group(1), group(2)) {
                all.entry(end.end()).or_default().mark = Some(if closing.is_empty() {
                    FinalMark::Plain(mark.range())
                } else {
                    FinalMark::Closed
                });
            }
        }
        all
    }

    /// Returns whether the text `sentence`, which ends at `candidate`, is a whole sentence.
    fn ends_at(&self, text: &str, sentence: Span, candidate: &Candidate, atoms: &[Span]) -> bool {
        let Span { start, end: at } = sentence;
        let is_known = candidate.is_known;
        match &candidate.mark {
            None => is_known,
            Some(FinalMark::Plain(range)) => {
                let mark = PossibleEnd::new(text, start, range.clone(), at);
                if is_known {
                    !self.is_within(&mark)
                } else {
                    let is_code = is_in_atom(atoms, range.start.saturating_sub(1));
                    self.is_unseen(&mark, is_code, is_in_atom(atoms, at))
                }
            }
            // A dash or a lowercase letter continues the sentence.
            Some(FinalMark::Closed) => {
                let whole = text[start..].starts_with(|c| words::mark(c) == words::Mark::Open);
                let next = text[at..].trim_start_matches(['-', '–', '—', ' ']);
                (is_known || whole && !PossibleEnd::new(text, start, at..at, at).is_open())
                    && !next.starts_with(char::is_lowercase)
            }
        }
    }

    /// Returns whether the sentence continues after `mark` despite a capital letter: after an
    /// initial, an abbreviation or an ordinal number.
    fn is_within(&self, mark: &PossibleEnd<'_>) -> bool {
        let small = mark.next.starts_with(char::is_lowercase);
        let initial = mark.word.starts_with(char::is_uppercase) && mark.is_letter();
        let word = initial || self.is_ordinal(mark) || self.is_listed(mark);
        mark.mark == "." && (word || small && self.is_abbreviation(mark)) && !self.begins(mark)
    }

    /// Returns whether the sentence ends at `mark` although `sentencex` sees no beginning after it:
    /// an atom, a lowercase letter or a number. `is_code` says whether the word is in an atom.
    fn is_unseen(&self, mark: &PossibleEnd<'_>, is_code: bool, is_atom: bool) -> bool {
        let Some(next) = mark.next.chars().next().filter(|_| !mark.is_open()) else {
            return false;
        };
        let begins = match words::mark(next) {
            words::Mark::Terminal | words::Mark::Separator | words::Mark::Close => {
                mark.next[next.len_utf8()..].starts_with(char::is_alphanumeric)
            }
            _ => is_atom || next.is_lowercase() || !next.is_alphabetic(),
        };
        match mark.mark {
            "." if next.is_uppercase() && !is_atom => self.begins(mark),
            "." => {
                let is_word = is_code || !self.is_abbreviation(mark);
                let is_bare = mark.before.is_empty() || mark.before.ends_with(char::is_whitespace);
                begins && is_word && !is_bare && !self.is_ordinal(mark)
            }
            marks if marks.contains(['.', '…']) => false,
            _ => begins && !self.language.is_exclamation(mark.word, ""),
        }
    }

    /// Returns whether the next word shows that a sentence begins: it is capitalised only there, and
    /// is no name after a title; or it is capitalised after an ordinary word.
    fn begins(&self, mark: &PossibleEnd<'_>) -> bool {
        let next = mark
            .next
            .split(|c: char| !c.is_alphanumeric())
            .next()
            .unwrap_or_default();
        let is_first_word = is_word(&format!("{}^", self.code), next)
            || self.is_ordinal(mark) && is_word(&format!("{}#", self.code), next)
            || self.language.get_sentence_starters().contains(next);
        let initials = mark.is_letter() && next.chars().nth(1).is_none();
        let is_after_ordinary = is_word(&format!("{}!", self.code), mark.word)
            && next.starts_with(char::is_uppercase)
            && next.contains(char::is_lowercase);
        is_after_ordinary
            || is_first_word && !initials && !mark.is_first && !is_word("title", mark.word)
    }

    fn is_ordinal(&self, mark: &PossibleEnd<'_>) -> bool {
        // Some languages write years and months this way, too.
        let most = if is_word("years", &self.code) { 4 } else { 2 };
        let is_ordinal = is_word("ordinals", &self.code);
        mark.is_number()
            && mark.word.len() <= most
            && (is_ordinal || mark.next.starts_with(char::is_numeric))
    }

    fn is_abbreviation(&self, mark: &PossibleEnd<'_>) -> bool {
        let mut parts = mark.word.split('.');
        let dotted = mark.word.contains('.')
            && mark.word.starts_with(char::is_alphabetic)
            && parts.next().is_some_and(|part| part.len() <= 2)
            && parts.all(|part| part.len() <= 3);
        dotted
            || mark.is_letter()
            || self
                .language
                .get_abbreviations()
                .contains(&mark.word.to_lowercase())
            || self.is_listed(mark)
    }

    /// Returns whether the word is a listed abbreviation, or has no vowel and is neither an acronym
    /// nor a unit after a number.
    fn is_listed(&self, mark: &PossibleEnd<'_>) -> bool {
        const CONSONANTS: &str = "bcdfghjklmnpqrstvwxzбвгджзйклмнпрстфхцчшщ";
        let small = mark.word.to_lowercase();
        let last = mark
            .word
            .rsplit(['-', '/', '\'', '’'])
            .next()
            .unwrap_or_default();
        let is_listed_word = |word: &str| {
            [&self.code, "*", "title"]
                .iter()
                .any(|list| is_word(list, word))
        };
        let syllabic = is_word("syllabic", &self.code) && small.contains(['r', 'l']);
        let before = mark.before[..mark.before.len() - mark.word.len()].trim_end();
        let vowelless = (2..=5).contains(&small.chars().count())
            && small.chars().all(|c| CONSONANTS.contains(c))
            && mark.word.chars().filter(|c| c.is_uppercase()).count() < 2
            && !syllabic
            && !before.ends_with(char::is_numeric);
        let any_case = mark.is_first || !mark.next.starts_with(char::is_uppercase);
        vowelless
            || is_listed_word(mark.word)
            || is_listed_word(last)
            || any_case && is_listed_word(&small)
    }
}

impl<'a> PossibleEnd<'a> {
    /// Creates the mark `range` in a sentence that begins at `start`. The next sentence would begin
    /// at `next`.
    fn new(text: &'a str, start: usize, range: Span, next: usize) -> Self {
        let start = start.min(range.start);
        let before = &text[text
            .floor_char_boundary(range.start.saturating_sub(MAX_BYTES_BEFORE))
            .max(start)..range.start];
        let word = before
            .rsplit(char::is_whitespace)
            .next()
            .unwrap_or_default();
        let word = word.trim_start_matches(|c: char| !c.is_alphanumeric());
        let is_first = before.len() < MAX_BYTES_BEFORE / 2
            && before[..before.len() - word.len()].trim().is_empty();
        Self {
            before,
            mark: &text[range],
            word,
            is_first,
            next: &text[next..],
        }
    }

    fn is_letter(&self) -> bool {
        self.word.starts_with(char::is_alphabetic) && self.word.chars().nth(1).is_none()
    }

    fn is_number(&self) -> bool {
        !self.word.is_empty() && self.word.chars().all(|c| c.is_ascii_digit())
    }

    /// Returns whether the mark is inside brackets or a quotation.
    fn is_open(&self) -> bool {
        let mut brackets = 0usize;
        let mut is_quoted = false;
        for c in self.before.chars().filter(|c| !"¿¡'‘’‚".contains(*c)) {
            match words::mark(c) {
                words::Mark::Open => brackets += 1,
                words::Mark::Close => brackets = brackets.saturating_sub(1),
                words::Mark::Quote => is_quoted = !is_quoted,
                _ => {}
            }
        }
        brackets > 0 || is_quoted
    }
}

fn is_word(list: &str, word: &str) -> bool {
    WORDS.get(list).is_some_and(|words| words.contains(word))
}

/// Returns whether a sentence can end at `at`: after white space, in a script without spaces, or
/// between a closing quote and the start of a sentence. A particle after a quotation (Korean,
/// Japanese) belongs to its sentence.
fn can_end(text: &str, at: usize, atoms: &[Span]) -> bool {
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
            && !WORDS["quotatives"]
                .iter()
                .any(|word| after.starts_with(word));
    free && !is_within(atoms, at)
}
