//! Finds the entries that begin at each word, in one pass over the sentence.

use aho_corasick::Anchored;
use aho_corasick::automaton::{Automaton, StateID};
use aho_corasick::nfa::contiguous::NFA;

use crate::entry::Entry;
use burnformer_text::Word;

// Bytes that occur in no text.
const BEGIN_MARK: u8 = 0xFF;
/// Precedes a word that has no white space before it.
const JOIN_MARK: u8 = 0xFD;

/// Finds entries with the automaton of Aho and Corasick (1975), reading the sentence backwards.
/// After the first letter of a word, the automaton's state knows the longest term that begins
/// there. The time is linear in the length of the sentence and independent of the number of terms.
#[derive(Clone, Debug)]
pub(crate) struct Finder {
    any_case: Terms,
    as_written: Terms,
}

/// Terms that are compared in the same way.
#[derive(Clone, Debug)]
struct Terms {
    automaton: NFA,
    /// The entry of each term.
    numbers: Vec<usize>,
    /// Selects the form of a word to compare.
    text: fn(&Word) -> &str,
}

impl Finder {
    pub fn new(entries: &[Entry]) -> Self {
        Self {
            any_case: Terms::new(entries, true, |word| &word.folded),
            as_written: Terms::new(entries, false, |word| &word.text),
        }
    }

    /// Returns, for each word of `sentence`, the index of the best entry that begins there. Longer
    /// entries are better; among equally long ones, the case-sensitive one.
    pub fn entries_at(&self, entries: &[Entry], sentence: &[Word]) -> Vec<Option<usize>> {
        let any_case = self.any_case.longest(entries, sentence);
        let as_written = self.as_written.longest(entries, sentence);
        let both = any_case.into_iter().zip(as_written);
        both.map(|(any_case, as_written)| {
            any_case
                .into_iter()
                .chain(as_written)
                .max_by_key(|&number| entries[number].rank())
        })
        .collect()
    }
}

impl Terms {
    fn new(entries: &[Entry], any_case: bool, text: fn(&Word) -> &str) -> Self {
        let selected = entries
            .iter()
            .enumerate()
            .filter(|(_, entry)| entry.any_case == any_case);
        let mut selected: Vec<(usize, &Entry)> = selected.collect();
        // Among entries of the same words, entries that match any ending come last.
        selected.sort_by_key(|(_, entry)| entry.is_open);
        let (numbers, terms): (Vec<usize>, Vec<Vec<u8>>) = selected
            .into_iter()
            .map(|(number, entry)| (number, backwards(&entry.words, text)))
            .unzip();
        let automaton = NFA::new(terms).expect("terms of less than 2 GB");
        Self {
            automaton,
            numbers,
            text,
        }
    }

    /// Returns, for each word of `sentence`, the index of the longest entry that begins with it.
    fn longest(&self, entries: &[Entry], sentence: &[Word]) -> Vec<Option<usize>> {
        let start = self
            .automaton
            .start_state(Anchored::No)
            .expect("it searches everywhere");
        let mut state = start;
        let mut longest_entries: Vec<Option<usize>> = (0..sentence.len())
            .rev()
            .map(|position| {
                let word = &sentence[position];
                state = self.state_after(state, word_backwards((self.text)(word)));
                let longest = self.longest_at(state, entries, &sentence[position..]);
                state = self.state_after(state, joint(word));
                longest
            })
            .collect();
        longest_entries.reverse();
        longest_entries
    }

    /// Returns the state that the automaton reaches from `state` by reading `bytes`.
    fn state_after(&self, state: StateID, bytes: impl Iterator<Item = u8>) -> StateID {
        bytes.fold(state, |state, byte| {
            self.automaton.next_state(Anchored::No, state, byte)
        })
    }

    /// Returns the entry of the longest term in `state` that matches `rest`, the sentence from the
    /// term's first word on. The endings of the last words must agree. A state lists its terms from
    /// the longest to the shortest.
    fn longest_at(&self, state: StateID, entries: &[Entry], rest: &[Word]) -> Option<usize> {
        let is_match = self.automaton.is_match(state);
        let count = if is_match {
            self.automaton.match_len(state)
        } else {
            0
        };
        (0..count)
            .map(|at| self.numbers[self.automaton.match_pattern(state, at).as_usize()])
            .find(|&number| {
                let entry = &entries[number];
                entry.ends_with(&rest[entry.words.len() - 1], self.text)
            })
    }
}

/// Returns a term the way a reversed sentence contains it.
fn backwards(words: &[Word], text: fn(&Word) -> &str) -> Vec<u8> {
    let mut bytes: Vec<u8> = words
        .iter()
        .rev()
        .flat_map(|word| word_backwards(text(word)).chain(joint(word)))
        .collect();
    // Any text may precede a term.
    bytes.truncate(bytes.len() - joint(&words[0]).count());
    bytes
}

fn word_backwards(text: &str) -> impl Iterator<Item = u8> {
    text.bytes().rev().chain([BEGIN_MARK])
}

fn joint(word: &Word) -> impl Iterator<Item = u8> + use<> {
    (!word.spaced).then_some(JOIN_MARK).into_iter()
}
