//! Models made by hand, field by field of `sentencepiece_model.proto`.
#![allow(dead_code, reason = "each test uses its share")]

pub const NORMAL: u64 = 1;
pub const UNKNOWN: u64 = 2;
pub const CONTROL: u64 = 3;
pub const USER_DEFINED: u64 = 4;
pub const UNUSED: u64 = 5;
pub const BYTE: u64 = 6;

pub const UNIGRAM: u64 = 1;
pub const BPE: u64 = 2;
pub const WORD: u64 = 3;
pub const CHAR: u64 = 4;

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value > 127 {
        bytes.push(value as u8 & 127 | 128);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// A field that holds a number.
pub fn number(field: u64, value: u64) -> Vec<u8> {
    [varint(field << 3), varint(value)].concat()
}

/// A field that holds text, bytes or a message.
pub fn bytes(field: u64, content: &[u8]) -> Vec<u8> {
    [
        varint(field << 3 | 2),
        varint(content.len() as u64),
        content.to_vec(),
    ]
    .concat()
}

/// One piece of the vocabulary.
pub fn piece(text: &[u8], score: f32, kind: u64) -> Vec<u8> {
    let score = [varint(2 << 3 | 5), score.to_le_bytes().to_vec()].concat();
    bytes(1, &[bytes(1, text), score, number(3, kind)].concat())
}

/// The whole: pieces, fields of the trainer's settings, fields of the normaliser's.
pub fn model(pieces: &[(&str, f32, u64)], trainer: &[Vec<u8>], normalizer: &[Vec<u8>]) -> Vec<u8> {
    let pieces = pieces
        .iter()
        .map(|&(text, score, kind)| piece(text.as_bytes(), score, kind));
    let specs = [bytes(2, &trainer.concat()), bytes(3, &normalizer.concat())];
    pieces.chain(specs).collect::<Vec<_>>().concat()
}

/// The field with the model's type.
pub fn model_type(kind: u64) -> Vec<u8> {
    number(3, kind)
}

/// The field that says that text without a piece is spelt in bytes.
pub fn byte_fallback() -> Vec<u8> {
    number(35, 1)
}

/// A table that replaces the byte `from` by `text`.
pub fn charsmap(from: u8, text: &str) -> Vec<u8> {
    let mut units = vec![0u32; 512];
    let label = u32::from(from);
    // The root's children are at 256; the leaf of the only one is at 384.
    units[0] = 256 << 10;
    units[256 | from as usize] = label | 1 << 8 | ((256 | label) ^ 384) << 10;
    units[384] = 1 << 31;
    let units = units.iter().flat_map(|unit| unit.to_le_bytes());
    let size = 2048u32.to_le_bytes().into_iter();
    size.chain(units).chain(text.bytes()).chain([0]).collect()
}
