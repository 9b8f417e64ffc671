//! Learns the merges of byte-pair encoding (BPE) in a reproducible order.
//!
//! The trainer of the `tokenizers` crate orders ties among re-created pairs by a hash map. Two runs
//! over the same text may therefore differ. It also counts in 32 bits. This trainer is a textbook
//! incremental one: a heap of pairs, ordered by count and then by the ids of the pair. Outdated
//! entries are corrected when they come to the top.
//!
//! It knows all positions of each pair in the text, and a merge changes only its neighbours. The
//! time therefore grows with the length of the text, not with the length of words. In scripts
//! without spaces, words can be as long as sentences.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

type Pair = (u32, u32);

/// The result of training: tokens in the order of their ids, and merges in the order of their
/// ranks.
pub(super) struct Merges {
    pub tokens: Vec<String>,
    pub merges: Vec<(String, String)>,
}

/// Learns merges over `words` (sorted, with counts) until there are `vocab_size` tokens or no pair
/// is left.
///
/// `fixed` are the first tokens, and `alphabet` are the characters that follow. Both count towards
/// `vocab_size`.
pub(super) fn learn(
    words: &[(String, u64)],
    fixed: Vec<String>,
    alphabet: &[char],
    vocab_size: usize,
    max_piece_chars: usize,
) -> Merges {
    let mut learner = Learner::new(words, fixed, alphabet, max_piece_chars);
    while learner.tokens.len() < vocab_size {
        let Some(pair) = learner.most_frequent() else {
            break;
        };
        learner.merge(pair);
    }
    let tokens = &learner.tokens;
    let merges = learner
        .merges
        .iter()
        .map(|&(a, b)| (tokens[a as usize].clone(), tokens[b as usize].clone()))
        .collect();
    Merges {
        tokens: learner.tokens,
        merges,
    }
}

/// Marks a gap between two words.
const GAP: u32 = u32::MAX;
/// Marks a slot of a symbol that was merged into the symbol before it.
const MERGED: u32 = u32::MAX - 1;

/// The symbols of the words, with one slot per character and one per gap between words. A symbol is
/// stored in the slot of its first character. Its first and last slot hold its number of
/// characters, which gives the neighbours on both sides.
struct Text {
    symbols: Vec<u32>,
    widths: Vec<u16>,
    /// The first slot of each word, in ascending order, and the number of occurrences of the word.
    words: Vec<(u32, u64)>,
}

impl Text {
    fn new(words: &[(String, u64)], id: impl Fn(char) -> u32) -> Self {
        let mut text = Self {
            symbols: vec![GAP],
            widths: Vec::new(),
            words: Vec::new(),
        };
        for (word, count) in words {
            text.words.push((text.symbols.len() as u32, *count));
            text.symbols.extend(word.chars().map(&id).chain([GAP]));
        }
        assert!(
            text.symbols.len() < MERGED as usize,
            "{} slots",
            text.symbols.len()
        );
        text.widths = vec![1; text.symbols.len()];
        text
    }

    /// Returns the slot of the symbol after the symbol at `slot`.
    fn next(&self, slot: u32) -> u32 {
        slot + u32::from(self.widths[slot as usize])
    }

    /// Returns the slot of the symbol before the symbol at `slot`.
    fn previous(&self, slot: u32) -> u32 {
        slot - u32::from(self.widths[slot as usize - 1])
    }

    /// Returns the symbols at two slots; `None` if one of the slots is a gap between two words.
    fn pair(&self, left: u32, right: u32) -> Option<Pair> {
        let pair = (self.symbols[left as usize], self.symbols[right as usize]);
        (pair.0 != GAP && pair.1 != GAP).then_some(pair)
    }

    /// Number of occurrences of the word at `slot`.
    fn count(&self, slot: u32) -> u64 {
        let word = self.words.partition_point(|&(start, _)| start <= slot) - 1;
        self.words[word].1
    }

    /// Joins the symbols at `left` and `right` into one.
    fn join(&mut self, left: u32, right: u32, token: u32) {
        let last = self.next(right) - 1;
        let width = (last + 1 - left) as u16;
        self.symbols[right as usize] = MERGED;
        self.symbols[left as usize] = token;
        self.widths[left as usize] = width;
        self.widths[last as usize] = width;
    }
}

/// The occurrences of a pair of symbols: their number, and their first slots, some of them
/// outdated.
#[derive(Default)]
struct Occurrences {
    count: u64,
    positions: Vec<u32>,
}

struct Learner {
    tokens: Vec<String>,
    ids: HashMap<String, u32>,
    text: Text,
    pairs: HashMap<Pair, Occurrences>,
    heap: BinaryHeap<(u64, Reverse<Pair>)>,
    merges: Vec<Pair>,
    merged: HashSet<Pair>,
    max_piece_chars: usize,
}

impl Learner {
    fn new(
        words: &[(String, u64)],
        fixed: Vec<String>,
        alphabet: &[char],
        max_piece_chars: usize,
    ) -> Self {
        let first = fixed.len() as u32;
        let characters: HashMap<char, u32> = alphabet.iter().copied().zip(first..).collect();
        let tokens: Vec<String> = fixed
            .into_iter()
            .chain(alphabet.iter().map(char::to_string))
            .collect();
        let ids = tokens.iter().cloned().zip(0..).collect();
        let mut learner = Self {
            tokens,
            ids,
            text: Text::new(words, |c| characters[&c]),
            pairs: HashMap::new(),
            heap: BinaryHeap::new(),
            merges: Vec::new(),
            merged: HashSet::new(),
            max_piece_chars: max_piece_chars.min(u16::MAX.into()),
        };
        learner.count_pairs();
        learner
    }

    fn count_pairs(&mut self) {
        for slot in 1..self.text.symbols.len() as u32 - 1 {
            if let Some(pair) = self.text.pair(slot, slot + 1) {
                let occurrences = self.pairs.entry(pair).or_default();
                occurrences.count += self.text.count(slot);
                occurrences.positions.push(slot);
            }
        }
        self.heap.extend(
            self.pairs
                .iter()
                .map(|(&pair, occurrences)| (occurrences.count, Reverse(pair))),
        );
    }

    fn count_of(&self, pair: Pair) -> u64 {
        self.pairs.get(&pair).map_or(0, |found| found.count)
    }

    /// Returns the pair with the highest count; among equal counts, the one with the lowest ids.
    fn most_frequent(&mut self) -> Option<Pair> {
        while let Some((count, Reverse(pair))) = self.heap.pop() {
            let now = self.count_of(pair);
            if now == 0 || self.too_long(pair) {
                continue;
            }
            if now == count {
                return Some(pair);
            }
            // The count has fallen since the entry was made (for a rise there is a new entry), so
            // the entry is put back with the true count.
            if now < count {
                self.heap.push((now, Reverse(pair)));
            }
        }
        None
    }

    fn too_long(&self, (a, b): Pair) -> bool {
        self.chars(a) + self.chars(b) > self.max_piece_chars
    }

    /// Returns the number of characters of a token.
    fn chars(&self, id: u32) -> usize {
        self.tokens[id as usize].chars().count()
    }

    /// Merges all occurrences of `pair` from left to right (`aaa` becomes `aa` and `a`).
    fn merge(&mut self, pair: Pair) {
        let token = self.token_for(pair);
        if self.merged.insert(pair) {
            self.merges.push(pair);
        }
        let mut positions = self.pairs.remove(&pair).unwrap_or_default().positions;
        positions.sort_unstable();
        let mut risen = HashSet::new();
        for position in positions {
            self.merge_at(position, pair, token, &mut risen);
        }
        for pair in risen {
            self.heap.push((self.count_of(pair), Reverse(pair)));
        }
    }

    /// Returns the id of the joined token, which may exist already (`a`+`bc` and `ab`+`c`).
    fn token_for(&mut self, (a, b): Pair) -> u32 {
        let text = format!("{}{}", self.tokens[a as usize], self.tokens[b as usize]);
        let next = self.tokens.len() as u32;
        let id = *self.ids.entry(text.clone()).or_insert(next);
        if id == next {
            self.tokens.push(text);
        }
        id
    }

    /// Merges one occurrence of `pair`, if it still exists. The counts of the old pairs with its
    /// neighbours fall, and the counts of the new pairs rise.
    fn merge_at(&mut self, left: u32, pair: Pair, token: u32, risen: &mut HashSet<Pair>) {
        if self.text.symbols[left as usize] != pair.0 {
            return;
        }
        let right = self.text.next(left);
        if self.text.symbols[right as usize] != pair.1 {
            return;
        }
        let before = self.text.previous(left);
        let after = self.text.next(right);
        let count = self.text.count(left);
        for gone in [self.text.pair(before, left), self.text.pair(right, after)] {
            if let Some(occurrences) = gone.and_then(|gone| self.pairs.get_mut(&gone)) {
                occurrences.count -= count;
            }
        }
        self.text.join(left, right, token);
        for (position, come) in [
            (before, self.text.pair(before, left)),
            (left, self.text.pair(left, after)),
        ] {
            if let Some(come) = come {
                let occurrences = self.pairs.entry(come).or_default();
                occurrences.count += count;
                occurrences.positions.push(position);
                risen.insert(come);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::Xoshiro256PlusPlus;
    use rand::{RngExt, SeedableRng};

    use super::*;

    fn words(counts: &[(&str, u64)]) -> Vec<(String, u64)> {
        counts
            .iter()
            .map(|&(word, count)| (word.to_owned(), count))
            .collect()
    }

    #[test]
    fn the_most_frequent_pair_is_merged_first_and_the_lower_ids_win_a_tie() {
        // The text of Sennrich et al. (2016), algorithm 1: low 5, lower 2, newest 6, widest 3; `·`
        // is their end of word.
        let words = words(&[("low·", 5), ("lower·", 2), ("newest·", 6), ("widest·", 3)]);
        let alphabet: Vec<char> = "deilnorstw·".chars().collect();
        let learnt = learn(&words, vec![], &alphabet, alphabet.len() + 4, 16);
        let merges: Vec<String> = learnt
            .merges
            .iter()
            .map(|(a, b)| format!("{a}+{b}"))
            .collect();
        // e+s, s+t and t+· tie at 9, and e is the lowest id; then t+· (ids 8, 10) and es+t (ids 11,
        // 8) tie at 9.
        assert_eq!(merges, ["e+s", "t+·", "es+t·", "l+o"].map(String::from));
    }

    #[test]
    fn a_run_of_one_letter_merges_from_the_left() {
        let mut learner = Learner::new(&words(&[("aaa", 2)]), vec![], &['a'], 16);
        learner.merge((0, 0));
        assert_eq!(learner.text.symbols, [GAP, 1, MERGED, 0, GAP]);
        assert_eq!(learner.count_of((1, 0)), 2);
    }

    #[test]
    fn pieces_do_not_grow_past_the_limit() {
        let learnt = learn(&words(&[("abababab", 9)]), vec![], &['a', 'b'], 100, 4);
        assert!(
            learnt.tokens.iter().all(|token| token.chars().count() <= 4),
            "{:?}",
            learnt.tokens
        );
    }

    /// Byte-pair encoding as it is defined: count every pair anew, join the first of the most
    /// frequent ones everywhere.
    fn by_definition(
        words: &[(String, u64)],
        alphabet: &[char],
        size: usize,
        longest: usize,
    ) -> Vec<String> {
        let mut tokens: Vec<String> = alphabet.iter().map(char::to_string).collect();
        let id = |c: char| alphabet.iter().position(|&known| known == c).unwrap();
        let mut split: Vec<(Vec<usize>, u64)> = words
            .iter()
            .map(|(word, count)| (word.chars().map(id).collect(), *count))
            .collect();
        while tokens.len() < size {
            let mut counts: HashMap<(usize, usize), u64> = HashMap::new();
            for (symbols, count) in &split {
                symbols
                    .windows(2)
                    .for_each(|pair| *counts.entry((pair[0], pair[1])).or_default() += count);
            }
            counts.retain(|&(a, b), _| {
                tokens[a].chars().count() + tokens[b].chars().count() <= longest
            });
            let best = counts
                .into_iter()
                .max_by_key(|&(pair, count)| (count, Reverse(pair)));
            let Some(((a, b), _)) = best else { break };
            let text = tokens[a].clone() + &tokens[b];
            let token = tokens
                .iter()
                .position(|known| *known == text)
                .unwrap_or(tokens.len());
            if token == tokens.len() {
                tokens.push(text);
            }
            for (symbols, _) in &mut split {
                let mut at = 0;
                while at + 1 < symbols.len() {
                    if (symbols[at], symbols[at + 1]) == (a, b) {
                        symbols.splice(at..at + 2, [token]);
                    }
                    at += 1;
                }
            }
        }
        tokens
    }

    proptest::proptest! {
        #[test]
        fn learnt_merges_equal_the_definition(
            text in proptest::collection::vec(("[abc]{1,20}", 1u64..4), 1..12),
            size in 3usize..60,
            longest in 1usize..12,
        ) {
            let alphabet = ['a', 'b', 'c'];
            let learnt = learn(&text, vec![], &alphabet, size, longest);
            proptest::prop_assert_eq!(learnt.tokens, by_definition(&text, &alphabet, size, longest));
        }
    }

    #[test]
    fn the_work_grows_with_the_text_and_not_with_the_square_of_its_words() {
        // One word of 20,000 characters, as a line of Chinese without punctuation is; a merge that
        // looked at the whole word would look at 20,000 places 5,000 times.
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let word: String = (0..20_000).map(|_| rng.random_range('a'..='z')).collect();
        let alphabet: Vec<char> = ('a'..='z').collect();
        let mut learner = Learner::new(&[(word, 1)], vec![], &alphabet, 16);
        let mut visits = 0;
        while let Some(pair) = learner
            .most_frequent()
            .filter(|_| learner.tokens.len() < 5_000)
        {
            visits += learner.pairs[&pair].positions.len();
            learner.merge(pair);
        }
        assert!(learner.tokens.len() > 3_000, "{}", learner.tokens.len());
        assert!(visits <= 3 * 20_000, "{visits}");
    }
}
