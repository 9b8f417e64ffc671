//! Tokenisers that cannot be trained or loaded.

use burnformer_data::{DataError, TextError, Tokenizer, TokenizerError, TokenizerSettings};

use super::{file, folder, repeated_text, says};

#[test]
fn a_vocabulary_below_the_fixed_tokens_is_refused() {
    let error = Tokenizer::train(["a"], &TokenizerSettings::bpe(260)).unwrap_err();
    assert!(matches!(
        error,
        DataError::Tokenizer(TokenizerError::VocabularyTooSmall {
            asked: 260,
            needed: 261
        })
    ));
    says(&error, &["vocab_size = 260", "at least 261"]);
}

#[test]
fn a_vocabulary_beyond_the_text_names_the_largest_possible() {
    let error = Tokenizer::train(repeated_text(), &TokenizerSettings::bpe(9_000)).unwrap_err();
    let DataError::Tokenizer(TokenizerError::VocabularyTooLarge {
        asked: 9_000,
        possible,
    }) = error
    else {
        panic!("{error:?}")
    };
    says(
        &error,
        &[
            "vocab_size = 9000",
            &format!("at most {possible}"),
            "allow_smaller",
        ],
    );
    let exact = Tokenizer::train(repeated_text(), &TokenizerSettings::bpe(possible)).unwrap();
    assert_eq!(exact.vocab_size(), possible);
    let smaller = TokenizerSettings {
        allow_smaller: true,
        ..TokenizerSettings::bpe(9_000)
    };
    assert_eq!(
        Tokenizer::train(repeated_text(), &smaller)
            .unwrap()
            .vocab_size(),
        possible
    );
}

#[test]
fn blank_text_trains_no_tokenizer() {
    let error = Tokenizer::train(["", "  \t", "\u{0}"], &TokenizerSettings::bpe(300)).unwrap_err();
    assert!(matches!(
        error,
        DataError::Tokenizer(TokenizerError::NoTrainingText)
    ));
    says(&error, &["every line is blank"]);
}

#[test]
fn a_broken_tokenizer_json_is_named() {
    let folder = folder();
    let error = Tokenizer::load(&file(&folder, "tokenizer.json", "{\"model\": 3}")).unwrap_err();
    assert!(matches!(
        error,
        DataError::Tokenizer(TokenizerError::Invalid(..))
    ));
    says(&error, &["tokenizer.json", "not a usable"]);
    assert!(matches!(
        Tokenizer::load("none.json".as_ref()),
        Err(DataError::Text(TextError::NotFound(..)))
    ));
}

#[test]
fn special_tokens_at_other_ids_are_refused() {
    let folder = folder();
    let good = Tokenizer::train(repeated_text(), &TokenizerSettings::bpe(320)).unwrap();
    let text = String::from_utf8(good.to_bytes()).unwrap();
    let moved = text.replace("\"</s>\"", "\"<eos>\"");
    let error = Tokenizer::load(&file(&folder, "tokenizer.json", moved)).unwrap_err();
    assert!(matches!(
        error,
        DataError::Tokenizer(TokenizerError::SpecialToken {
            token: "</s>",
            expected: 2,
            found: None,
            ..
        })
    ));
    says(&error, &["</s> must have id 2", "found none"]);
}

#[test]
fn an_unwritable_path_is_named() {
    let folder = folder();
    let blocked = file(&folder, "file", "not a folder");
    let tokenizer = Tokenizer::train(repeated_text(), &TokenizerSettings::bpe(320)).unwrap();
    let error = tokenizer.save(&blocked.join("tokenizer.json")).unwrap_err();
    assert!(matches!(error, DataError::Unwritable(..)));
    says(&error, &["tokenizer.json", "cannot be written"]);
}
