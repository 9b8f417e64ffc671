//! Tokenisers, and the lines of a corpus.

use std::io::Cursor;
use std::path::Path;

use burnformer_data::corpus::MAX_LINE_BYTES;
use burnformer_data::{LineReader, Tokenizer, TokenizerSettings, Utf8Policy, has_unlike_numbers};

use crate::{Door, halves, within};

const TEXTS: [&str; 4] = [
    "",
    "eins zwei",
    "\0\u{1b} ﷽ 😀 </s> <0x0A>",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
];

/// The text of a small tokeniser.
const TRAINING: [&str; 2] = [
    "aaaaaaaaaaaaaaaa aaaa aa abababab ab abc a b c",
    "one house 12 houses, the house of {a} & <b>x</b> é ß",
];

/// A SentencePiece model of ten pieces.
const MODEL: &[u8] = include_bytes!("../../../crates/data/tests/fixtures/ten.spm");

/// The largest amount of memory that a tokeniser of a few kilobytes takes.
const MEMORY: usize = 200 << 20;

pub fn doors() -> Vec<Door> {
    let trained = trained();
    vec![
        Door::new("tokenizer_json", enter_json),
        Door::new("tokenizer_vocabulary", enter_vocabulary)
            .with_seed("crates/data/tests/fixtures/ten.json"),
        Door::of_text("tokenizer_text", move |text| use_tokenizer(&trained, text)),
        Door::of_text("tokenizer_training", train),
        Door::new("corpus", enter_corpus),
        Door::of_text("corpus_numbers", |text| {
            let (source, target) = halves(text);
            has_unlike_numbers(source, target);
        }),
    ]
}

fn settings() -> TokenizerSettings {
    TokenizerSettings {
        allow_smaller: true,
        ..TokenizerSettings::bpe(300)
    }
}

fn trained() -> Tokenizer {
    Tokenizer::train(TRAINING, &settings()).expect("there is text")
}

fn enter_json(bytes: &[u8]) {
    let read = || Tokenizer::from_bytes(Path::new("tokenizer.json"), bytes);
    let Ok(tokenizer) = within(MEMORY, read) else {
        return;
    };
    assert!(tokenizer.vocab_size() <= 2 * bytes.len());
    for text in TEXTS {
        use_tokenizer(&tokenizer, text);
    }
    tokenizer.decode(&[0, 5, 299, u32::MAX]);
}

fn enter_vocabulary(bytes: &[u8]) {
    let [model, vocabulary] = ["source.spm", "vocab.json"].map(Path::new);
    let read = || {
        let vocabulary = (vocabulary, bytes.to_vec());
        Tokenizer::from_sentencepiece(model, MODEL.to_vec(), Some(vocabulary))
    };
    let Ok(tokenizer) = within(64 * bytes.len() + (1 << 20), read) else {
        return;
    };
    assert!(tokenizer.vocab_size() <= 2 * bytes.len());
    for text in TEXTS {
        use_tokenizer(&tokenizer, text);
    }
    assert_eq!(tokenizer.to_bytes(), [MODEL, bytes].concat());
}

fn use_tokenizer(tokenizer: &Tokenizer, text: &str) {
    let ids = within(MEMORY, || tokenizer.encode(text));
    let size = tokenizer.vocab_size();
    assert!(ids.iter().all(|&id| (id as usize) < size), "{ids:?}");
    within(MEMORY, || tokenizer.decode(&ids));
    tokenizer.decode_copying(&ids, &["x".into(), "y".into()]);
    tokenizer.encode_untagged(text);
    tokenizer.unknown_texts(text);
    assert_eq!(tokenizer.words_of(&ids).len(), ids.len());
}

fn train(text: &str) {
    let trained = within(MEMORY, || Tokenizer::train(text.split('\n'), &settings()));
    if let Ok(tokenizer) = trained {
        use_tokenizer(&tokenizer, text);
    }
}

/// Every line has a number, no line is longer than the limit, and reading ends.
fn enter_corpus(bytes: &[u8]) {
    for policy in [Utf8Policy::Error, Utf8Policy::Replace, Utf8Policy::Skip] {
        within(300 << 20, || read_lines(bytes, policy));
    }
}

fn read_lines(bytes: &[u8], policy: Utf8Policy) {
    let reader = LineReader::from_reader("text", Cursor::new(bytes.to_vec()), policy);
    let Ok(reader) = reader else { return };
    let mut last = 0;
    for line in reader.cutting_long_lines() {
        let Ok(line) = line else { return };
        last += 1;
        assert_eq!(line.number, last);
        assert!(line.text.len() <= 3 * MAX_LINE_BYTES && !line.text.contains('\n'));
    }
}
