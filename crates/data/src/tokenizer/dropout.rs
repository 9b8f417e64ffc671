//! BPE-dropout (Provilkov et al., 2020): other segmentations of text that is already tokenised.
//!
//! Byte-pair encoding joins the symbols of a word by its merges, the most frequent first. BPE-dropout leaves out each
//! possible merge with a probability at each step, so that a word is cut in another way each time, on average into more
//! tokens. The `tokenizers` library has it too, but draws from a generator that cannot be seeded.
//!
//! The text of a pair is restored from its tokens, so that no text has to be kept beside the tokens: the pieces
//! of the tokenisers that this crate trains spell the normalised text.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

use rand::RngExt;
use serde_json::Value;
use tokenizers::models::ModelWrapper;
use tokenizers::models::bpe::BPE;

use super::layout::byte_token;
use super::{Kind, Tokenizer, TokenizerSettings, Tokenizers, pipeline, train};
use crate::error::{DataError, Result};
use crate::random::generator;
use crate::special;

/// How BPE-dropout is done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BpeDropoutSettings {
    /// The probability with which a merge is left out at each step, from 0 (the ordinary segmentation) to 1 (characters,
    /// and bytes of characters that the vocabulary lacks).
    pub probability: f64,
    /// Most tokens, without `</s>`, that a segmentation may have on the source and the target side. A side that would
    /// have more keeps its ordinary segmentation.
    pub longest: [usize; 2],
}

/// Draws other segmentations of tokenised pairs: a pure function of the seed, the epoch and the number of the pair.
#[derive(Clone, Debug)]
pub struct BpeDropout {
    settings: BpeDropoutSettings,
    sides: [Arc<Merges>; 2],
}

impl BpeDropout {
    /// BPE-dropout with the merges of `tokenizers`.
    ///
    /// # Errors
    /// [`DataError::NoBpeDropout`] if a tokeniser is not BPE as this crate trains it; [`DataError::InvalidSetting`] if
    /// the probability is not between 0 and 1.
    pub fn new(tokenizers: &Tokenizers, settings: BpeDropoutSettings) -> Result<Self> {
        if !(0.0..=1.0).contains(&settings.probability) {
            let (value, remedy) = (settings.probability.to_string(), "choose from 0 to 1".into());
            return Err(DataError::InvalidSetting { name: "bpe_dropout", value, remedy });
        }
        let source = Arc::new(Merges::of(&tokenizers.source, "source")?);
        let target = match tokenizers.is_joint() {
            true => source.clone(),
            false => Arc::new(Merges::of(&tokenizers.target, "target")?),
        };
        Ok(Self { settings, sides: [source, target] })
    }

    /// Limits the lengths to `longest` too.
    #[must_use]
    pub(crate) fn within(mut self, longest: usize) -> Self {
        self.settings.longest = self.settings.longest.map(|most| most.min(longest));
        self
    }

    /// The segmentation of pair `number` in an epoch. `pair` has the ordinary one: the ids of source and target,
    /// without special tokens.
    pub fn pair(
        &self,
        pair: (Vec<u32>, Vec<u32>),
        seed: u64,
        epoch: u64,
        number: u32,
    ) -> (Vec<u32>, Vec<u32>) {
        let mut rng = generator("bpe dropout", seed, epoch);
        rng.set_stream(number.into());
        let mut left_out = || rng.random_bool(self.settings.probability);
        let [source, target] = &self.sides;
        let [longest_source, longest_target] = self.settings.longest;
        let source = source.other(pair.0, longest_source, &mut left_out);
        (source, target.other(pair.1, longest_target, &mut left_out))
    }

    /// The lengths of the longest segmentation that [`pair`](Self::pair) can give for a pair: of source and target.
    pub(crate) fn longest(&self, pair: &(Vec<u32>, Vec<u32>)) -> [usize; 2] {
        let [source, target] = &self.sides;
        let [longest_source, longest_target] = self.settings.longest;
        let within = |symbols: usize, ids: &[u32], longest: usize| {
            if symbols <= longest { symbols } else { longest.max(ids.len()) }
        };
        [
            within(source.symbols(&pair.0), &pair.0, longest_source),
            within(target.symbols(&pair.1), &pair.1, longest_target),
        ]
    }
}

/// A pair of neighbouring symbols.
type Pair = (u32, u32);

/// The merges of one tokeniser.
#[derive(Debug)]
struct Merges {
    tokenizer: tokenizers::Tokenizer,
    /// What each token spells, by its id.
    spellings: Vec<Spelling>,
    characters: HashMap<char, u32>,
    /// The token of each byte.
    bytes: Vec<u32>,
    /// The rank of each merge, the first of which is done first, and the token that it gives.
    merges: HashMap<Pair, (u32, u32)>,
}

/// What a token spells.
#[derive(Clone, Debug)]
enum Spelling {
    /// No text: a special token, or no token at all.
    Nothing,
    /// A byte of a character that the vocabulary lacks.
    Byte(u8),
    /// A text.
    Text(String),
}

impl Merges {
    fn of(tokenizer: &Tokenizer, side: &'static str) -> Result<Self> {
        let refused = |kind| DataError::NoBpeDropout { side, kind };
        let Kind::HuggingFace(inner) = &tokenizer.kind else {
            return Err(refused("a SentencePiece model"));
        };
        let ModelWrapper::BPE(model) = inner.get_model() else {
            return Err(refused("a unigram or other model without merges"));
        };
        let other =
            "byte-pair encoding with another normaliser, division into words or set of bytes";
        let merges =
            is_trained_here(inner)?.then(|| Self::read(inner, model, tokenizer.vocab_size));
        merges.flatten().ok_or_else(|| refused(other))
    }

    /// The merges of `model`; `None` if it lacks a byte or the result of a merge.
    fn read(inner: &tokenizers::Tokenizer, model: &BPE, vocab_size: usize) -> Option<Self> {
        let bytes: Vec<u32> =
            (0..=255).map(|byte| inner.token_to_id(&byte_token(byte))).collect::<Option<_>>()?;
        let mut spellings = vec![Spelling::Nothing; vocab_size];
        let vocab = model.get_vocab();
        for (text, &id) in &vocab {
            spellings[id as usize] = Spelling::Text(text.clone());
        }
        bytes.iter().zip(0..).for_each(|(&id, byte)| spellings[id as usize] = Spelling::Byte(byte));
        special::TOKENS.iter().zip(&mut spellings).for_each(|(_, it)| *it = Spelling::Nothing);
        let character = |(text, &id): (&String, &u32)| {
            let mut characters = text.chars();
            characters.next().filter(|_| characters.next().is_none()).map(|c| (c, id))
        };
        let characters = vocab.iter().filter_map(character).collect();
        let json = serde_json::to_value(model).expect("a model that was parsed can be written");
        let merge = |(rank, merge): (u32, &Value)| {
            let (left, right) = (merge[0].as_str()?, merge[1].as_str()?);
            let id = |text: &str| vocab.get(text).copied();
            Some(((id(left)?, id(right)?), (rank, id(&format!("{left}{right}"))?)))
        };
        let merges = (0..).zip(json["merges"].as_array()?).map(merge).collect::<Option<_>>()?;
        Some(Self { tokenizer: inner.clone(), spellings, characters, bytes, merges })
    }

    /// Another segmentation of the text of `ids`, which leaves out the merges that `left_out` says, of at most `longest`
    /// tokens; `ids` if it has more.
    fn other(
        &self,
        ids: Vec<u32>,
        longest: usize,
        left_out: &mut impl FnMut() -> bool,
    ) -> Vec<u32> {
        let words = self.text(&ids).and_then(|text| pipeline::words(&self.tokenizer, &text).ok());
        let Some(words) = words else { return ids };
        let mut other = Vec::with_capacity(2 * ids.len());
        words.iter().for_each(|word| self.segment(word, left_out, &mut other));
        if other.len() <= longest { other } else { ids }
    }

    /// The normalised text of `ids`; `None` if one of them spells none, or bytes form no character.
    fn text(&self, ids: &[u32]) -> Option<String> {
        let mut bytes = Vec::with_capacity(8 * ids.len());
        for &id in ids {
            match self.spellings.get(id as usize)? {
                Spelling::Nothing => return None,
                Spelling::Byte(byte) => bytes.push(*byte),
                Spelling::Text(text) => bytes.extend(text.as_bytes()),
            }
        }
        String::from_utf8(bytes).ok()
    }

    /// Number of symbols of the text of `ids` before any merge.
    fn symbols(&self, ids: &[u32]) -> usize {
        let symbols = |&id: &u32| match self.spellings.get(id as usize) {
            Some(Spelling::Text(text)) => text.chars().count(),
            _ => 1,
        };
        ids.iter().map(symbols).sum()
    }

    /// Appends the tokens of a word to `out`: joins its symbols, in the order of the merges' ranks and from left to
    /// right, except for the merges that `left_out` says. A merge that was left out is possible again after the next.
    fn segment(&self, word: &str, left_out: &mut impl FnMut() -> bool, out: &mut Vec<u32>) {
        let mut symbols = Symbols::new(self.base(word));
        let mut possible = BinaryHeap::new();
        let candidate = |symbols: &Symbols, at: usize| {
            let &(rank, token) = self.merges.get(&symbols.pair(at)?)?;
            Some(Reverse((rank, at, token)))
        };
        possible.extend((0..symbols.ids.len()).filter_map(|at| candidate(&symbols, at)));
        let mut set_aside = Vec::new();
        while let Some(merge) = possible.pop() {
            let Reverse((_, at, token)) = merge;
            if candidate(&symbols, at) != Some(merge) {
                continue;
            }
            if left_out() {
                set_aside.push(merge);
                continue;
            }
            symbols.join(at, token);
            possible.extend(set_aside.drain(..));
            let changed = symbols.before(at).into_iter().chain([at]);
            possible.extend(changed.filter_map(|at| candidate(&symbols, at)));
        }
        out.extend(symbols.left());
    }

    /// The characters of a word as tokens, or the bytes of those that the vocabulary lacks.
    fn base(&self, word: &str) -> Vec<u32> {
        let mut ids = Vec::with_capacity(word.len());
        for c in word.chars() {
            match self.characters.get(&c) {
                Some(&id) => ids.push(id),
                None => {
                    let bytes = c.encode_utf8(&mut [0; 4]).bytes().collect::<Vec<_>>();
                    ids.extend(bytes.into_iter().map(|byte| self.bytes[usize::from(byte)]));
                }
            }
        }
        ids
    }
}

/// Whether normaliser, division into words and the model's form are those of the tokenisers that this crate trains, with
/// no token beside the vocabulary.
fn is_trained_here(tokenizer: &tokenizers::Tokenizer) -> Result<bool> {
    let form = |tokenizer: &tokenizers::Tokenizer| {
        let mut json = serde_json::to_value(tokenizer).expect("a tokeniser can be written");
        for part in ["vocab", "merges"] {
            json["model"][part].take();
        }
        ["normalizer", "pre_tokenizer", "added_tokens", "model"].map(|part| json[part].take())
    };
    let found = form(tokenizer);
    for split_digits in [false, true] {
        let settings = TokenizerSettings { split_digits, ..TokenizerSettings::default() };
        if form(&train::empty(&settings)?) == found {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The symbols of a word, each in the place of its first character.
struct Symbols {
    ids: Vec<u32>,
    /// The place of the symbol after the one at each place, and of the one before.
    next: Vec<usize>,
    previous: Vec<usize>,
}

/// The place of no symbol.
const NONE: usize = usize::MAX;

impl Symbols {
    fn new(ids: Vec<u32>) -> Self {
        let count = ids.len();
        let next = (1..=count).map(|at| if at < count { at } else { NONE }).collect();
        let previous = (0..count).map(|at: usize| at.checked_sub(1).unwrap_or(NONE)).collect();
        Self { ids, next, previous }
    }

    /// The symbol at `at` and the one after it; `None` if one of them is not there.
    fn pair(&self, at: usize) -> Option<Pair> {
        let right = *self.ids.get(self.next[at])?;
        Some((self.ids[at], right))
    }

    fn before(&self, at: usize) -> Option<usize> {
        Some(self.previous[at]).filter(|&before| before != NONE)
    }

    /// Joins the symbol at `at` and the one after it into `token`.
    fn join(&mut self, at: usize, token: u32) {
        let (right, after) = (self.next[at], self.next[self.next[at]]);
        self.ids[at] = token;
        self.next[at] = after;
        self.next[right] = NONE;
        if after != NONE {
            self.previous[after] = at;
        }
    }

    /// The symbols that are left, from the first to the last.
    fn left(&self) -> impl Iterator<Item = u32> {
        let start = (!self.ids.is_empty()).then_some(0);
        let next = |&at: &usize| Some(self.next[at]).filter(|&next| next != NONE);
        std::iter::successors(start, next).map(|at| self.ids[at])
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use proptest::prelude::*;

    use super::*;
    use crate::tokenizer::TokenizerKind;

    const TEXT: [&str; 6] = [
        "the lowest newest widest house of the whole town",
        "don't lower the new house's price, it's the lowest.",
        "Über größere Häuser ließ sich 2024 nichts Neues sagen",
        "l'été à l'hôtel, c'est l'été: 12,50 €",
        "東京タワーは1958年に建てられた",
        "newer lower slower wider houses; towns, houses and towns",
    ];

    fn tokenizer(split_digits: bool) -> Tokenizer {
        let settings = TokenizerSettings {
            vocab_size: 420,
            allow_smaller: true,
            split_digits,
            character_coverage: 0.99,
            ..TokenizerSettings::default()
        };
        Tokenizer::train(TEXT, &settings).unwrap()
    }

    fn merges(tokenizer: &Tokenizer) -> Merges {
        Merges::of(tokenizer, "source").unwrap()
    }

    fn settings(probability: f64) -> BpeDropoutSettings {
        BpeDropoutSettings { probability, longest: [usize::MAX; 2] }
    }

    fn with(probability: f64, tokenizer: &Tokenizer, text: &str, epoch: u64) -> Vec<u32> {
        let dropout =
            BpeDropout::new(&Tokenizers::joint(tokenizer.clone()), settings(probability)).unwrap();
        dropout.pair((tokenizer.encode(text), vec![]), 1, epoch, 7).0
    }

    #[test]
    fn without_dropout_the_segmentation_is_that_of_the_library_and_with_certainty_characters_and_bytes()
     {
        for tokenizer in [tokenizer(false), tokenizer(true)] {
            let merges = merges(&tokenizer);
            assert!(merges.merges.len() > 50, "{}", merges.merges.len());
            for text in TEXT.into_iter().chain(["", "</s> <0x41> ''. don''.", "Ω ж 🎉", "a'.b"])
            {
                let ids = tokenizer.encode(text);
                assert_eq!(merges.other(ids.clone(), 999, &mut || false), ids, "{text}");
                let all = merges.other(ids.clone(), 999, &mut || true);
                assert_eq!(all.len(), merges.symbols(&ids), "{text}");
                let single = |id: &u32| match &merges.spellings[*id as usize] {
                    Spelling::Byte(_) => true,
                    Spelling::Text(text) => text.chars().count() == 1,
                    Spelling::Nothing => false,
                };
                assert!(all.iter().all(single), "{text}");
                assert_eq!(tokenizer.decode(&all), tokenizer.decode(&ids));
            }
        }
    }

    #[test]
    fn epochs_pairs_and_seeds_differ_and_the_same_are_the_same() {
        let tokenizer = tokenizer(false);
        let dropout =
            BpeDropout::new(&Tokenizers::joint(tokenizer.clone()), settings(0.3)).unwrap();
        let pair = || (tokenizer.encode(TEXT[0]), tokenizer.encode(TEXT[2]));
        let drawn = |seed, epoch, number| dropout.pair(pair(), seed, epoch, number);
        let one = drawn(1, 0, 0);
        assert_eq!(one, drawn(1, 0, 0));
        for other in [drawn(2, 0, 0), drawn(1, 1, 0), drawn(1, 0, 1), pair()] {
            assert_ne!(one, other);
        }
    }

    #[test]
    fn a_step_takes_the_first_merge_that_is_not_left_out_and_one_left_out_may_come_later() {
        let tokenizer = tokenizer(false);
        let merges = merges(&tokenizer);
        let spelt = |left_out: &[bool]| {
            let (mut draws, mut ids) = (left_out.iter().copied(), Vec::new());
            merges.segment("newest", &mut || draws.next().unwrap_or(false), &mut ids);
            let pieces: Vec<_> = ids.iter().map(|&id| tokenizer.token(id).unwrap()).collect();
            (pieces.join("|"), draws.count())
        };
        // Left out once, the first merge is possible again after the second.
        assert_eq!(spelt(&[true]).0, spelt(&[]).0);
        let all_out = spelt(&[true; 99]);
        assert_eq!(all_out.0, "n|e|w|e|s|t");
        // As many draws as there are possible merges of characters: each is asked once.
        let possible = ["ne", "ew", "we", "es", "st"].iter().filter(|pair| {
            let id = |at: usize| tokenizer.id(&pair[at..=at]).unwrap();
            merges.merges.contains_key(&(id(0), id(1)))
        });
        assert_eq!(99 - all_out.1, possible.count());
    }

    /// What Provilkov et al. (2020, algorithm 1) write: at each step every possible merge is left out with
    /// probability p, and the first of the others is done, until none is left.
    fn by_definition(merges: &Merges, word: &str, p: f64, rng: &mut impl rand::Rng) -> Vec<u32> {
        let mut ids = merges.base(word);
        loop {
            let possible = ids.windows(2).zip(0..).filter_map(|(pair, at)| {
                merges.merges.get(&(pair[0], pair[1])).map(|&(rank, token)| (rank, at, token))
            });
            let kept: Vec<_> = possible.filter(|_| !rng.random_bool(p)).collect();
            let Some(&(_, at, token)) = kept.iter().min() else { return ids };
            ids.splice(at..at + 2, [token]);
        }
    }

    #[test]
    fn segmentations_are_distributed_as_the_paper_defines_them() {
        let merges = merges(&tokenizer(false));
        let mut rng = generator("test", 1, 0);
        let mut counts: HashMap<Vec<u32>, [i32; 2]> = HashMap::new();
        let draws = 20_000;
        for _ in 0..draws {
            let mut ids = Vec::new();
            merges.segment("newest", &mut || rng.random_bool(0.4), &mut ids);
            counts.entry(ids).or_default()[0] += 1;
            let ids = by_definition(&merges, "newest", 0.4, &mut rng);
            counts.entry(ids).or_default()[1] += 1;
        }
        assert!(counts.len() > 5, "{counts:?}");
        for (ids, [ours, theirs]) in counts {
            // Four standard deviations of the difference of two counts.
            let bound = 4.0 * f64::from(ours + theirs + 1).sqrt();
            assert!(f64::from((ours - theirs).abs()) < bound, "{ids:?}: {ours} {theirs}");
        }
    }

    #[test]
    fn a_side_that_would_be_too_long_keeps_its_segmentation() {
        let tokenizer = tokenizer(false);
        let ids = tokenizer.encode(TEXT[0]);
        let merges = merges(&tokenizer);
        let symbols = merges.symbols(&ids);
        assert!(symbols > ids.len());
        assert_eq!(merges.other(ids.clone(), symbols - 1, &mut || true), ids);
        assert_eq!(merges.other(ids.clone(), symbols, &mut || true).len(), symbols);
        let settings = BpeDropoutSettings { longest: [symbols - 1, symbols], ..settings(0.5) };
        let dropout = BpeDropout::new(&Tokenizers::joint(tokenizer), settings).unwrap();
        assert_eq!(dropout.longest(&(ids.clone(), ids)), [symbols - 1, symbols]);
    }

    #[test]
    fn other_tokenisers_are_refused_with_the_remedy() {
        let settings_of = |kind| TokenizerSettings {
            vocab_size: 330,
            kind,
            allow_smaller: true,
            ..TokenizerSettings::default()
        };
        let unigram = Tokenizer::train(TEXT, &settings_of(TokenizerKind::Unigram)).unwrap();
        let bpe = Tokenizer::train(TEXT, &settings_of(TokenizerKind::Bpe)).unwrap();
        let lower = String::from_utf8(bpe.to_bytes()).unwrap().replace("\"NFC\"", "\"NFD\"");
        let other = Tokenizer::from_bytes("other".as_ref(), lower.as_bytes()).unwrap();
        for (refused, kind) in [(unigram, "unigram"), (other, "another normaliser")] {
            let tokenizers = Tokenizers::separate(bpe.clone(), refused);
            let error = BpeDropout::new(&tokenizers, settings(0.1)).unwrap_err().to_string();
            assert!(error.contains("target tokeniser") && error.contains(kind), "{error}");
            assert!(error.contains("data.bpe_dropout = 0"), "{error}");
        }
        let error = BpeDropout::new(&Tokenizers::joint(bpe), settings(1.5)).unwrap_err();
        assert!(matches!(error, DataError::InvalidSetting { name: "bpe_dropout", .. }));
    }

    static TOKENIZER: LazyLock<Tokenizer> = LazyLock::new(|| tokenizer(false));

    proptest! {
        #[test]
        fn every_segmentation_spells_the_text(text in "\\PC{0,40}", p in 0.0f64..=1.0, epoch in 0u64..9) {
            let ids = with(p, &TOKENIZER, &text, epoch);
            prop_assert_eq!(TOKENIZER.decode(&ids), TOKENIZER.decode(&TOKENIZER.encode(&text)));
            prop_assert_eq!(with(0.0, &TOKENIZER, &text, epoch), TOKENIZER.encode(&text));
        }
    }
}
