use burnformer_data::{Tokenizer, TokenizerFiles, TokenizerSettings, Tokenizers};

use super::*;
use crate::attention::{AttentionWeights, HeadWeights};
use crate::model::tests::table::TableModel;
use crate::model::{Decoding, Ensemble, SpecialIds, StepModel};
use crate::search::Request;
use crate::settings::SearchSettings;
use crate::translator::TranslateOptions;

/// A model that says its source backwards, and attends to the token that it says.
struct Backwards(usize);

struct BackwardsDecoding {
    vocab: usize,
    sources: Vec<Vec<u32>>,
    rows: Vec<(usize, usize)>,
}

impl Decoding for BackwardsDecoding {
    fn step(&mut self, tokens: &[u32]) -> Vec<f32> {
        assert_eq!(tokens.len(), self.rows.len());
        let logits = |(sentence, said): &mut (usize, usize)| {
            let source = &self.sources[*sentence];
            let next = source
                .len()
                .checked_sub(2 + *said)
                .map_or(2, |index| source[index]);
            *said += 1;
            (0..self.vocab as u32).map(move |id| if id == next { 9.0 } else { 0.0 })
        };
        self.rows.iter_mut().flat_map(logits).collect()
    }

    fn reorder(&mut self, rows: &[usize], _: Option<&[usize]>) {
        self.rows = rows.iter().map(|&row| self.rows[row]).collect();
    }
}

impl StepModel for Backwards {
    fn source_vocab(&self) -> usize {
        self.0
    }

    fn target_vocab(&self) -> usize {
        self.0
    }

    fn special(&self) -> SpecialIds {
        SpecialIds::OURS
    }

    fn start(&self, sources: &[&[u32]]) -> Box<dyn Decoding + '_> {
        let rows = (0..sources.len()).map(|sentence| (sentence, 0)).collect();
        let sources = sources.iter().map(|source| source.to_vec()).collect();
        Box::new(BackwardsDecoding {
            vocab: self.0,
            sources,
            rows,
        })
    }

    fn attention(&self, source: &[u32], target: &[u32]) -> Option<AttentionWeights> {
        let queries = target.len();
        let keys = source.len();
        let weight = |at: usize| f32::from(u8::from(at / keys + at % keys + 2 == keys));
        let values = (0..queries * keys).map(weight).collect();
        let cross = vec![vec![HeadWeights {
            queries,
            keys,
            values,
        }]];
        Some(AttentionWeights {
            cross,
            ..AttentionWeights::default()
        })
    }
}

fn tokenizer(byte_fallback: bool) -> Tokenizer {
    let settings = TokenizerSettings {
        vocab_size: 300,
        ..TokenizerSettings::default()
    };
    let lines = [
        "it costs 7 and the house is small",
        "the dog sees 9 houses and a dog",
    ];
    let TokenizerFiles::HuggingFace { json } = Tokenizer::train(lines, &settings).unwrap().files()
    else {
        unreachable!()
    };
    let json = String::from_utf8(json).unwrap();
    let json = json.replace(
        "\"byte_fallback\":true",
        &format!("\"byte_fallback\":{byte_fallback}"),
    );
    Tokenizer::from_bytes("t".as_ref(), json.as_bytes()).unwrap()
}

fn translator(model: Box<dyn StepModel>, tokenizer: Tokenizer) -> Translator {
    let search = SearchSettings::beam(2, 0.6);
    Translator::new(model, Tokenizers::joint(tokenizer), search).unwrap()
}

const TEXTS: [(&str, &str); 5] = [
    ("7 €", "€ 7"),
    ("€ and ☃ and the 東京", "東京 the and ☃ and €"),
    ("the dog", "dog the"),
    ("☃", "☃"),
    ("a \u{AD}€\u{200B} dog ☃", "☃ dog € a"),
];

#[test]
fn unknown_tokens_copy_their_most_attended_source_tokens() {
    let tokenizer = tokenizer(false);
    let translator = translator(Box::new(Backwards(tokenizer.vocab_size())), tokenizer);
    let sources = TEXTS.map(|(source, _)| source);
    let words = |text: &str| {
        text.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    for sources in [&sources[..], &sources[..1], &sources[1..2]] {
        let found = translator
            .translate(sources, &translator.options())
            .unwrap();
        for (translation, (source, expected)) in found
            .iter()
            .zip(TEXTS.iter().filter(|(s, _)| sources.contains(s)))
        {
            for copied in words(expected).iter().filter(|word| !word.is_ascii()) {
                assert!(
                    translation.text.contains(copied),
                    "{source}: {}",
                    translation.text
                );
            }
            let order = |text: &str| {
                text.chars()
                    .filter(|c| "€☃東京".contains(*c))
                    .collect::<String>()
            };
            assert_eq!(
                order(&translation.text),
                order(expected),
                "{source}: {}",
                translation.text
            );
        }
    }
}

#[test]
fn a_model_without_attention_copies_in_order() {
    let tokenizer = tokenizer(false);
    let ensemble = Ensemble::new(vec![Box::new(Backwards(tokenizer.vocab_size()))]).unwrap();
    let translator = translator(Box::new(ensemble), tokenizer);
    let found = translator
        .translate(&["€ and ☃"], &translator.options())
        .unwrap();
    assert!(
        found[0].text.contains('€') && found[0].text.contains('☃'),
        "{}",
        found[0].text
    );
}

#[test]
fn an_unknown_token_copies_the_most_attended_word_of_a_known_source() {
    let tokenizer = tokenizer(false);
    let translator = translator(
        Box::new(Backwards(tokenizer.vocab_size())),
        tokenizer.clone(),
    );
    let request = TextRequest::from(Request::new(tokenizer.encode("the dog sees")));
    let tokens = [vec![3; request.search.source.len()], vec![2]].concat();
    let mut found = vec![vec![Hypothesis {
        tokens,
        ..Hypothesis::default()
    }]];
    translator.copy_unknown(&[request], &mut found);
    let copies = &found[0][0].copies;
    assert_eq!(
        (copies.first().unwrap(), copies.last().unwrap()),
        (&"sees".into(), &"the".into())
    );
}

/// Models that say anything, with unknown tokens in it, over a tokeniser that knows the digits 7
/// and 9 and a few letters of ASCII.
#[test]
fn unknown_numbers_and_symbols_stay() {
    let tokenizer = tokenizer(false);
    let sentences = [
        ("it costs 7 €", vec!["7", "€"]),
        ("it costs 12,50 € and 3 £", vec!["12,50", "€", "3", "£"]),
        ("the dog sees ☃ and 231 houses", vec!["☃", "231"]),
        ("the house is small 😀", vec!["😀"]),
        ("a dog 🍎🍎 and 99 houses", vec!["🍎", "🍎", "99"]),
        ("§ 5 and 45 % and 14:30", vec!["§", "5", "45", "14:30"]),
    ];
    for (seed, (source, parts)) in
        (0..12).flat_map(|seed| sentences.clone().map(|case| (seed, case)))
    {
        let model = TableModel::new(tokenizer.vocab_size(), seed);
        let translator = translator(Box::new(model), tokenizer.clone());
        let mut options = translator.options();
        // No bytes, and no digits: a model that invents numbers keeps none.
        let tokens =
            (0..tokenizer.vocab_size() as u32).map(|id| (id, tokenizer.token(id).unwrap()));
        let is_odd = |token: &str| token.starts_with("<0x") || token.contains(char::is_numeric);
        options.search = SearchSettings {
            suppress: tokens
                .filter(|(_, token)| is_odd(token))
                .map(|(id, _)| id)
                .collect(),
            max_length: Some(12),
            ..SearchSettings::beam(2, 0.6)
        };
        options.protections.keep_parts = true;
        let text = &translator.translate(&[source], &options).unwrap()[0].text;
        for part in &parts {
            let count = |text: &str| text.matches(part).count();
            assert_eq!(count(text), count(source), "{seed}: {source} -> {text}");
        }
    }
}

/// Models that say anything, with `{a}` and `%d` in it, which their sources lack.
#[test]
fn a_translation_invents_no_placeholder() {
    let settings = TokenizerSettings {
        vocab_size: 300,
        ..TokenizerSettings::default()
    };
    let lines = [
        "a {a} and %d of {b} in %s",
        "the dog sees a house and %d houses of {a} {b}",
    ];
    let tokenizer = Tokenizer::train(lines, &settings).unwrap();
    let pieces = (0..tokenizer.vocab_size() as u32).map(|id| (id, tokenizer.token(id).unwrap()));
    let is_odd = |token: &str| token.starts_with("<0x") || token.contains(char::is_numeric);
    let suppress = pieces
        .filter(|(_, token)| is_odd(token))
        .map(|(id, _)| id)
        .collect();
    let search = SearchSettings {
        suppress,
        max_length: Some(12),
        ..SearchSettings::beam(2, 0.6)
    };
    let mut changed = 0;
    for seed in 0..300 {
        let model = TableModel::new(tokenizer.vocab_size(), seed);
        let translator = translator(Box::new(model), tokenizer.clone());
        for source in ["the dog sees a house", "%d of {a}", "a {b} and %s"] {
            let [first, found] = [false, true].map(|keep_parts| {
                let mut options = TranslateOptions {
                    search: search.clone(),
                    ..translator.options()
                };
                options.protections.keep_parts = keep_parts;
                translator
                    .translate(&[source], &options)
                    .unwrap()
                    .remove(0)
                    .text
            });
            let has =
                |text: &str| ["{a}", "{b}", "%d", "%s"].map(|mark| text.matches(mark).count());
            let is_more = |text: &str| has(text).iter().zip(has(source)).any(|(a, b)| *a > b);
            changed += usize::from(is_more(&first));
            assert!(!is_more(&found), "{seed}: {source} -> {first} -> {found}");
        }
    }
    assert!(changed > 0, "{changed}");
}

/// Tokens that spell the same texts in several ways, and a model that likes all of them.
#[test]
fn an_n_best_list_has_no_text_twice() {
    let tokenizer = tokenizer(true);
    let pieces = ["▁", "t", "h", "e", "▁th", "▁the", "he", "</s>"];
    let kept: Vec<u32> = pieces
        .iter()
        .filter_map(|piece| tokenizer.id(piece))
        .collect();
    let all = 0..tokenizer.vocab_size() as u32;
    let suppress: Vec<u32> = all.filter(|id| !kept.contains(id)).collect();
    let mut had_twice = 0;
    let mut full = 0;
    for seed in 0..40 {
        let model = TableModel::new(tokenizer.vocab_size(), seed);
        let translator = translator(Box::new(model), tokenizer.clone());
        let mut options = translator.options();
        options.search = SearchSettings {
            suppress: suppress.clone(),
            n_best: 6,
            max_length: Some(5),
            ..SearchSettings::beam(6, 0.6)
        };
        let requests = translator.requests(&["the house"], &options).unwrap();
        let raw = crate::search(
            &*translator.model,
            &[requests[0].search.clone()],
            &options.search,
            &options.batching,
        );
        let texts = |all: &[Hypothesis]| {
            all.iter()
                .map(|hypothesis| translator.text_of(hypothesis))
                .collect::<Vec<_>>()
        };
        let distinct =
            |texts: &[String]| texts.iter().collect::<std::collections::HashSet<_>>().len();
        let raw = &raw.unwrap()[0];
        let found = &translator.translate_ids(requests, &options).unwrap()[0];
        let before = texts(raw);
        let after = texts(found);
        assert_eq!(before.len(), after.len());
        assert!(
            distinct(&after) >= distinct(&before),
            "{before:?} {after:?}"
        );
        assert_eq!(before[0], after[0], "the best one stays");
        let scores: Vec<f64> = found.iter().map(|hypothesis| hypothesis.score).collect();
        assert!(
            found
                .iter()
                .any(|hypothesis| hypothesis.finish == crate::FinishReason::Limit)
                || scores.is_sorted_by(|a, b| a >= b)
        );
        had_twice += usize::from(distinct(&before) < before.len());
        full += usize::from(distinct(&after) == after.len());
    }
    assert!(had_twice > 5 && full == 40, "{had_twice} {full}");
}
