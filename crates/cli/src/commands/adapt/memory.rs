//! A translation memory, cleaned and divided into pairs to learn from and pairs to measure with.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use derive_more::Display;
use sha2::{Digest, Sha256};

use crate::output::say;

use burnformer_translation::memory_files::{Counts, Pair, Unit, read};

/// Sides of at most this many characters may have any ratio of lengths.
const SHORT: usize = 40;
/// The largest ratio of the lengths of longer sides. Other pairs are dropped.
const MAX_RATIO: usize = 4;
/// The largest number of held-out pairs, their smallest number in a memory of at least three times
/// as many pairs, and the smallest number of pairs in a memory.
const MAX_HELD: f64 = 200.0;
const MIN_HELD: f64 = 60.0;
const MIN_PAIRS: usize = 20;
/// With this many files, whole files are held out.
const MANY_FILES: usize = 5;
/// The largest number of words of a term.
const MAX_TERM_WORDS: usize = 3;

/// The pairs of a memory.
#[derive(Default, Display)]
#[display("{counts}; {} to learn from, {} held out ({division})", train.len(), held.len())]
pub(super) struct Memory {
    /// The pairs to learn from.
    pub(super) train: Vec<Pair>,
    /// The pairs to measure with. Their sources do not occur in `train`, not even with other
    /// numbers.
    pub(super) held: Vec<Pair>,
    /// Short sources that occur several times and always have the same translation.
    pub(super) terms: Vec<Pair>,
    /// How the pairs were held out, for the log.
    pub(super) division: &'static str,
    /// The indices of the files of `held`, if they are whole files.
    pub(super) held_files: Vec<usize>,
    counts: Counts,
}

/// A pair with its origin.
struct Entry {
    pair: Pair,
    file: usize,
    time: String,
}

/// The role of a file in the previous adaptation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    HeldOut,
    New,
    Learned,
}

impl Memory {
    /// Reads `files` as [`read`] does and divides them. Each file has a role in the previous
    /// adaptation.
    ///
    /// # Errors
    /// Returns an error if a file is broken or has other languages, or if all files together have
    /// too few pairs.
    pub(super) fn read(
        files: &[PathBuf],
        languages: [Option<&str>; 2],
        role: impl Fn(usize) -> Role,
    ) -> Result<Self> {
        let mut entries = Vec::new();
        let mut counts = read(
            files,
            languages,
            &mut |unit| entries.extend(entries_of(unit)),
            &mut |note| say(note),
        )?;
        let terms = terms(&entries);
        let kept = cleaned(entries, &mut counts);
        ensure!(
            kept.len() >= MIN_PAIRS,
            "the memory has {} usable pairs ({counts}), and {MIN_PAIRS} are the fewest that teach anything; name more files with --memory",
            kept.len(),
        );
        let mut memory = Self {
            counts,
            terms,
            ..Self::default()
        };
        memory.divide(kept, role);
        let alike = "the memory has nothing but numbers that differ; name more files with --memory";
        ensure!(!memory.held.is_empty() && !memory.train.is_empty(), alike);
        Ok(memory)
    }

    /// The `requested` number of updates. By default each pair is learned about twenty times, at
    /// ten pairs per update, and the number is at least `least`.
    pub(super) fn updates(&self, requested: Option<usize>, least: usize) -> usize {
        requested.unwrap_or((self.train.len() * 2).clamp(least, 4000))
    }

    /// Holds out a fifth of `entries`, or a third of a small memory: the latest entries if all have
    /// a time, whole files if there are many, and otherwise entries chosen by the hash of their
    /// source. Pairs that were learned before are not held out when the memory grows.
    fn divide(&mut self, entries: Vec<Entry>, role: impl Fn(usize) -> Role) {
        let count = entries.len() as f64;
        // The share never rises with the number of pairs.
        let wanted = (count / 5.0).max(MIN_HELD.min(count / 3.0)).min(MAX_HELD);
        let share = wanted / count;
        let wanted = wanted as usize;
        let (division, is_held) = if let Some(is_held) = latest(&entries, wanted) {
            ("the latest", is_held)
        } else if let Some(is_held) = whole_files(&entries, wanted, role) {
            ("whole files", is_held)
        } else {
            ("by the hash of the source", by_hash(&entries, share))
        };
        self.division = division;
        let (held, train): (Vec<_>, Vec<_>) = entries
            .into_iter()
            .zip(is_held)
            .partition(|(_, is_held)| *is_held);
        if division == "whole files" {
            self.held_files = held.iter().map(|(entry, _)| entry.file).collect();
            self.held_files.dedup();
        }
        let sources: HashSet<u64> = held.iter().map(|(entry, _)| key(&entry.pair[0])).collect();
        self.held = held.into_iter().map(|(entry, _)| entry.pair).collect();
        let train = train.into_iter().map(|(entry, _)| entry.pair);
        self.train = train
            .filter(|pair| !sources.contains(&key(&pair[0])))
            .collect();
    }
}

/// The pairs of a segment, with its origin.
fn entries_of(unit: Unit) -> impl Iterator<Item = Entry> {
    let file = unit.file;
    let time = unit.time;
    unit.sentences.into_iter().map(move |pair| Entry {
        pair,
        file,
        time: time.clone(),
    })
}

/// Writes `pairs` as a table.
pub(super) fn write(path: &Path, pairs: &[Pair]) -> Result<()> {
    fs::write(
        path,
        pairs
            .iter()
            .map(|[source, target]: &Pair| {
                let [source, target] =
                    [source, target].map(|side| side.replace(['\t', '\n', '\r'], " "));
                format!("{source}\t{target}\n")
            })
            .collect::<String>(),
    )
    .with_context(|| path.display().to_string())
}

/// Marks about `wanted` entries with the latest times, if all have a time.
fn latest(entries: &[Entry], wanted: usize) -> Option<Vec<bool>> {
    lowest(entries, wanted, |entry| {
        if entry.time.is_empty() {
            return None;
        }
        Some(entry.time.bytes().map(|byte| !byte).collect())
    })
}

/// Marks the entries of whole files, about `wanted`, if there are many files.
fn whole_files(
    entries: &[Entry],
    wanted: usize,
    role: impl Fn(usize) -> Role,
) -> Option<Vec<bool>> {
    let files: HashSet<usize> = entries.iter().map(|entry| entry.file).collect();
    if files.len() < MANY_FILES {
        return None;
    }
    lowest(entries, wanted, |entry| {
        let hash = Sha256::digest(entry.file.to_le_bytes());
        Some([&[role(entry.file) as u8][..], &hash].concat())
    })
}

/// Marks about this `share` of the entries, by the hash of their source.
fn by_hash(entries: &[Entry], share: f64) -> Vec<bool> {
    let bound = (share * 2f64.powi(64)) as u64;
    entries
        .iter()
        .map(|entry| key(&entry.pair[0]) < bound)
        .collect()
}

/// Marks the `wanted` entries with the lowest ranks, and all entries that tie with the last one.
/// Returns `None` if an entry has no rank, or if more than 2 · `wanted` entries would be marked.
fn lowest(
    entries: &[Entry],
    wanted: usize,
    rank: impl Fn(&Entry) -> Option<Vec<u8>>,
) -> Option<Vec<bool>> {
    let ranks: Vec<Vec<u8>> = entries.iter().map(rank).collect::<Option<_>>()?;
    let mut sorted: Vec<&Vec<u8>> = ranks.iter().collect();
    sorted.sort_unstable();
    let last = sorted[wanted - 1];
    let is_held: Vec<bool> = ranks.iter().map(|rank| rank <= last).collect();
    let count = is_held.iter().filter(|&&is_held| is_held).count();
    (count <= 2 * wanted).then_some(is_held)
}

/// The entries that are useful for training, without duplicates. The others are counted.
fn cleaned(mut entries: Vec<Entry>, counts: &mut Counts) -> Vec<Entry> {
    let mut known = HashSet::new();
    entries.retain(
        |Entry {
             pair: [source, target],
             ..
         }| {
            let lengths = [source, target].map(|side| side.chars().count());
            let short = lengths[0].min(lengths[1]);
            let long = lengths[0].max(lengths[1]);
            let reason = match () {
                () if short == 0 => "without words",
                () if source == target => "equal to their source",
                () if long > SHORT && long > short * MAX_RATIO => "of far lengths",
                () if !known.insert([normal(source), normal(target)]) => "duplicates",
                () => return true,
            };
            counts.add(reason, 1);
            false
        },
    );
    entries
}

/// Short sources of several messages that always have the same translation.
fn terms(entries: &[Entry]) -> Vec<Pair> {
    let mut translations: HashMap<&str, Vec<&str>> = HashMap::new();
    for Entry {
        pair: [source, target],
        ..
    } in entries
    {
        if !source.is_empty() && source.split_whitespace().count() <= MAX_TERM_WORDS {
            translations.entry(source).or_default().push(target);
        }
    }
    let mut terms: Vec<Pair> = translations
        .into_iter()
        .filter_map(|(source, targets): (&str, Vec<&str>)| {
            let target = targets[0];
            let is_alike = targets.len() > 1 && targets.iter().all(|other| *other == target);
            let is_term = is_alike && source != target && !target.is_empty() && !has_signs(source);
            is_term.then(|| [source.to_string(), target.to_string()])
        })
        .collect();
    terms.sort();
    terms
}

/// Returns whether `text` has characters outside words or characters that a glossary cannot hold.
fn has_signs(text: &str) -> bool {
    text.contains(|c: char| !c.is_alphanumeric() && c != ' ' && c != '-')
}

/// `text` in one case and with single spaces, for comparisons.
fn normal(text: &str) -> String {
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .to_lowercase()
}

/// A hash of the words of `text`. Numbers and punctuation do not change it.
fn key(text: &str) -> u64 {
    let words: Vec<&str> = text
        .split(|c: char| !c.is_alphabetic())
        .filter(|word| !word.is_empty())
        .collect();
    let hash = Sha256::digest(words.join(" ").to_lowercase());
    u64::from_be_bytes(*hash.first_chunk().expect("a hash has 32 bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The memory of files with these names and texts, from English into German.
    fn read(files: &[(&str, String)]) -> Result<Memory> {
        let folder = tempfile::tempdir().unwrap();
        let paths: Vec<PathBuf> = files
            .iter()
            .map(|(name, text): &(&str, String)| {
                let path = folder.path().join(name);
                fs::write(&path, text).unwrap();
                path
            })
            .collect();
        Memory::read(&paths, [Some("en"), Some("de")], |_| Role::New)
    }

    /// A word for each number.
    fn word(mut number: usize) -> String {
        let mut word = String::new();
        while word.len() < 3 {
            word.push(char::from(b'a' + (number % 26) as u8));
            number /= 26;
        }
        word
    }

    fn pair(number: usize) -> Pair {
        let word = word(number);
        [
            format!("The {word} is here."),
            format!("Das {word} ist hier."),
        ]
    }

    /// Lines of `count` pairs that begin with the number `first`.
    fn lines(first: usize, count: usize, separator: &str) -> String {
        (first..first + count)
            .map(|number| pair(number).join(separator) + "\n")
            .collect()
    }

    fn po(count: usize) -> String {
        (0..count)
            .map(|number| {
                let [source, target] = pair(number);
                format!("msgid \"{source}\"\nmsgstr \"{target}\"\n\n")
            })
            .collect()
    }

    /// One language of a unit of TMX.
    fn variant(language: &str, text: &str) -> String {
        format!("<tuv xml:lang=\"{language}\"><seg>{text}</seg></tuv>")
    }

    fn tmx(times: impl Iterator<Item = usize>) -> String {
        let units: String = times
            .enumerate()
            .map(|(number, time): (usize, usize)| {
                let [source, target] = pair(number);
                let source = variant("en-GB", &source);
                let target = variant("DE", &target);
                format!("<tu changedate=\"202601{time:02}T101500Z\">{source}{target}</tu>\n")
            })
            .collect();
        format!(
            "<?xml version=\"1.0\"?>\n<tmx version=\"1.4\"><header srclang=\"en\"/><body>\n{units}</body></tmx>\n"
        )
    }

    fn xliff(count: usize) -> String {
        let units: String = (0..count).map(|number| {
            let [source, target] = pair(number);
            format!(
                "<trans-unit id='{number}'><source>{source}</source><target>{target}</target></trans-unit>\n"
            )
        }).collect();
        format!(
            "<xliff version='1.2'><file source-language='en' target-language='de-AT'>{units}</file></xliff>"
        )
    }

    #[test]
    fn every_form_of_a_memory_has_the_same_pairs() {
        let csv = format!("\"The \"\"word\"\" of it,\nis\";Ja\n{}", lines(0, 100, ";"));
        let [en, de] = [0, 1].map(|side| {
            lines(0, 100, "\t")
                .lines()
                .map(|line: &str| line.split('\t').nth(side).unwrap().to_string() + "\n")
                .collect::<String>()
        });
        for files in [
            vec![("a.po", po(100))],
            vec![("a.tsv", lines(0, 100, "\t"))],
            vec![("a.csv", csv)],
            vec![("a.csv", lines(0, 100, "|"))],
            vec![("a.tmx", tmx([1; 100].into_iter()))],
            vec![("a.xlf", xliff(100))],
            vec![("a.en", en), ("a.de", de)],
        ] {
            let memory = read(&files).unwrap();
            let count = memory.train.len() + memory.held.len();
            assert!((100..=101).contains(&count), "{}: {memory}", files[0].0);
            assert!(
                (22..45).contains(&memory.held.len()),
                "{}: {memory}",
                files[0].0
            );
            let all: HashSet<&Pair> = memory.train.iter().chain(&memory.held).collect();
            assert!((0..100).all(|number| all.contains(&pair(number))));
        }
    }

    #[test]
    fn held_out_sources_are_not_learned_in_any_spelling() {
        let text = lines(0, 100, "\t");
        let text = [
            text.clone(),
            text.replace(" ist ", " sei ").to_uppercase(),
            text.replace(" is", " 7 is"),
            text.replace(" is", " 88 is").replace('.', "!"),
        ];
        let memory = read(&[("a.tsv", text.concat())]).unwrap();
        let held = memory.held.iter();
        let held: HashSet<_> = held.map(|[source, _]| second_word(source)).collect();
        assert!(held.len() > 10 && memory.train.len() > 200, "{memory}");
        assert!(
            !memory
                .train
                .iter()
                .any(|[source, _]| held.contains(&second_word(source)))
        );
    }

    fn second_word(source: &str) -> Option<String> {
        source.to_lowercase().split(' ').nth(1).map(String::from)
    }

    #[test]
    fn learned_pairs_are_not_held_out_when_the_memory_grows() {
        let mut learned = HashSet::new();
        for count in [40, 90, 180, 250, 301, 500, 999, 1001, 1500, 4000] {
            let memory = read(&[("a.tsv", lines(0, count, "\t"))]).unwrap();
            assert!(
                memory.held.iter().all(|pair| !learned.contains(pair)),
                "{count}"
            );
            assert!((5..260).contains(&memory.held.len()), "{memory}");
            assert_eq!(memory.division, "by the hash of the source");
            learned.extend(memory.train);
        }
    }

    #[test]
    fn files_with_times_hold_out_the_latest_pairs() {
        let memory = read(&[("a.tmx", tmx((0..100).map(|number| 1 + number % 20)))]).unwrap();
        assert_eq!((memory.division, memory.held.len()), ("the latest", 35));
        let latest = (0..100)
            .filter(|number| number % 20 >= 13)
            .map(pair)
            .collect::<HashSet<_>>();
        assert_eq!(memory.held.iter().cloned().collect::<HashSet<_>>(), latest);
    }

    #[test]
    fn many_files_hold_out_whole_files() {
        let files: Vec<String> = (0..8).map(|file| lines(file * 20, 20, "\t")).collect();
        let names = [
            "a.tsv", "b.tsv", "c.tsv", "d.tsv", "e.tsv", "f.tsv", "g.tsv", "h.tsv",
        ];
        let memory = read(&names.into_iter().zip(files).collect::<Vec<_>>()).unwrap();
        assert_eq!(
            (memory.division, memory.held.len() % 20),
            ("whole files", 0)
        );
        assert_eq!(memory.held_files.len() * 20, memory.held.len());
    }

    #[test]
    fn pairs_that_teach_nothing_are_counted_and_terms_are_found() {
        let useless = "Same\tSame\n123\t456\n\tleer\nA word\tEin Wort\nA  word\tein Wort\nHouse\tHaus\nHouse\tHaus\n\
             Open\tOffen\nOpen\tÖffnen\n";
        let long = format!("One\t{}\n", "sehr lang ".repeat(20));
        let memory = read(&[("a.tsv", lines(0, 50, "\t") + useless + &long)]).unwrap();
        assert_eq!(
            memory.counts.0,
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
    fn pairs_have_no_markup_and_each_sentence_is_a_pair() {
        let html = "msgid \"<b>One</b> cat. Two %(name)s dogs.\"\nmsgstr \"<b>Eine</b> Katze. Zwei %(name)s Hunde.\"\n\n";
        let memory = read(&[("a.po", html.to_string() + &po(40))]).unwrap();
        let all: Vec<&Pair> = memory.train.iter().chain(&memory.held).collect();
        for pair in [
            ["One cat.", "Eine Katze."],
            ["Two %(name)s dogs.", "Zwei %(name)s Hunde."],
        ] {
            assert!(all.iter().any(|known| **known == pair), "{pair:?}");
        }
    }

    #[test]
    fn a_memory_that_cannot_be_used_is_refused_with_a_remedy() {
        let fuzzy = po(30).replace("msgid", "#, fuzzy\nmsgid");
        for (files, needle) in [
            (vec![("a.tsv", lines(0, 5, "\t"))], "5 usable pairs"),
            (vec![("a.po", fuzzy)], "30 fuzzy"),
            (
                vec![("a.tmx", tmx([1; 30].into_iter()).replace("DE", "fr"))],
                "but in en-GB, fr; add the other `tuv`, empty where it is to be translated, or take a memory of the model's",
            ),
            (
                vec![(
                    "a.tmx",
                    tmx([1; 30].into_iter()).replace("</tu>\n</body>", "</body>"),
                )],
                "a.tmx: line 32: the XML is broken",
            ),
            (
                vec![("a.tmx", "<xliff/>".into())],
                "a.tmx: line 1: the file is no TMX",
            ),
            (
                vec![("a.xlf", xliff(30).replace("de-AT", "fr"))],
                "a.xlf: line 1: the catalogue is in",
            ),
            (
                vec![("a.xlf", xliff(30).replace("</file>", ""))],
                "a.xlf: line 31: the XML is broken",
            ),
            (
                vec![("a.csv", lines(0, 30, ";") + "a;b;c\n")],
                "a.csv:31: the row has 3 columns",
            ),
            (vec![("a.txt", "one\n".into())], "name two texts"),
            (vec![("a.po", po(30) + "msgid \"x\n")], "a.po: line 91: "),
        ] {
            let error = format!("{:#}", read(&files).err().unwrap());
            assert!(error.contains(needle), "{needle}: {error}");
        }
    }
}
