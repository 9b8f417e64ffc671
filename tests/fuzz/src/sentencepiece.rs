//! Models of SentencePiece, and texts for them.

use burnformer_sentencepiece::SentencePiece;

use crate::{Door, repository, within};

/// The memory of the smallest model: tables of the first bytes and of the 256 bytes.
const FIXED: usize = 16 << 10;

const TEXTS: [&str; 5] = [
    "",
    "the house ▁ aab abcabc",
    "\0\u{1b} ﷽ 😀👩‍👩‍👧 </s> <0x0A> ﬁ e\u{301}",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "ＡＢＣ　中文 한국어 ไทย",
];

const TRAINED: [&str; 2] = ["unigram-rules.model", "bpe-unused.model"];

pub fn doors() -> Vec<Door> {
    let texts = TRAINED.map(|name| {
        let path = repository()
            .join("crates/sentencepiece/tests/fixtures")
            .join(name);
        let bytes = std::fs::read(path).expect("the model is in the repository");
        let model = SentencePiece::from_bytes(name, &bytes).expect("the model is valid");
        let kind = name.split('-').next().unwrap_or_default();
        Door::of_text(&format!("sentencepiece_{kind}"), move |text| {
            use_model(&model, bytes.len(), text);
        })
    });
    let model = Door::new("sentencepiece_model", enter_model)
        .with_seed("crates/data/tests/fixtures/ten.spm");
    [model].into_iter().chain(texts).collect()
}

/// Reads a model. One that is read encodes and decodes anything, in bounded memory.
fn enter_model(bytes: &[u8]) {
    let limit = 96 * bytes.len() + FIXED;
    let read = || SentencePiece::from_bytes("source.spm", bytes);
    let Ok(model) = within(limit, read) else {
        return;
    };
    within(24 * bytes.len() + FIXED, || model.clone());
    for text in TEXTS {
        use_model(&model, bytes.len(), text);
    }
    let all: Vec<u32> = (0..model.len() as u32).rev().collect();
    assert!(model.decode(&all).is_ok() && model.decode(&[u32::MAX]).is_err());
}

/// Encodes and decodes `text` with a model of `size` bytes.
fn use_model(model: &SentencePiece, size: usize, text: &str) {
    // The table of replacements can make a text longer, by at most itself for each byte.
    let most = text.len() * size + text.len() + 8;
    let normalized = within(4 * most, || model.normalize(text));
    let limit = 200 * normalized.len() + 4 * most + FIXED;
    let ids = within(limit, || model.encode(text));
    assert!(ids.iter().all(|&id| (id as usize) < model.len()), "{ids:?}");
    let pieces = model.encode_pieces(text);
    assert_eq!(pieces.is_empty(), normalized.is_empty());
    if model.id("<0x00>").is_none() {
        assert_eq!(pieces.concat(), normalized);
    }
    assert_eq!(pieces.len(), ids.len());
    assert!(model.decode(&ids).is_ok());
    model.decode_pieces(&pieces);
}
