//! Learning byte-pair merges with every tie ordered.
//!
//! The `tokenizers` crate's own trainer breaks ties among re-created pairs by hash-map order, so that two runs over one
//! text may differ, and counts in 32 bits. This one is a textbook incremental trainer: a heap of pairs, ordered by count
//! and then by the pair's ids, whose stale entries are corrected when they surface.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

type Pair = (u32, u32);

/// What was learnt: tokens in the order of their ids, and merges in the order of their ranks.
pub(super) struct Learnt {
    pub tokens: Vec<String>,
    pub merges: Vec<(String, String)>,
}

/// Learns merges over `words` (sorted, with counts) until there are `vocab_size` tokens or no pair is left.
///
/// `fixed` are the first tokens, `alphabet` the characters that follow; both count towards `vocab_size`.
pub(super) fn learn(
    words: &[(String, u64)],
    fixed: Vec<String>,
    alphabet: &[char],
    vocab_size: usize,
    max_piece_chars: usize,
) -> Learnt {
    let mut learner = Learner::new(words, fixed, alphabet, max_piece_chars);
    while learner.tokens.len() < vocab_size {
        let Some(pair) = learner.most_frequent() else {
            break;
        };
        learner.merge(pair);
    }
    let text = |id: u32| learner.tokens[id as usize].clone();
    let merges = learner.merges.iter().map(|&(a, b)| (text(a), text(b))).collect();
    Learnt { tokens: learner.tokens, merges }
}

struct Word {
    symbols: Vec<u32>,
    count: u64,
}

struct Learner {
    tokens: Vec<String>,
    ids: HashMap<String, u32>,
    words: Vec<Word>,
    counts: HashMap<Pair, u64>,
    places: HashMap<Pair, Vec<u32>>,
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
        let tokens: Vec<String> =
            fixed.into_iter().chain(alphabet.iter().map(char::to_string)).collect();
        let ids: HashMap<String, u32> = tokens.iter().cloned().zip(0..).collect();
        let mut buffer = [0; 4];
        let mut symbols =
            |word: &str| word.chars().map(|c| ids[&*c.encode_utf8(&mut buffer)]).collect();
        let words = words
            .iter()
            .map(|(word, count)| Word { symbols: symbols(word), count: *count })
            .collect();
        let mut learner = Self {
            tokens,
            ids,
            words,
            counts: HashMap::new(),
            places: HashMap::new(),
            heap: BinaryHeap::new(),
            merges: Vec::new(),
            merged: HashSet::new(),
            max_piece_chars,
        };
        learner.count_pairs();
        learner
    }

    fn count_pairs(&mut self) {
        for (place, word) in (0..).zip(&self.words) {
            for pair in pairs(&word.symbols) {
                *self.counts.entry(pair).or_default() += word.count;
                add_place(self.places.entry(pair).or_default(), place);
            }
        }
        self.heap.extend(self.counts.iter().map(|(&pair, &count)| (count, Reverse(pair))));
    }

    /// The pair with the highest count, the lowest ids among equals.
    fn most_frequent(&mut self) -> Option<Pair> {
        while let Some((count, Reverse(pair))) = self.heap.pop() {
            let now = self.counts.get(&pair).copied().unwrap_or(0);
            if now == 0 || self.too_long(pair) {
                continue;
            }
            if now == count {
                return Some(pair);
            }
            // The count fell since the entry was made (a rise pushes an entry of its own): look again at its true place.
            if now < count {
                self.heap.push((now, Reverse(pair)));
            }
        }
        None
    }

    fn too_long(&self, (a, b): Pair) -> bool {
        let chars = |id: u32| self.tokens[id as usize].chars().count();
        chars(a) + chars(b) > self.max_piece_chars
    }

    fn merge(&mut self, pair: Pair) {
        let token = self.token_for(pair);
        if self.merged.insert(pair) {
            self.merges.push(pair);
        }
        let mut risen = HashSet::new();
        for place in self.places.remove(&pair).unwrap_or_default() {
            self.merge_in(place, pair, token, &mut risen);
        }
        for pair in risen {
            self.heap.push((self.counts[&pair], Reverse(pair)));
        }
    }

    /// The id of the joined token, which may exist already (`a`+`bc` and `ab`+`c`).
    fn token_for(&mut self, (a, b): Pair) -> u32 {
        let text = format!("{}{}", self.tokens[a as usize], self.tokens[b as usize]);
        let next = self.tokens.len() as u32;
        let id = *self.ids.entry(text.clone()).or_insert(next);
        if id == next {
            self.tokens.push(text);
        }
        id
    }

    /// Merges `pair` in one word: takes the word's pairs out of the counts and puts the new ones in.
    fn merge_in(&mut self, place: u32, pair: Pair, token: u32, risen: &mut HashSet<Pair>) {
        let word = &mut self.words[place as usize];
        let before = std::mem::take(&mut word.symbols);
        word.symbols = joined(&before, pair, token);
        if word.symbols.len() == before.len() {
            return;
        }
        for old in pairs(&before) {
            *self.counts.get_mut(&old).expect("a word's pairs are counted") -= word.count;
        }
        for new in pairs(&word.symbols) {
            *self.counts.entry(new).or_default() += word.count;
            if new.0 == token || new.1 == token {
                add_place(self.places.entry(new).or_default(), place);
                risen.insert(new);
            }
        }
    }
}

fn pairs(symbols: &[u32]) -> impl Iterator<Item = Pair> + '_ {
    symbols.windows(2).map(|pair| (pair[0], pair[1]))
}

/// Adds a word's number unless it was the last one added.
fn add_place(places: &mut Vec<u32>, place: u32) {
    if places.last() != Some(&place) {
        places.push(place);
    }
}

/// `symbols` with every `pair`, from the left, replaced by `token`.
fn joined(symbols: &[u32], pair: Pair, token: u32) -> Vec<u32> {
    let mut out = Vec::with_capacity(symbols.len());
    let mut rest = symbols;
    while let [first, tail @ ..] = rest {
        let hit = *first == pair.0 && tail.first() == Some(&pair.1);
        out.push(if hit { token } else { *first });
        rest = if hit { &tail[1..] } else { tail };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(counts: &[(&str, u64)]) -> Vec<(String, u64)> {
        counts.iter().map(|&(word, count)| (word.to_owned(), count)).collect()
    }

    #[test]
    fn the_most_frequent_pair_is_merged_first_and_the_lower_ids_win_a_tie() {
        // The text of Sennrich et al. (2016), algorithm 1: low 5, lower 2, newest 6, widest 3; `·` is their end of word.
        let words = words(&[("low·", 5), ("lower·", 2), ("newest·", 6), ("widest·", 3)]);
        let alphabet: Vec<char> = "deilnorstw·".chars().collect();
        let learnt = learn(&words, vec![], &alphabet, alphabet.len() + 4, 16);
        let merges: Vec<String> = learnt.merges.iter().map(|(a, b)| format!("{a}+{b}")).collect();
        // e+s, s+t and t+· tie at 9, and e is the lowest id; then t+· (ids 8, 10) and es+t (ids 11, 8) tie at 9.
        assert_eq!(merges, ["e+s", "t+·", "es+t·", "l+o"].map(String::from));
    }

    #[test]
    fn a_run_of_one_letter_merges_from_the_left() {
        assert_eq!(joined(&[7, 7, 7], (7, 7), 9), [9, 7]);
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
}
