use std::collections::HashMap;
use std::sync::LazyLock;

use proptest::prelude::*;

use super::merges::Spelling;
use super::*;
use crate::tokenizer::{Tokenizer, TokenizerKind, TokenizerSettings};

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
        for text in TEXT.into_iter().chain(["", "</s> <0x41> ''. don''.", "Ω ж 🎉", "a'.b"]) {
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
    let dropout = BpeDropout::new(&Tokenizers::joint(tokenizer.clone()), settings(0.3)).unwrap();
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
    assert_eq!(
        dropout.longest(&(ids.clone(), ids)),
        [symbols - 1, symbols].map(|most| most as u32)
    );
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
