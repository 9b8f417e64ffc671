//! Model directories whose tokenisers are SentencePiece models: `source.spm`, `target.spm` and
//! `vocab.json`.

use std::fs;
use std::path::Path;

use burn::tensor::Device;
use burnformer_core::{EmbeddingSharing, TransformerConfig, model_dir};
use burnformer_data::{Tokenizer, Tokenizers};
use burnformer_infer::{
    InferError, SearchSettings, Translator, TranslatorError, load_tokenizers, save_text_files,
};

/// Ten pieces; the vocabularies have ids for most of them, `</s>` 0, `<unk>` 1 and `<pad>` last
/// (see the data crate).
const MODEL: &[u8] = include_bytes!("../../../data/tests/fixtures/ten.spm");
const VOCABULARY: &str = include_str!("../../../data/tests/fixtures/ten.json");

fn tokenizer(vocabulary: &str) -> Tokenizer {
    let vocabulary = (Path::new("vocab.json"), vocabulary.as_bytes().to_vec());
    Tokenizer::from_sentencepiece(Path::new("x.spm"), MODEL.to_vec(), Some(vocabulary)).unwrap()
}

/// A decoder that starts from padding, as Marian models do.
fn config() -> TransformerConfig {
    let tiny = TransformerConfig {
        d_ff: 32,
        ..TransformerConfig::tiny(11).with_width(16, 2)
    };
    TransformerConfig {
        sharing: EmbeddingSharing::All,
        pad: 10,
        bos: 10,
        eos: 0,
        ..tiny
    }
}

fn saved(tokenizers: &Tokenizers, config: &TransformerConfig) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let model = config.init(1, &Device::default()).unwrap();
    model_dir::save(dir.path(), config, &model).unwrap();
    let settings = SearchSettings {
        max_length: Some(8),
        ..SearchSettings::beam(2, 1.0)
    };
    save_text_files(dir.path(), tokenizers, &settings.into()).unwrap();
    model_dir::seal(dir.path()).unwrap();
    dir
}

fn names(dir: &tempfile::TempDir) -> Vec<String> {
    let entries = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = entries.map(|name| name.into_string().unwrap()).collect();
    names.retain(|name| name.ends_with(".spm") || name.contains("vocab") || name.contains("token"));
    names.sort();
    names
}

#[test]
fn a_directory_with_a_model_for_each_side_and_one_vocabulary_translates() {
    let both = Tokenizers::separate(tokenizer(VOCABULARY), tokenizer(VOCABULARY));
    let dir = saved(&both, &config());
    assert_eq!(names(&dir), ["source.spm", "target.spm", "vocab.json"]);
    let translator = Translator::load(&dir, &Device::default()).unwrap();
    assert_eq!(translator.tokenizers().source.hash(), both.source.hash());
    let found = translator
        .translate(&["the house", "small houses"], &translator.options())
        .unwrap();
    for translation in found {
        assert!(translation.tokens.len() <= 8 && !translation.tokens.contains(&10));
        assert_eq!(translation.text, both.target.decode(&translation.tokens));
    }
}

#[test]
fn each_side_may_have_a_vocabulary_of_its_own() {
    let other = VOCABULARY.replace("▁maison", "▁chat");
    let both = Tokenizers::separate(tokenizer(VOCABULARY), tokenizer(&other));
    let dir = saved(
        &both,
        &TransformerConfig {
            sharing: EmbeddingSharing::None,
            ..config()
        },
    );
    assert_eq!(
        names(&dir),
        [
            "source.spm",
            "target.spm",
            "target_vocab.json",
            "vocab.json"
        ]
    );
    let loaded = load_tokenizers(dir.path()).unwrap();
    assert_eq!(loaded.target.token(8).as_deref(), Some("▁chat"));
    assert_eq!(loaded.source.token(8).as_deref(), Some("▁maison"));
    assert!(!loaded.is_joint());
}

#[test]
fn one_model_serves_both_sides() {
    let dir = saved(&Tokenizers::joint(tokenizer(VOCABULARY)), &config());
    assert_eq!(names(&dir), ["source.spm", "vocab.json"]);
    assert!(load_tokenizers(dir.path()).unwrap().is_joint());
}

#[test]
fn special_ids_of_model_and_vocabulary_must_be_equal() {
    let both = Tokenizers::joint(tokenizer(VOCABULARY));
    let dir = saved(&both, &TransformerConfig { eos: 2, ..config() });
    let error = Translator::load(&dir, &Device::default()).err().unwrap();
    assert!(
        matches!(
            error,
            InferError::Translator(TranslatorError::SpecialId {
                token: "</s>",
                model: 2,
                tokenizer: 0
            })
        ),
        "{error}"
    );
}

#[test]
fn a_changed_or_damaged_model_is_refused() {
    let dir = saved(&Tokenizers::joint(tokenizer(VOCABULARY)), &config());
    fs::write(dir.path().join("source.spm"), &MODEL[1..]).unwrap();
    let error = load_tokenizers(dir.path()).unwrap_err();
    assert!(matches!(error, InferError::ModelDir(_)), "{error}");
    model_dir::seal(dir.path()).unwrap();
    let error = load_tokenizers(dir.path()).unwrap_err();
    assert!(matches!(error, InferError::Tokenizer(_)), "{error}");
    assert!(error.to_string().contains("source.spm"), "{error}");
}
