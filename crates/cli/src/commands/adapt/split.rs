//! A translation memory, cleaned and divided into pairs to learn from and pairs to measure with.

mod held_out;

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use burnformer_translation::translation_memory::{Counts, Pair, Unit, read};
use derive_more::Display;

pub(super) use self::held_out::Role;
use crate::output::say;

/// The smallest number of pairs in a memory.
const MIN_PAIRS: usize = 20;

/// Sides of at most this many characters may have any ratio of lengths.
const MAX_SHORT_CHARS: usize = 40;
/// The largest ratio of the lengths of longer sides. Other pairs are dropped.
const MAX_RATIO: usize = 4;
/// The largest number of words of a term.
const MAX_TERM_WORDS: usize = 3;

/// The pairs of a translation memory, to learn from and to measure with.
#[derive(Default, Display)]
#[display("{counts}; {} to learn from, {} held out ({division})", train.len(), held.len())]
pub(super) struct Split {
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

impl Split {
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
        let mut split = Self {
            counts,
            terms,
            ..Self::default()
        };
        split.divide(kept, role);
        let alike = "the memory has nothing but numbers that differ; name more files with --memory";
        ensure!(!split.held.is_empty() && !split.train.is_empty(), alike);
        Ok(split)
    }

    /// The `requested` number of updates. By default each pair is learned about twenty times, at
    /// ten pairs per update, and the number is at least `least`.
    pub(super) fn updates(&self, requested: Option<usize>, least: usize) -> usize {
        requested.unwrap_or((self.train.len() * 2).clamp(least, 4000))
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
                () if long > MAX_SHORT_CHARS && long > short * MAX_RATIO => "of far lengths",
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

#[cfg(test)]
mod tests;
