//! The work of a SentencePiece model grows with the text, and that of reading it with its file:
//! `cargo xtask growth`.

#![cfg(unix)]

#[path = "it/common/mod.rs"]
mod common;
#[path = "../../../tests/growth/mod.rs"]
mod growth;

use burnformer_sentencepiece::SentencePiece;
use common::{BPE, CHAR, CONTROL, NORMAL, UNIGRAM, UNKNOWN, UNUSED, USER_DEFINED, WORD};
use growth::{PIECES, grows_in_proportion, grows_with};

/// Pieces of the models besides the usual ones.
const MORE: &[&str] = &[
    "ab",
    "abc",
    "aa",
    "aaaaaaaaaaaaaaaa",
    "\u{2581}",
    "<0x41>",
    "</s>",
];

fn read(bytes: &[u8]) -> SentencePiece {
    SentencePiece::from_bytes("growth.model", bytes).expect("the model is valid")
}

/// A model of each type, whose pieces contain each other.
fn made(kind: u64) -> SentencePiece {
    let mut texts: Vec<String> = (1..=64).map(|length| "a".repeat(length)).collect();
    texts.extend((1..=16).map(|length| "ab".repeat(length)));
    texts.extend(["\u{2581}", "b", "\u{2581}a", "é", "日"].map(String::from));
    let mut pieces = vec![("<unk>", 0.0, UNKNOWN), ("</s>", 0.0, CONTROL)];
    for (number, text) in texts.iter().enumerate() {
        let kind = if number % 9 == 8 { UNUSED } else { NORMAL };
        pieces.push((text, -(number as f32), kind));
    }
    pieces.push(("aba", 0.0, USER_DEFINED));
    let table = common::charsmap(b'c', "ababab");
    read(&common::model(
        &pieces,
        &[common::model_type(kind)],
        &[common::bytes(2, &table)],
    ))
}

fn use_model(model: &SentencePiece, text: &str) {
    model.normalize(text);
    let ids = model.encode(text);
    let pieces = model.encode_pieces(text);
    model.decode(&ids).expect("the ids are the model's");
    model.decode_pieces(&pieces);
}

#[test]
#[ignore = "counts steps: cargo xtask growth"]
fn models_made_by_hand() {
    let pieces = [PIECES, MORE].concat();
    for (name, kind) in [
        ("unigram", UNIGRAM),
        ("BPE", BPE),
        ("word", WORD),
        ("character", CHAR),
    ] {
        let model = made(kind);
        grows_in_proportion(&format!("a {name} model"), &pieces, |text| {
            use_model(&model, text)
        });
    }
}

#[test]
#[ignore = "counts steps: cargo xtask growth"]
fn trained_models() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let pieces = [PIECES, MORE].concat();
    for name in ["unigram-rules.model", "bpe-unused.model"] {
        let model = read(&std::fs::read(folder.join(name)).expect(name));
        grows_in_proportion(name, &pieces, |text| use_model(&model, text));
    }
}

/// Returns the text of the piece of a number.
type Piece = fn(usize) -> String;

#[test]
#[ignore = "counts steps: cargo xtask growth"]
fn files_of_models() {
    let texts: [(&str, Piece); 4] = [
        ("pieces of a model", |number| format!("x{number}")),
        ("pieces with the same end", |number| {
            format!("{number}xxxxxxxxxxxxxxxx")
        }),
        ("pieces of one letter", |number| {
            char::from_u32(0x4E00 + number as u32)
                .expect("a letter")
                .to_string()
        }),
        ("pieces with a long beginning", |number| {
            "a".repeat(400) + &number.to_string()
        }),
    ];
    for (name, text) in texts {
        for kind in [UNIGRAM, BPE] {
            // The file is made of the numbers in the text.
            let numbers = |bytes: usize| "1".repeat(bytes / 32);
            grows_with(name, 64_000, numbers, |numbers| {
                let texts: Vec<String> = (0..numbers.len()).map(text).collect();
                let pieces = texts.iter().map(|text| (text.as_str(), -1.0, NORMAL));
                let all: Vec<_> = [("<unk>", 0.0, UNKNOWN)]
                    .into_iter()
                    .chain(pieces)
                    .collect();
                read(&common::model(&all, &[common::model_type(kind)], &[]));
            });
        }
    }
}
