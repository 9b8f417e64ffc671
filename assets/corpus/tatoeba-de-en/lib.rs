//! German–English sentence pairs of Tatoeba, as bytes: see `README.md` and `LICENSE`.

/// The texts, one sentence per line, compressed by zstd: their names without `.zst`, and their
/// bytes.
pub const FILES: [(&str, &[u8]); 6] = [
    ("train.de", include_bytes!("train.de.zst")),
    ("train.en", include_bytes!("train.en.zst")),
    ("valid.de", include_bytes!("valid.de.zst")),
    ("valid.en", include_bytes!("valid.en.zst")),
    ("test.de", include_bytes!("test.de.zst")),
    ("test.en", include_bytes!("test.en.zst")),
];
