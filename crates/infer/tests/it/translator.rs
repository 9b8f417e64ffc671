//! Text in, text out, from a model directory on disk.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use burn::tensor::Device;
use burnformer_core::{Positions, TransformerConfig, model_dir};
use burnformer_data::corpus::Side;
use burnformer_data::{Tokenizer, TokenizerSettings, Tokenizers};
use burnformer_infer::{
    EnsembleError, FinishReason, InferError, LongSources, Request, SearchSettings, SentenceError,
    SettingsError, TranslateOptions, Translator, TranslatorError, perplexity, save_text_files,
};

use crate::common::translate_with_prefixes;
use crate::toy::Toy;

const LINES: [&str; 5] = [
    "the house is small",
    "",
    "a small dog",
    "the dog sees the house",
    "   ",
];

fn tokenizer(vocab_size: usize) -> Tokenizer {
    let settings = TokenizerSettings {
        vocab_size,
        ..TokenizerSettings::default()
    };
    Tokenizer::train(LINES, &settings).unwrap()
}

fn config(source: usize, target: usize) -> TransformerConfig {
    let sharing = if source == target {
        burnformer_core::EmbeddingSharing::All
    } else {
        burnformer_core::EmbeddingSharing::None
    };
    let tiny = TransformerConfig {
        d_ff: 32,
        ..TransformerConfig::tiny(target).with_width(16, 2)
    };
    TransformerConfig {
        source_vocab: source,
        sharing,
        ..tiny
    }
}

fn settings() -> SearchSettings {
    SearchSettings {
        max_length: Some(8),
        ..SearchSettings::beam(3, 1.0)
    }
}

fn save(dir: &Path, config: &TransformerConfig, tokenizers: &Tokenizers, seed: u64) {
    let model = config.init(seed, &Device::default()).unwrap();
    model_dir::save(dir, config, &model).unwrap();
    save_text_files(dir, tokenizers, &settings().into()).unwrap();
    model_dir::seal(dir).unwrap();
}

pub(crate) fn joint(seed: u64) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let tokenizer = tokenizer(280);
    save(
        dir.path(),
        &config(280, 280),
        &Tokenizers::joint(tokenizer),
        seed,
    );
    dir
}

pub(crate) fn load(dir: &tempfile::TempDir) -> Translator {
    Translator::load(dir, &Device::default()).unwrap()
}

fn refusal(dir: &Path) -> InferError {
    Translator::load(dir, &Device::default())
        .err()
        .expect("refused")
}

/// Threads can share a translator: otherwise this does not compile.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Translator>();
};

#[test]
fn every_line_has_its_translation_and_blank_lines_have_blank_ones() {
    let translator = load(&joint(1));
    let options = translator.options();
    assert_eq!(options.search, settings());
    let translations = translator.translate(&LINES, &options).unwrap();
    assert_eq!(translations.len(), LINES.len());
    for (line, translation) in LINES.iter().zip(&translations) {
        assert!(!translation.text.contains('\n'));
        assert_eq!(translation.text, translation.n_best[0].text);
        assert_eq!(
            (translation.score, &translation.tokens),
            (
                translation.n_best[0].hypothesis.score,
                &translation.n_best[0].hypothesis.tokens
            )
        );
        if line.trim().is_empty() {
            assert_eq!(
                (translation.text.as_str(), translation.finish),
                ("", FinishReason::EndOfSentence)
            );
            assert!(translation.tokens.is_empty());
        } else {
            let closed = translation.tokens.last() == Some(&2);
            assert_eq!(translation.finish == FinishReason::EndOfSentence, closed);
            assert!((1..=8).contains(&translation.tokens.len()));
        }
    }
}

#[test]
fn ids_are_translated_as_their_text_is() {
    let translator = load(&joint(1));
    let options = translator.options();
    let open = translator.tokenizers().source.encode(LINES[0]);
    let closed = [&open[..], &[2]].concat();
    let text = &translator.translate(&LINES[..1], &options).unwrap()[0];
    for ids in [open, closed] {
        let hypotheses = translator
            .translate_ids(vec![Request::new(ids).into()], &options)
            .unwrap();
        assert_eq!(hypotheses[0][0], text.n_best[0].hypothesis);
    }
}

#[test]
fn the_score_of_a_translation_equals_its_search_score() {
    let translator = load(&joint(1));
    // With nothing else allowed, each translation is its prefix and the end.
    let only_the_end = SearchSettings {
        suppress: (3..280).collect(),
        max_length: None,
        ..settings()
    };
    let options = TranslateOptions {
        search: only_the_end,
        ..translator.options()
    };
    let sources = [LINES[0], LINES[2], LINES[3]];
    let targets = [LINES[3], LINES[0], LINES[2]];
    let found = translate_with_prefixes(&translator, &sources, &targets, &options);
    let scores = translator.score(&sources, &targets, &options).unwrap();
    for ((forced, found), target) in scores.iter().zip(&found).zip(targets) {
        assert_eq!(
            (found.text.as_str(), found.finish),
            (target, FinishReason::EndOfSentence)
        );
        assert_eq!(forced.log_probs.len(), found.tokens.len());
        assert!((forced.score - found.score).abs() < 1e-5);
        assert!(forced.perplexity() > 1.0);
    }
    let total: f64 = scores.iter().map(|score| score.total).sum();
    let tokens: usize = found
        .iter()
        .map(|translation| translation.tokens.len())
        .sum();
    assert!((perplexity(&scores) - (-total / tokens as f64).exp()).abs() < 1e-9);
}

#[test]
fn translations_begin_with_their_prefixes() {
    let translator = load(&joint(1));
    let options = translator.options();
    let translations =
        translate_with_prefixes(&translator, &LINES[2..4], &["the house", ""], &options);
    assert!(
        translations[0].text.starts_with("the house"),
        "{}",
        translations[0].text
    );
}

/// Pieces that spell few texts in many ways: `the` is four sequences of them.
#[test]
fn an_n_best_list_has_each_text_once_and_is_full() {
    // Twice the last beam is more than a search may have.
    let sizes = [(3, 3), (5, 5), (8, 8), (5, 600)];
    for (seed, (n_best, beam_size)) in (1..9).flat_map(|seed| sizes.map(|size| (seed, size))) {
        let translator = Translator::load(Toy::with_seed(seed).path(), &Device::default()).unwrap();
        let tokenizer = &translator.tokenizers().target;
        let is_used = |id: &u32| {
            let token = tokenizer.token(*id).unwrap();
            *id < 3
                || token
                    .trim_start_matches('▁')
                    .chars()
                    .all(|c| "the".contains(c))
        };
        let suppress = (0..tokenizer.vocab_size() as u32)
            .filter(|id| !is_used(id))
            .collect();
        let search = SearchSettings {
            suppress,
            n_best,
            beam_size,
            max_length: Some(7),
            ..translator.options().search
        };
        let options = TranslateOptions {
            search,
            ..translator.options()
        };
        let best = TranslateOptions {
            search: SearchSettings {
                n_best: 1,
                ..options.search.clone()
            },
            ..options.clone()
        };
        let lists = translator.translate(&LINES[2..4], &options).unwrap();
        let alone = translator.translate(&LINES[2..4], &best).unwrap();
        for (list, alone) in lists.iter().zip(alone) {
            let texts: HashSet<&str> = list
                .n_best
                .iter()
                .map(|candidate| candidate.text.as_str())
                .collect();
            assert_eq!(texts.len(), list.n_best.len(), "{seed} {n_best}: {list:?}");
            assert_eq!(texts.len(), n_best, "{seed}: {texts:?}");
            assert_eq!(list.tokens, alone.tokens);
        }
    }
}

#[test]
fn sentences_before_the_first_error_are_translated() {
    let dir = tempfile::tempdir().unwrap();
    let learned = TransformerConfig {
        positions: Positions::Learned,
        max_positions: 20,
        ..config(280, 280)
    };
    save(dir.path(), &learned, &Tokenizers::joint(tokenizer(280)), 1);
    let translator = load(&dir);
    let long = "the dog sees the house ".repeat(9);
    let lines = [LINES[0], LINES[2], &long];
    let run = |options: &TranslateOptions| {
        let requests = translator.requests(&lines, options).unwrap();
        translator.translate_ids_until_error(requests, options, &|_| ())
    };
    let (found, error) = run(&translator.options());
    let error = error.unwrap();
    assert!(
        matches!(
            error,
            InferError::Sentence {
                sentence: 3,
                error: SentenceError::TooLong {
                    side: Side::Source,
                    limit: 20,
                    ..
                }
            }
        ),
        "{error}"
    );
    assert_eq!(error.offset(10).sentence(), Some(13));
    let texts: Vec<String> = found
        .iter()
        .map(|found| translator.text_of(&found[0]))
        .collect();
    let before = translator
        .translate(&[LINES[0], LINES[2]], &translator.options())
        .unwrap();
    assert!(
        texts
            .iter()
            .eq(before.iter().map(|translation| &translation.text)),
        "{texts:?}"
    );
    let truncate = TranslateOptions {
        long_sources: LongSources::Truncate,
        ..translator.options()
    };
    let (found, error) = run(&truncate);
    assert!(found.len() == 3 && error.is_none(), "{error:?}");
}

#[test]
fn a_truncated_source_is_the_tokens_that_fit() {
    let dir = tempfile::tempdir().unwrap();
    let learned = TransformerConfig {
        positions: Positions::Learned,
        max_positions: 12,
        ..config(280, 280)
    };
    save(dir.path(), &learned, &Tokenizers::joint(tokenizer(280)), 1);
    let translator = load(&dir);
    let options = TranslateOptions {
        long_sources: LongSources::Truncate,
        ..translator.options()
    };
    let translate = |ids: Vec<u32>| {
        translator
            .translate_ids(vec![Request::new(ids).into()], &options)
            .unwrap()
    };
    let fitting = translate(vec![262; 11]);
    assert_eq!(translate(vec![262; 40]), fitting);
    assert_eq!(translate([vec![262; 40], vec![2]].concat()), fitting);
    assert_eq!(translate([vec![262; 11], vec![2]].concat()), fitting);
}

#[test]
fn two_vocabularies_are_loaded_from_two_files() {
    let dir = tempfile::tempdir().unwrap();
    let tokenizers = Tokenizers::separate(tokenizer(275), tokenizer(280));
    save(dir.path(), &config(275, 280), &tokenizers, 1);
    assert!(dir.path().join("source_tokenizer.json").is_file());
    let translator = load(&dir);
    assert_eq!(translator.tokenizers().source.vocab_size(), 275);
    assert_eq!(
        translator
            .translate(&LINES, &translator.options())
            .unwrap()
            .len(),
        LINES.len()
    );
}

#[test]
fn an_ensemble_of_directories_translates_and_refuses_other_vocabularies() {
    let dirs = [joint(1), joint(2)];
    let translator = Translator::load_as(&dirs, &Device::default(), None).unwrap();
    assert_eq!(
        translator
            .translate(&LINES, &translator.options())
            .unwrap()
            .len(),
        LINES.len()
    );
    let stranger = tempfile::tempdir().unwrap();
    save(
        stranger.path(),
        &config(275, 275),
        &Tokenizers::joint(tokenizer(275)),
        1,
    );
    let error = Translator::load_as(&[dirs[0].path(), stranger.path()], &Device::default(), None);
    assert!(matches!(
        error.err(),
        Some(InferError::Ensemble(EnsembleError::Differs {
            member: 2,
            what: "tokeniser"
        }))
    ));
    let none: [&Path; 0] = [];
    let error = Translator::load_as(&none, &Device::default(), None);
    assert!(matches!(
        error.err(),
        Some(InferError::Ensemble(EnsembleError::Empty))
    ));
}

#[test]
fn a_directory_without_search_settings_has_the_papers() {
    let dir = joint(1);
    fs::remove_file(dir.path().join("generation.json")).unwrap();
    model_dir::seal(dir.path()).unwrap();
    assert_eq!(load(&dir).options().search, SearchSettings::default());
}

#[test]
fn unknown_search_settings_are_refused() {
    let dir = joint(1);
    fs::write(dir.path().join("generation.json"), r#"{"beem_size": 4}"#).unwrap();
    model_dir::seal(dir.path()).unwrap();
    let error = refusal(dir.path());
    assert!(matches!(
        error,
        InferError::Settings(SettingsError::File(..))
    ));
    assert!(error.to_string().contains("beem_size"), "{error}");
}

#[test]
fn a_directory_without_tokenisers_is_refused() {
    let dir = joint(1);
    fs::remove_file(dir.path().join("tokenizer.json")).unwrap();
    model_dir::seal(dir.path()).unwrap();
    assert!(matches!(
        refusal(dir.path()),
        InferError::Translator(TranslatorError::NoTokenizer(_))
    ));
}

#[test]
fn a_tokeniser_of_another_model_is_refused() {
    let dir = joint(1);
    tokenizer(275)
        .save(&dir.path().join("tokenizer.json"))
        .unwrap();
    assert!(
        matches!(refusal(dir.path()), InferError::ModelDir(_)),
        "the hash differs"
    );
    model_dir::seal(dir.path()).unwrap();
    let error = refusal(dir.path());
    assert!(matches!(
        error,
        InferError::Translator(TranslatorError::Vocabulary {
            side: "source",
            tokenizer: 275,
            model: 280
        })
    ));
}

#[test]
fn a_damaged_tokeniser_is_refused() {
    let dir = joint(1);
    fs::write(dir.path().join("tokenizer.json"), "{}").unwrap();
    model_dir::seal(dir.path()).unwrap();
    assert!(matches!(refusal(dir.path()), InferError::Tokenizer(_)));
}

#[test]
fn a_model_with_other_special_ids_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let swapped = TransformerConfig {
        bos: 2,
        eos: 1,
        ..config(280, 280)
    };
    save(dir.path(), &swapped, &Tokenizers::joint(tokenizer(280)), 1);
    let error = refusal(dir.path());
    assert!(matches!(
        error,
        InferError::Translator(TranslatorError::SpecialId {
            token: "<s>",
            model: 2,
            tokenizer: 1
        })
    ));
}
