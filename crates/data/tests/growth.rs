//! The work of a tokeniser, of its training, and of reading a corpus grows with the text:
//! `cargo xtask growth`.

#![cfg(unix)]

#[path = "../../../tests/growth/mod.rs"]
mod growth;

use std::io::Cursor;
use std::path::Path;

use burnformer_data::{LineReader, Tokenizer, TokenizerSettings, Utf8Policy, has_unlike_numbers};
use growth::{PIECES, grows_in_proportion, grows_with};

/// Pieces of tokenisers.
const MORE: &[&str] = &[
    "▁",
    "▁▁",
    "<0x41>",
    "</s>",
    "<unk>",
    "aaaa",
    "ab",
    ">>fra<<",
    "the house",
];

fn settings() -> TokenizerSettings {
    TokenizerSettings {
        allow_smaller: true,
        ..TokenizerSettings::bpe(400)
    }
}

fn trained() -> Tokenizer {
    let lines = [
        "aaaaaaaaaaaaaaaa aaaa aa abababab ab abc a b c",
        "one house 12 houses, the house of {a} & <b>x</b> é ß",
    ];
    Tokenizer::train(lines, &settings()).expect("there is text")
}

/// The tokeniser with a unigram model over its pieces, with or without bytes.
fn unigram(byte_fallback: bool) -> Tokenizer {
    let mut json: serde_json::Value =
        serde_json::from_slice(&trained().to_bytes()).expect("it is JSON");
    let vocab = json["model"]["vocab"].as_object().expect("it has pieces");
    let mut pieces: Vec<_> = vocab.iter().collect();
    pieces.sort_by_key(|(_, id)| id.as_u64());
    let scored: Vec<_> = pieces
        .iter()
        .map(|(piece, _)| (piece, -20.0 / piece.len() as f64))
        .collect();
    json["model"] = serde_json::json!({
        "type": "Unigram", "unk_id": 3, "vocab": scored, "byte_fallback": byte_fallback,
    });
    Tokenizer::from_bytes(Path::new("tokenizer.json"), json.to_string().as_bytes())
        .expect("the file is valid")
}

fn sentencepiece() -> Tokenizer {
    let vocabulary = include_bytes!("fixtures/ten.json").to_vec();
    let model = include_bytes!("fixtures/ten.spm").to_vec();
    let vocabulary = (Path::new("vocab.json"), vocabulary);
    Tokenizer::from_sentencepiece(Path::new("ten.spm"), model, Some(vocabulary))
        .expect("the model is valid")
}

fn check(name: &str, tokenizer: &Tokenizer) {
    let pieces = [PIECES, MORE].concat();
    grows_in_proportion(&format!("{name}, encoding"), &pieces, |text| {
        tokenizer.encode(text);
        tokenizer.encode_untagged(text);
        tokenizer.encode_batch(&[text]);
    });
    grows_in_proportion(&format!("{name}, decoding"), &pieces, |text| {
        let ids = tokenizer.encode(text);
        tokenizer.decode(&ids);
        tokenizer.decode_copying(&ids, &["x".into(), "y".into()]);
    });
    grows_in_proportion(&format!("{name}, unknown texts"), &pieces, |text| {
        tokenizer.unknown_texts(text);
    });
    grows_in_proportion(&format!("{name}, words"), &pieces, |text| {
        tokenizer.words_of(&tokenizer.encode(text));
    });
}

#[test]
#[ignore = "counts steps: cargo xtask growth"]
fn byte_pairs() {
    check("BPE", &trained());
}

#[test]
#[ignore = "counts steps: cargo xtask growth"]
fn unigrams() {
    check("unigram", &unigram(true));
}

#[test]
#[ignore = "counts steps: cargo xtask growth"]
fn unigrams_without_bytes() {
    check("unigram without bytes", &unigram(false));
}

#[test]
#[ignore = "counts steps: cargo xtask growth"]
fn models_of_sentencepiece() {
    check("SentencePiece", &sentencepiece());
}

#[test]
#[ignore = "counts steps: cargo xtask growth"]
fn corpora() {
    grows_in_proportion("lines of a corpus", PIECES, |text| {
        for policy in [Utf8Policy::Error, Utf8Policy::Replace] {
            let bytes = Cursor::new(text.as_bytes().to_vec());
            let Ok(reader) = LineReader::from_reader("text", bytes, policy) else {
                continue;
            };
            reader.cutting_long_lines().count();
        }
    });
    grows_in_proportion("numbers of a pair", PIECES, |text| {
        let middle = text.floor_char_boundary(text.len() / 3);
        has_unlike_numbers(text, &format!("{} {}", &text[middle..], &text[..middle]));
    });
}

#[test]
#[ignore = "counts steps: cargo xtask growth"]
fn training() {
    grows_in_proportion("training of a tokeniser", PIECES, |text| {
        let _ = Tokenizer::train(text.split('\n'), &settings());
    });
    for (name, space) in [("words", " "), ("one word", "")] {
        let text = |bytes: usize| {
            let mut state = 1_u64;
            let mut text = String::new();
            while text.len() < bytes {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                text.push((b'a' + (state >> 60) as u8) as char);
                if state >> 40 & 7 == 0 {
                    text += space;
                }
            }
            text
        };
        grows_with(&format!("training on {name}"), 256_000, text, |text| {
            Tokenizer::train([text], &settings()).expect("there is text");
        });
        // Vocabulary and text grow together.
        grows_with(
            &format!("training of a vocabulary on {name}"),
            256_000,
            text,
            |text| {
                let settings = TokenizerSettings {
                    allow_smaller: true,
                    ..TokenizerSettings::bpe(300 + text.len() / 64)
                };
                Tokenizer::train([text], &settings).expect("there is text");
            },
        );
    }
}
