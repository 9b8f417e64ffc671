//! SentencePiece models by the ids of a vocabulary, as Hugging Face's Marian models have them.
//!
//! `fixtures/ten.spm` has the ten pieces `<unk> <s> </s> ▁ ▁the ▁house s e ▁small i`;
//! `fixtures/ten.json` numbers `</s> <unk> ▁the ▁house s ▁ e ▁small ▁maison >>fra<< <pad>`.

use std::path::Path;

use burnformer_data::{
    CleaningSettings, CorpusPaths, DataError, FileKeys, PrepareSettings, Prepared, SpecialIds,
    Tokenizer, TokenizerError, TokenizerFiles, TokenizerSource, TokenizerSpecialIds, Tokenizers,
    prepare,
};

const MODEL: &[u8] = include_bytes!("../fixtures/ten.spm");
const VOCABULARY: &str = include_str!("../fixtures/ten.json");

fn with_vocabulary(vocabulary: &str) -> Result<Tokenizer, DataError> {
    let vocabulary = (Path::new("dir/vocab.json"), vocabulary.as_bytes().to_vec());
    Tokenizer::from_sentencepiece(
        Path::new("dir/source.spm"),
        MODEL.to_vec(),
        Some(vocabulary),
    )
}

fn tokenizer() -> Tokenizer {
    with_vocabulary(VOCABULARY).unwrap()
}

#[test]
fn a_piece_has_the_id_of_the_vocabulary_and_is_unknown_without_one() {
    let tokenizer = tokenizer();
    assert_eq!(tokenizer.vocab_size(), 11);
    // ▁the ▁house ▁ i s ▁small; the vocabulary lacks `i`.
    assert_eq!(tokenizer.encode("the house is  small"), [2, 3, 5, 1, 4, 7]);
    assert_eq!(tokenizer.decode(&[2, 3, 5, 1, 4, 7]), "the house s small");
    assert_eq!(tokenizer.token(3).as_deref(), Some("▁house"));
    assert_eq!(
        (tokenizer.id("▁maison"), tokenizer.id("i")),
        (Some(8), None)
    );
    assert_eq!((tokenizer.token(11), tokenizer.encode("")), (None, vec![]));
}

#[test]
fn the_text_without_a_token_is_copied() {
    let tokenizer = tokenizer();
    let text = "the house is  small";
    assert_eq!(tokenizer.unknown_texts(text), ["i"]);
    let ids = tokenizer.encode(text);
    assert_eq!(
        tokenizer.decode_copying(&ids, &["i".into()]),
        "the house is small"
    );
    assert_eq!(
        tokenizer.decode_copying(&[1, 2], &["7 €".into()]),
        "7 € the"
    );
}

#[test]
fn without_invisible_leaves_out_invisible_characters() {
    let text = "\u{200B}the hou\u{AD}se\u{200E}s";
    assert!(tokenizer().encode(text).contains(&1));
    assert_eq!(
        tokenizer().without_invisible().encode(text),
        tokenizer().encode("the houses")
    );
}

#[test]
fn special_ids_come_from_the_vocabulary_and_decode_to_nothing() {
    let tokenizer = tokenizer();
    let expected = TokenizerSpecialIds {
        pad: 10,
        bos: None,
        eos: 0,
        unk: 1,
    };
    assert_eq!(tokenizer.special_ids(), expected);
    assert_eq!(tokenizer.decode(&[10, 2, 1, 3, 0, 0, 99]), "the house");
    let blank = VOCABULARY.replace("<pad>", "<blank>");
    assert_eq!(with_vocabulary(&blank).unwrap().special_ids().pad, 10);
}

#[test]
fn a_piece_that_only_the_target_has_is_decoded() {
    assert_eq!(tokenizer().decode(&[2, 8]), "the maison");
}

#[test]
fn a_language_at_the_start_is_one_token_and_elsewhere_text() {
    let tokenizer = tokenizer();
    assert_eq!(tokenizer.encode(">>fra<< the"), [9, 2]);
    assert_eq!(tokenizer.encode(">>fra<<"), [9]);
    // A language that the vocabulary lacks is unknown text.
    assert_eq!(tokenizer.encode(">>deu<< the").first(), Some(&5));
    assert!(!tokenizer.encode("the >>fra<<").contains(&9));
}

#[test]
fn no_text_ends_its_own_sentence() {
    for text in ["</s>", "the</s>house", "<pad>", "<unk>", "<s>"] {
        let ids = tokenizer().encode(text);
        assert!(!ids.contains(&0) && !ids.contains(&10), "{text}: {ids:?}");
    }
}

#[test]
fn tokens_belong_to_words() {
    let tokenizer = tokenizer();
    assert_eq!(
        tokenizer.words_of(&tokenizer.encode("the houses es")),
        [0, 1, 1, 2, 2, 2]
    );
    assert_eq!(tokenizer.words_of(&[2, 3, 0]), [0, 1, 1]);
}

#[test]
fn the_files_reload_as_the_same_tokeniser() {
    let tokenizer = tokenizer();
    let TokenizerFiles::SentencePiece { model, vocab } = tokenizer.files() else {
        panic!()
    };
    assert_eq!((&model[..], &vocab[..]), (MODEL, VOCABULARY.as_bytes()));
    let other = with_vocabulary(&VOCABULARY.replace("maison", "chat")).unwrap();
    assert_ne!(other.hash(), tokenizer.hash());
    assert_eq!(
        with_vocabulary(VOCABULARY).unwrap().hash(),
        tokenizer.hash()
    );
}

#[test]
fn without_a_vocabulary_pieces_have_their_own_ids() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sentencepiece/tests/fixtures");
    // The special pieces of this model are called [P] [B] [E] [UNK].
    let tokenizer = Tokenizer::load(&fixtures.join("bpe-suffix.model")).unwrap();
    let expected = TokenizerSpecialIds {
        pad: 0,
        bos: None,
        eos: 2,
        unk: 3,
    };
    assert_eq!(tokenizer.special_ids(), expected);
    let model = burnformer_sentencepiece::SentencePiece::open(fixtures.join("bpe-suffix.model"));
    let text = "The house is small.";
    assert_eq!(tokenizer.encode(text), model.unwrap().encode(text));
    assert_eq!(
        tokenizer.decode(&tokenizer.encode(text)),
        "The house is small."
    );
    let TokenizerFiles::SentencePiece { model, vocab } = tokenizer.files() else {
        panic!()
    };
    let vocab = (Path::new("vocab.json"), vocab);
    let again = Tokenizer::from_sentencepiece(Path::new("source.spm"), model, Some(vocab)).unwrap();
    assert_eq!(again.hash(), tokenizer.hash());
}

#[test]
fn a_vocabulary_that_cannot_be_used_is_named() {
    for (vocabulary, needle) in [
        ("[1, 2]", "line 1"),
        (r#"{"</s>": -1}"#, "-1"),
        (r#"{"</s>": 0, "<unk>": 1}"#, "no token <pad>"),
        (r#"{"<pad>": 0, "<unk>": 1}"#, "no token </s>"),
        (r#"{"<pad>": 0, "</s>": 1}"#, "no token <unk>"),
        (
            r#"{"<pad>": 0, "</s>": 1, "<unk>": 1}"#,
            r#""</s>" and "<unk>" both have the id 1"#,
        ),
        (
            r#"{"<pad>": 0, "</s>": 1, "<unk>": 4000000000}"#,
            "the highest id is 4000000000",
        ),
    ] {
        let error = with_vocabulary(vocabulary).unwrap_err();
        assert!(
            matches!(
                error,
                DataError::Tokenizer(TokenizerError::VocabularyFile(..))
            ),
            "{error}"
        );
        let message = error.to_string();
        assert!(
            message.starts_with("dir/vocab.json: ") && message.contains(needle),
            "{message}"
        );
    }
}

#[test]
fn a_damaged_model_is_named() {
    let cut = MODEL[..MODEL.len() - 1].to_vec();
    let error = Tokenizer::from_sentencepiece(Path::new("dir/source.spm"), cut, None).unwrap_err();
    assert!(
        matches!(
            error,
            DataError::Tokenizer(TokenizerError::SentencePiece(_))
        ),
        "{error}"
    );
    assert!(error.to_string().starts_with("dir/source.spm: "), "{error}");
    // It has no padding, and nothing else says what that is.
    let alone = Tokenizer::from_sentencepiece(Path::new("dir/source.spm"), MODEL.to_vec(), None);
    assert!(alone.unwrap_err().to_string().contains("no token <pad>"));
}

/// A corpus prepared with these tokenisers.
fn prepared(tokenizers: Tokenizers) -> Result<Prepared, DataError> {
    let folder = tempfile::tempdir().unwrap();
    let corpus = folder.path().join("pairs.tsv");
    std::fs::write(&corpus, "the house\tthe house\n".repeat(9)).unwrap();
    let settings = PrepareSettings {
        corpus: CorpusPaths::tsv(&corpus),
        tokenizer: TokenizerSource::Given(tokenizers),
        cleaning: CleaningSettings::default(),
        cache_dir: folder.path().join("cache"),
    };
    prepare(&settings, &mut FileKeys::default(), &mut |_| {})
}

#[test]
fn training_takes_the_special_ids_of_the_vocabulary() {
    let prepared = prepared(Tokenizers::joint(tokenizer())).unwrap();
    assert_eq!(
        (prepared.corpus.len(), prepared.corpus.pair(0).unwrap().0),
        (9, vec![2, 3])
    );
    // Nothing in the vocabulary opens a target: padding does.
    let expected = SpecialIds {
        pad: 10,
        bos: 10,
        eos: 0,
    };
    assert_eq!(prepared.tokenizers.special_ids().unwrap(), expected);
    let ours = r#"{"<pad>": 0, "<s>": 1, "</s>": 2, "<unk>": 3, "▁the": 4, "▁house": 5}"#;
    let ours = Tokenizers::joint(with_vocabulary(ours).unwrap());
    assert_eq!(ours.special_ids().unwrap(), SpecialIds::OURS);
}

#[test]
fn sides_with_different_special_ids_are_refused() {
    let other = r#"{"</s>": 2, "<unk>": 1, "<pad>": 10, "▁the": 3, "s": 4, "e": 0}"#;
    let other = with_vocabulary(&other.replace('}', r#", "a": 5, "b": 6}"#)).unwrap();
    let error = prepared(Tokenizers::separate(tokenizer(), other))
        .err()
        .unwrap();
    assert!(
        matches!(
            &error,
            DataError::Tokenizer(TokenizerError::SpecialIdsDiffer {
                token: "</s>",
                source_id: 0,
                target_id: 2
            })
        ),
        "{error}"
    );
}
