//! Glossaries over a model directory: whatever the model would say, its translations contain the
//! terms as whole words.

use std::sync::Arc;

use crate::common::translate_with_prefixes;
use crate::toy::Toy;
use burn::tensor::Device;
use burnformer_infer::{
    Glossary, InferError, Request, Sampling, SearchSettings, SentenceError, Term, TranslateOptions,
    Translator,
};
use proptest::prelude::*;

fn translator(seed: u64) -> Translator {
    Translator::load(Toy::with_seed(seed).path(), &Device::default()).unwrap()
}

fn options(translator: &Translator, pairs: &[(&str, &str)], max: usize) -> TranslateOptions {
    let glossary = Glossary::from_pairs(pairs.iter().copied()).unwrap();
    let search = SearchSettings {
        max_length: Some(max),
        ..translator.options().search
    };
    TranslateOptions {
        search,
        glossary: Some(Arc::new(glossary)),
        ..translator.options()
    }
}

/// Returns whether `text` has `term` with no letter or digit beside it.
fn has(text: &str, term: &str) -> bool {
    text.match_indices(term).any(|(at, _)| {
        let outer = [
            text[..at].chars().next_back(),
            text[at + term.len()..].chars().next(),
        ];
        let inner = [term.chars().next(), term.chars().next_back()];
        let word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        outer
            .into_iter()
            .zip(inner)
            .all(|(outer, inner)| !(word(outer) && word(inner)))
    })
}

#[test]
fn every_translation_has_the_terms_of_its_source() {
    let pairs = [
        ("house", "Haus|Häuser"),
        ("small", "kleine"),
        ("dog", "Hund (dt.)"),
        ("the dog", "der Hund"),
    ];
    let sources = [
        "the house is small",
        "a dog",
        "the dog sees the houses",
        "nothing of that",
    ];
    let expected: [&[&[&str]]; 4] = [
        &[&["Haus", "Häuser"], &["kleine"]],
        &[&["Hund (dt.)"]],
        &[&["der Hund"]],
        &[],
    ];
    for seed in 0..6 {
        let translator = translator(seed);
        for (beam, max) in [(1, 3), (1, 20), (4, 3), (4, 20)] {
            let mut options = options(&translator, &pairs, max);
            options.search = SearchSettings {
                beam_size: beam,
                n_best: beam,
                ..options.search
            };
            let found = translator.translate(&sources, &options).unwrap();
            for (translation, terms) in found.iter().zip(expected) {
                for alternative in &translation.n_best {
                    for any in terms {
                        let text = &alternative.text;
                        assert!(
                            any.iter().any(|term| has(text, term)),
                            "{seed} {any:?} {text:?}"
                        );
                    }
                }
            }
            options.glossary = None;
            let free = translator.translate(&sources, &options).unwrap();
            assert_eq!(
                free[3], found[3],
                "a sentence without terms is translated as ever"
            );
        }
    }
}

#[test]
fn a_term_may_stand_in_the_prefix() {
    let translator = translator(1);
    let options = options(&translator, &[("house", "Haus")], 12);
    let prefixes = ["Das Haus", "Das Haus|"];
    for translation in translate_with_prefixes(&translator, &["the house"; 2], &prefixes, &options)
    {
        assert!(has(&translation.text, "Haus"), "{}", translation.text);
        assert!(
            translation.text.starts_with("Das Haus"),
            "{}",
            translation.text
        );
    }
}

#[test]
fn an_ensemble_takes_glossaries() {
    let toys = [Toy::with_seed(1), Toy::with_seed(2)];
    let translator =
        Translator::load_as(&toys.each_ref().map(Toy::path), &Device::default(), None).unwrap();
    let options = options(&translator, &[("house", "Haus am See")], 10);
    let text = &translator.translate(&["the house"], &options).unwrap()[0].text;
    assert!(has(text, "Haus am See"), "{text}");
}

#[test]
fn each_line_has_its_own_terms_and_an_empty_one_has_none() {
    let translator = translator(3);
    let options = options(&translator, &[("house", "Haus")], 10);
    let found = translator
        .translate(&["the house", "", "a house"], &options)
        .unwrap();
    let texts: Vec<&str> = found.iter().map(|translation| &*translation.text).collect();
    assert!(
        has(texts[0], "Haus") && texts[1].is_empty() && has(texts[2], "Haus"),
        "{texts:?}"
    );
}

#[test]
fn impossible_requests_are_refused() {
    let translator = translator(1);
    let mut sampled = options(&translator, &[("house", "Haus")], 10);
    sampled.search.sampling = Some(Sampling::default());
    let error = translator
        .translate(&["a dog", "the house"], &sampled)
        .unwrap_err();
    assert!(
        matches!(
            error,
            InferError::Sentence {
                sentence: 2,
                error: SentenceError::Terms(_)
            }
        ),
        "{error}"
    );
    let glossary = Glossary::parse("t.tsv".as_ref(), b"dog\tHund\nhouse\tHa\x01us").unwrap();
    let error = translator.check_glossary(&glossary).unwrap_err();
    assert!(error.to_string().starts_with("t.tsv:2: "), "{error}");
    let good = Glossary::from_pairs([("house", "Haus|家|C++")]).unwrap();
    translator.check_glossary(&good).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn any_words_can_be_terms(
        terms in prop::collection::vec("[a-eäß€(][a-d猫 .)]{0,5}[a-c+]", 1..4),
        prefix in "[a-d (]{0,4}",
        max in 1usize..12,
        beam in 1usize..4,
    ) {
        let translator = translator(7);
        let terms: Vec<Term> = terms
            .iter()
            .map(|term| vec![term.split_whitespace().collect::<Vec<_>>().join(" ")])
            .map(|targets| Term { source: "house".into(), targets })
            .collect();
        let mut request = Request::new(translator.tokenizers().source.encode("the house"));
        request.prefix = translator.tokenizers().target.encode(&prefix);
        request.prefix.truncate(max);
        request.terms = translator.terms(&terms, &request.source).unwrap();
        let search = SearchSettings { max_length: Some(max), ..SearchSettings::beam(beam, 0.6) };
        let options = TranslateOptions { search, ..translator.options() };
        for alternative in &translator.translate_requests(vec![request.into()], &options).unwrap()[0].n_best {
            for term in terms.iter().flat_map(|term| &term.targets) {
                // The letters of 猫 are words of their own.
                let text = alternative.text.replace('猫', "·");
                prop_assert!(has(&text, &term.replace('猫', "·")), "{:?} in {:?}", term, alternative.text);
            }
        }
    }
}

#[test]
fn of_too_many_terms_the_longest_are_kept() {
    let translator = translator(1);
    let wanted: Vec<Term> = (0..70)
        .map(|number| Term {
            source: "x".repeat(1 + number),
            targets: vec!["Haus".into()],
        })
        .collect();
    let terms = translator.terms(&wanted, &[]).unwrap();
    assert_eq!((terms.phrases.len(), terms.left_out), (64, 6));
    let mut request = Request::new(translator.tokenizers().source.encode("the house"));
    request.terms = terms;
    let found = translator
        .translate_requests(vec![request.into()], &translator.options())
        .unwrap();
    assert!(has(&found[0].text, "Haus"), "{}", found[0].text);
}
