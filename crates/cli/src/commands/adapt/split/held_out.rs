//! The pairs of a memory that are held out.

use std::collections::HashSet;

use sha2::{Digest, Sha256};

use super::{Entry, Split};

/// The largest number of held-out pairs.
const MAX_HELD: f64 = 200.0;
/// The smallest number of held-out pairs in a memory of at least three times as many.
const MIN_HELD: f64 = 60.0;
/// With this many files, whole files are held out.
const MANY_FILES: usize = 5;

/// The role of a file in the previous adaptation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::commands::adapt) enum Role {
    HeldOut,
    New,
    Learned,
}

impl Split {
    /// Holds out a fifth of `entries`, or a third of a small memory: the latest entries if all have
    /// a time, whole files if there are many, and otherwise entries chosen by the hash of their
    /// source. Pairs that were learned before are not held out when the memory grows.
    pub(super) fn divide(&mut self, entries: Vec<Entry>, role: impl Fn(usize) -> Role) {
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

/// A hash of the words of `text`. Numbers and punctuation do not change it.
fn key(text: &str) -> u64 {
    let words: Vec<&str> = text
        .split(|c: char| !c.is_alphabetic())
        .filter(|word| !word.is_empty())
        .collect();
    let hash = Sha256::digest(words.join(" ").to_lowercase());
    u64::from_be_bytes(*hash.first_chunk().expect("a hash has 32 bytes"))
}
