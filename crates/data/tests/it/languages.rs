//! Tokens that name languages: in a tokeniser, in a text, and at the beginning of tokenised pairs.

use std::fs;

use burnformer_data::tokenizer::TokenizerTrainer;
use burnformer_data::{
    CorpusPaths, DataError, FileKeys, TokenizedCorpus, Tokenizer, TokenizerError,
    TokenizerSettings, TokenizerTraining, Utf8Policy, train_tokenizers,
};

fn settings(vocab_size: usize) -> TokenizerSettings {
    TokenizerSettings {
        allow_smaller: true,
        ..TokenizerSettings::bpe(vocab_size)
    }
}

fn trained(tokens: &[&str]) -> Tokenizer {
    let tokens = tokens.iter().map(ToString::to_string).collect();
    let trainer = TokenizerTrainer::new(settings(320)).unwrap();
    let mut trainer = trainer.with_special_tokens(tokens).unwrap();
    for number in 0..200 {
        // A text full of tags teaches no tag.
        trainer.feed(&format!(">>fr<< the house number {number} __fr__"));
    }
    trainer.train().unwrap()
}

/// The tokeniser after a way through its file.
fn loaded(tokenizer: &Tokenizer) -> Tokenizer {
    Tokenizer::from_bytes("tokenizer.json".as_ref(), &tokenizer.to_bytes()).unwrap()
}

#[test]
fn language_tokens_have_the_last_ids_and_are_known_by_their_codes() {
    let plain = trained(&[]);
    let tagged = loaded(&trained(&[">>fr<<", ">>pt-BR<<", "__de__"]));
    assert_eq!(tagged.target_tags(), ["fr", "pt-BR"]);
    assert_eq!(tagged.language_codes(), ["de"]);
    let last = tagged.vocab_size() as u32;
    assert_eq!(tagged.target_tag("pt-BR"), Some(last - 2));
    assert_eq!(tagged.language_token("de"), Some(last - 1));
    assert_eq!(tagged.token(last - 1).as_deref(), Some("__de__"));
    assert_eq!(
        (tagged.target_tag("de"), tagged.language_token("s")),
        (None, None)
    );
    assert!(plain.target_tags().is_empty() && plain.language_codes().is_empty());
}

#[test]
fn a_text_that_looks_like_a_language_token_stays_text() {
    let plain = trained(&[]);
    let tagged = loaded(&trained(&[">>fr<<", "__fr__"]));
    let tags = [">>fr<<", "__fr__"].map(|token| tagged.id(token).unwrap());
    for text in [
        ">>fr<<",
        ">>fr<< the house",
        "the >>fr<<house __fr__",
        "__fr__ x",
    ] {
        let ids = tagged.encode(text);
        assert!(!ids.iter().any(|id| tags.contains(id)), "{text}: {ids:?}");
        assert_eq!(tagged.decode(&ids), text);
        assert_eq!(tagged.encode_untagged(text), ids);
        // More than a thousand texts are encoded word by word.
        let many = vec![text; 1100];
        assert!(tagged.encode_batch(&many).iter().all(|found| *found == ids));
    }
    let with_tags = [&tags[..], &tagged.encode("the house"), &tags[..]].concat();
    assert_eq!(tagged.decode(&with_tags), "the house");
    assert_eq!(plain.encode("the house"), tagged.encode("the house"));
}

#[test]
fn a_vocabulary_without_room_for_its_languages_is_refused() {
    let tokens = (0..70).map(|number| format!(">>q{number}<<")).collect();
    let trainer = TokenizerTrainer::new(settings(300)).unwrap();
    let Err(DataError::Tokenizer(error)) = trainer.with_special_tokens(tokens) else {
        panic!("no error");
    };
    let needed = 4 + 256 + 70 + 1;
    assert!(
        matches!(error, TokenizerError::VocabularyTooSmall { asked: 300, needed: found } if found == needed),
        "{error}"
    );
}

#[test]
fn a_tokeniser_learns_from_all_texts_and_is_found_again() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = |name: &str, words: &str| {
        let path = folder.path().join(name);
        let lines: String = (0..100)
            .map(|i| format!("{words} {i}\t{i} {words}\n"))
            .collect();
        fs::write(&path, lines).unwrap();
        CorpusPaths::tsv(path)
    };
    let mut training = TokenizerTraining {
        corpora: vec![corpus("a.tsv", "house"), corpus("b.tsv", "Garten")],
        settings: settings(300),
        special: [vec![">>de<<".into()], vec![]],
        utf8: Utf8Policy::Error,
        cache_dir: folder.path().join("cache"),
    };
    let train = |training: &TokenizerTraining| {
        train_tokenizers(training, &mut FileKeys::default(), &mut |_| ()).unwrap()
    };
    let (first, reused) = train(&training);
    assert!(!reused && first.is_joint());
    for word in ["▁house", "▁Garten", ">>de<<"] {
        assert!(first.source.id(word).is_some(), "{word}");
    }
    let (again, reused) = train(&training);
    assert!(reused && again.source.hash() == first.source.hash());
    training.special[0].push(">>fr<<".into());
    assert!(!train(&training).1);
    training.settings.joint = false;
    let (sides, _) = train(&training);
    assert_eq!(sides.source.target_tags(), ["de", "fr"]);
    assert!(sides.target.target_tags().is_empty());
}

#[test]
fn a_reversed_corpus_exchanges_its_sides() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tsv");
    fs::write(&path, "Haus\thouse\nHund\tdog\n").unwrap();
    let corpus = CorpusPaths::tsv(&path);
    let read = |corpus: &CorpusPaths| {
        burnformer_data::corpus::read_pairs(corpus, Utf8Policy::Error).unwrap()
    };
    let there = corpus.clone().reversed();
    assert_eq!(read(&there)[1], ("dog".to_owned(), "Hund".to_owned()));
    assert_eq!(read(&there.reversed()), read(&corpus));
}

#[test]
fn the_tokens_of_languages_begin_every_pair_and_change_the_hash() {
    let pairs = [(vec![4, 5], vec![6]), (vec![7], vec![8, 9, 10])];
    let plain = TokenizedCorpus::from_pairs(&pairs);
    let corpus = TokenizedCorpus::from_pairs(&pairs).with_starts([vec![20], vec![21, 22]]);
    assert_eq!(
        corpus.pair(1).unwrap(),
        (vec![20, 7], vec![21, 22, 8, 9, 10])
    );
    assert_eq!(corpus.lengths(0..2).unwrap(), [[3, 3], [2, 5]]);
    assert_ne!(corpus.hash(), plain.hash());
    let none = TokenizedCorpus::from_pairs(&pairs).with_starts(Default::default());
    assert_eq!(none.hash(), plain.hash());
    let sides = TokenizedCorpus::from_pairs(&pairs).with_starts([vec![20, 21], vec![22]]);
    assert_ne!(sides.hash(), corpus.hash());
}
