//! A translation memory, cleaned and divided into pairs to learn from and pairs to measure with.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::PathBuf;

use anyhow::{Result, ensure};
use sha2::{Digest, Sha256};

use crate::translation_memory::{Entry, Pair, Reading};

/// Sides of this many characters may have any ratio of lengths.
const SHORT: usize = 40;
/// A pair whose sides differ more in length is dropped.
const HIGHEST_RATIO: usize = 4;
/// The most pairs that are held out, the fewest of a memory that has three times as many, and the
/// fewest of a memory.
const MOST_HELD: usize = 200;
const FEWEST_HELD: usize = 60;
const FEWEST: usize = 20;
/// With this many files, whole files are held out.
const MANY_FILES: usize = 5;
/// The most words of a term.
const LONGEST_TERM: usize = 3;

/// The pairs of a memory.
#[derive(Default)]
pub(super) struct Memory {
    /// The pairs to learn from.
    pub(super) train: Vec<Pair>,
    /// The pairs to measure with. No source of them is one of `train`.
    pub(super) held: Vec<Pair>,
    /// Short sources that occur several times and are always translated alike.
    pub(super) terms: Vec<Pair>,
    /// The way in which the pairs were held out.
    pub(super) division: &'static str,
    /// The number of messages that were read, and of those that were dropped for each reason.
    counts: Vec<(&'static str, usize)>,
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (train, held, division) = (self.train.len(), self.held.len(), self.division);
        let counts = self.counted();
        write!(f, "{counts}; {train} to learn from, {held} held out ({division})")
    }
}

impl Memory {
    /// Reads and divides `files` as [`Reading::of`] does.
    ///
    /// # Errors
    /// If a file is broken, has other languages, or all together have too few pairs.
    pub(super) fn read(files: &[PathBuf], languages: [Option<&str>; 2]) -> Result<Self> {
        let mut reading = Reading::of(files, languages)?;
        let (kept, terms) = cleaned(&mut reading);
        let mut memory = Self { counts: reading.counts, terms, ..Self::default() };
        ensure!(
            kept.len() >= FEWEST,
            "the memory has {} usable pairs ({}), and {FEWEST} are the fewest that teach anything; name more files with --memory",
            kept.len(),
            memory.counted()
        );
        memory.divide(kept, reading.files);
        Ok(memory)
    }

    fn counted(&self) -> String {
        let counts = self.counts.iter().map(|(reason, count)| format!("{count} {reason}"));
        counts.collect::<Vec<_>>().join(", ")
    }

    /// Holds a fifth of `entries` out, of few a third: whole files if there are many, else those
    /// whose sources have the lowest hashes, which stay the same ones when the memory grows.
    fn divide(&mut self, entries: Vec<Entry>, files: usize) {
        let wanted = (entries.len() / 5).max(FEWEST_HELD.min(entries.len() / 3)).min(MOST_HELD);
        let ways: [(&str, bool, Rank); 2] = [
            ("whole files", files >= MANY_FILES, |entry| {
                Sha256::digest(entry.file.to_le_bytes()).to_vec()
            }),
            ("by the hash of the source", true, |entry| {
                Sha256::digest(normal(&entry.pair[0])).to_vec()
            }),
        ];
        let mut is_held = Vec::new();
        for (name, _, rank) in ways.into_iter().filter(|(_, is_possible, _)| *is_possible) {
            let ranks: Vec<Vec<u8>> = entries.iter().map(rank).collect();
            let mut sorted = ranks.clone();
            sorted.sort_unstable();
            is_held = ranks.iter().map(|rank| *rank <= sorted[wanted - 1]).collect();
            self.division = name;
            if is_held.iter().filter(|is_held| **is_held).count() <= 2 * wanted {
                break;
            }
        }
        let pairs = entries.into_iter().map(|entry| entry.pair).zip(is_held);
        let (held, train): (Vec<_>, Vec<_>) = pairs.partition(|(_, is_held)| *is_held);
        let sources: HashSet<String> = held.iter().map(|(pair, _)| normal(&pair[0])).collect();
        self.held = held.into_iter().map(|(pair, _)| pair).collect();
        let train = train.into_iter().map(|(pair, _)| pair);
        self.train = train.filter(|pair| !sources.contains(&normal(&pair[0]))).collect();
    }
}

/// The rank of an entry; those of the lowest are held out.
type Rank = fn(&Entry) -> Vec<u8>;

/// The entries that teach something, each once, and the terms among them.
fn cleaned(reading: &mut Reading<'_>) -> (Vec<Entry>, Vec<Pair>) {
    let entries = std::mem::take(&mut reading.entries);
    let (mut kept, mut known) = (Vec::new(), HashSet::new());
    let mut terms: HashMap<Pair, usize> = HashMap::new();
    let mut translations: HashMap<String, HashSet<String>> = HashMap::new();
    for entry in entries {
        let [source, target] = &entry.pair;
        let lengths = [source, target].map(|side| side.chars().count());
        let (short, long) = (lengths[0].min(lengths[1]), lengths[0].max(lengths[1]));
        if source.split_whitespace().count() <= LONGEST_TERM && short > 0 {
            *terms.entry(entry.pair.clone()).or_default() += 1;
            translations.entry(source.clone()).or_default().insert(target.clone());
        }
        let reason = match () {
            () if short == 0 => Some("without words"),
            () if source == target => Some("equal to their source"),
            () if long > SHORT && long > short * HIGHEST_RATIO => Some("of far lengths"),
            () if !known.insert((normal(source), normal(target))) => Some("duplicates"),
            () => None,
        };
        match reason {
            Some(reason) => reading.count(reason, 1),
            None => kept.push(entry),
        }
    }
    let is_term = |([source, target], count): &(Pair, usize)| {
        let is_plain = !has_signs(source);
        *count > 1 && source != target && translations[source].len() == 1 && is_plain
    };
    let mut terms: Vec<Pair> = terms.into_iter().filter(is_term).map(|(pair, _)| pair).collect();
    terms.sort();
    (kept, terms)
}

/// Returns whether `text` has signs that a glossary cannot hold or that are no words.
fn has_signs(text: &str) -> bool {
    text.contains(|c: char| !c.is_alphanumeric() && c != ' ' && c != '-')
}

/// `text` in one case and with single spaces, for comparisons.
fn normal(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The memory of files with these names and texts, from English into German.
    fn read(files: &[(&str, String)]) -> Result<Memory> {
        let folder = tempfile::tempdir().unwrap();
        let write = |(name, text): &(&str, String)| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let paths: Vec<PathBuf> = files.iter().map(write).collect();
        Memory::read(&paths, [Some("en"), Some("de")])
    }

    /// Lines of `count` pairs that begin with the number `first`.
    fn lines(first: usize, count: usize, separator: &str) -> String {
        let line = |i| format!("The number {i} is here.{separator}Die Zahl {i} ist hier.\n");
        (first..first + count).map(line).collect()
    }

    fn po(count: usize) -> String {
        let message =
            |i| format!("msgid \"The number {i} is here.\"\nmsgstr \"Die Zahl {i} ist hier.\"\n\n");
        (0..count).map(message).collect()
    }

    #[test]
    fn every_form_of_a_memory_has_the_same_pairs() {
        let csv = format!("\"The \"\"number\"\" 99,\nis\";Ja\n{}", lines(0, 100, ";"));
        let [en, de] = [0, 1].map(|side| {
            let half = |line: &str| line.split('\t').nth(side).unwrap().to_string() + "\n";
            lines(0, 100, "\t").lines().map(half).collect::<String>()
        });
        for files in [
            vec![("a.po", po(100))],
            vec![("a.tsv", lines(0, 100, "\t"))],
            vec![("a.csv", csv)],
            vec![("a.en", en), ("a.de", de)],
        ] {
            let memory = read(&files).unwrap();
            let count = memory.train.len() + memory.held.len();
            assert!((100..=101).contains(&count), "{}: {memory}", files[0].0);
            assert_eq!(memory.held.len(), 33, "{}", files[0].0);
            let all: HashSet<&Pair> = memory.train.iter().chain(&memory.held).collect();
            assert!((0..100).all(|i| {
                all.contains(&[
                    format!("The number {i} is here."),
                    format!("Die Zahl {i} ist hier."),
                ])
            }));
        }
    }

    #[test]
    fn no_source_that_is_held_out_is_learned_however_it_is_written() {
        let twice = lines(0, 100, "\t") + &lines(0, 100, "\t").to_uppercase().replace("DIE", "Die");
        let memory = read(&[("a.tsv", twice)]).unwrap();
        let held: HashSet<String> = memory.held.iter().map(|[source, _]| normal(source)).collect();
        assert!(!memory.train.iter().any(|[source, _]| held.contains(&normal(source))));
        // When the memory grows, the same ones are held out.
        let (small, large) = (lines(0, 400, "\t"), lines(0, 800, "\t"));
        let [small, large] = [small, large].map(|text| read(&[("a.tsv", text)]).unwrap());
        let learned: HashSet<&Pair> = large.train.iter().collect();
        assert!(
            small.held.iter().filter(|pair| learned.contains(pair)).count() <= small.held.len()
        );
        assert_eq!(large.division, "by the hash of the source");
    }

    #[test]
    fn whole_files_are_held_out_where_there_are_many() {
        let files: Vec<String> = (0..8).map(|file| lines(file * 20, 20, "\t")).collect();
        let names = ["a.tsv", "b.tsv", "c.tsv", "d.tsv", "e.tsv", "f.tsv", "g.tsv", "h.tsv"];
        let memory = read(&names.into_iter().zip(files).collect::<Vec<_>>()).unwrap();
        assert_eq!((memory.division, memory.held.len() % 20), ("whole files", 0));
    }

    #[test]
    fn pairs_that_teach_nothing_are_counted_and_terms_are_found() {
        let useless = "Same\tSame\n123\t456\n\tleer\nA word\tEin Wort\nA  word\tein Wort\nHouse\tHaus\nHouse\tHaus\n\
             Open\tOffen\nOpen\tÖffnen\n";
        let long = format!("One\t{}\n", "sehr lang ".repeat(20));
        let memory = read(&[("a.tsv", lines(0, 50, "\t") + useless + &long)]).unwrap();
        assert_eq!(
            memory.counts,
            [
                ("messages read", 60),
                ("equal to their source", 1),
                ("without words", 2),
                ("duplicates", 2),
                ("of far lengths", 1)
            ]
        );
        assert_eq!(memory.terms, [["House".to_string(), "Haus".to_string()]]);
    }

    #[test]
    fn markup_is_no_part_of_a_pair_and_sentences_are_pairs_of_their_own() {
        let html = "msgid \"<b>One</b> cat. Two %(name)s dogs.\"\nmsgstr \"<b>Eine</b> Katze. Zwei %(name)s Hunde.\"\n\n";
        let memory = read(&[("a.po", html.to_string() + &po(40))]).unwrap();
        let all: Vec<&Pair> = memory.train.iter().chain(&memory.held).collect();
        for pair in [["One cat.", "Eine Katze."], ["Two %(name)s dogs.", "Zwei %(name)s Hunde."]] {
            assert!(all.iter().any(|known| **known == pair), "{pair:?}");
        }
    }

    #[test]
    fn a_memory_that_cannot_be_used_is_refused_with_a_remedy() {
        let fuzzy = po(30).replace("msgid", "#, fuzzy\nmsgid");
        for (files, needle) in [
            (vec![("a.tsv", lines(0, 5, "\t"))], "5 usable pairs"),
            (vec![("a.po", fuzzy)], "30 fuzzy"),
            (vec![("a.csv", lines(0, 30, ";") + "a;b;c\n")], "a.csv:31: the row has 3 columns"),
            (vec![("a.txt", "one\n".into())], "name two texts"),
            (vec![("a.po", po(30) + "msgid \"x\n")], "a.po: line 91: "),
        ] {
            let error = format!("{:#}", read(&files).err().unwrap());
            assert!(error.contains(needle), "{needle}: {error}");
        }
    }
}
