//! Hostile corpora, tokenisers and cached tokens: errors, never a panic, never memory by claim.

#[path = "../../../../tests/fuzz/mod.rs"]
mod fuzz;
mod parts;

use std::io::{Cursor, Write};
use std::path::Path;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use burnformer_data::corpus::MAX_LINE_BYTES;
use burnformer_data::{
    CleaningSettings, CorpusPaths, FileKeys, LineReader, ParallelReader, PrepareSettings,
    TextError, Tokenizer, TokenizerSettings, TokenizerSource, Utf8Policy, prepare,
};
use flate2::Compression;
use flate2::write::GzEncoder;
use fuzz::{damaged, within};
use proptest::prelude::*;
use serde_json::Value;

#[global_allocator]
static ALLOCATOR: fuzz::Counting = fuzz::Counting;

const TEXT: &str = "eins zwei\tone two\n\ndrei\tthree\r\nfünf 12 sechs\tfive 12 six\n﷽ 😀\tx\n";

fn gzip() -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(TEXT.repeat(50).as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// The start of a real file: a whole one would take milliseconds a case.
fn zstd() -> Vec<u8> {
    include_bytes!("../../../../assets/corpus/tatoeba-de-en/valid.de.zst")[..4096].to_vec()
}

fn corpus() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        damaged(TEXT.into()),
        damaged(gzip()),
        damaged(zstd()),
        prop::collection::vec(any::<u8>(), 0..300)
    ]
}

/// Every line has a number, no line is longer than the limit, and reading ends.
fn read_lines(bytes: &[u8]) {
    for policy in [Utf8Policy::Error, Utf8Policy::Replace, Utf8Policy::Skip] {
        within(300 << 20, || {
            let reader = LineReader::from_reader("text", Cursor::new(bytes.to_vec()), policy);
            let Ok(reader) = reader else { return };
            let mut last = 0;
            for line in reader.cutting_long_lines() {
                let Ok(line) = line else { return };
                last += 1;
                assert_eq!(line.number, last);
                assert!(line.text.len() <= 3 * MAX_LINE_BYTES && !line.text.contains('\n'));
            }
        });
    }
}

crate::fuzz_test!(corpus_lines, corpus(), read_lines);

/// Plain text has one line for each line end, and one for what follows the last.
fn count_lines(bytes: &[u8]) {
    let others: [&[u8]; 4] = [
        &[0x1f, 0x8b],
        &[0x28, 0xb5, 0x2f, 0xfd],
        &[0xff, 0xfe],
        &[0xfe, 0xff],
    ];
    if others.iter().any(|first| bytes.starts_with(first)) {
        return;
    }
    let reader =
        LineReader::from_reader("text", Cursor::new(bytes.to_vec()), Utf8Policy::Replace).unwrap();
    // In a text without line feeds, carriage returns end the lines.
    let before_end = &bytes[..bytes.len().saturating_sub(1)];
    let only_returns = !bytes.contains(&b'\n') && before_end.contains(&b'\r');
    let end = if only_returns { b'\r' } else { b'\n' };
    let expected = bytes.split_inclusive(|&byte| byte == end).count();
    let mut lines = reader.cutting_long_lines().peekable();
    // Zero bytes can look like UTF-16, which is refused.
    if !matches!(lines.peek(), Some(Err(TextError::Wide(..)))) {
        assert_eq!(lines.map(Result::unwrap).count(), expected);
    }
}

crate::fuzz_test!(plain_lines, damaged(TEXT.into()), count_lines);

fn read_pairs(bytes: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pairs.tsv");
    std::fs::write(&path, bytes).unwrap();
    within(300 << 20, || {
        let Ok(reader) = ParallelReader::open(&CorpusPaths::tsv(&path), Utf8Policy::Error) else {
            return;
        };
        for pair in reader {
            let Ok(pair) = pair else { return };
            assert!(!pair.source.contains('\t') && !pair.target.contains('\t'));
        }
    });
}

crate::fuzz_test!(corpus_pairs, corpus(), read_pairs);

static TOKENIZER: LazyLock<Tokenizer> = LazyLock::new(|| {
    let settings = TokenizerSettings {
        allow_smaller: true,
        ..TokenizerSettings::bpe(300)
    };
    Tokenizer::train(TEXT.split(['\n', '\t']), &settings).unwrap()
});

/// A unigram model over the pieces of the tokeniser: longer pieces are likelier.
static UNIGRAM: LazyLock<Tokenizer> = LazyLock::new(|| {
    let mut json: Value = serde_json::from_slice(&TOKENIZER.to_bytes()).unwrap();
    let mut pieces: Vec<_> = json["model"]["vocab"].as_object().unwrap().iter().collect();
    pieces.sort_by_key(|(_, id)| id.as_u64());
    let score = |piece: &str| {
        if piece.starts_with('<') {
            0.0
        } else {
            -20.0 / piece.len() as f64
        }
    };
    let vocab: Vec<_> = pieces
        .into_iter()
        .map(|(piece, _)| (piece, score(piece)))
        .collect();
    json["model"] =
        serde_json::json!({"type": "Unigram", "unk_id": 3, "vocab": vocab, "byte_fallback": true});
    Tokenizer::from_bytes(Path::new("tokenizer.json"), json.to_string().as_bytes()).unwrap()
});

/// Asserts that a tokeniser which loads can encode and decode anything, in ids below its size.
fn use_tokenizer(bytes: &[u8]) {
    let loaded = within(200 << 20, || {
        Tokenizer::from_bytes(Path::new("tokenizer.json"), bytes)
    });
    let Ok(tokenizer) = loaded else { return };
    assert!(tokenizer.vocab_size() <= 2 * bytes.len());
    encode_and_decode(&tokenizer);
}

fn encode_and_decode(tokenizer: &Tokenizer) {
    let start = Instant::now();
    for text in [
        "",
        "eins zwei",
        "\0\u{1b} ﷽ 😀 </s> <0x0A>",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    ] {
        let ids = within(200 << 20, || tokenizer.encode(text));
        assert!(
            ids.iter().all(|&id| (id as usize) < tokenizer.vocab_size()),
            "{ids:?}"
        );
        within(200 << 20, || tokenizer.decode(&ids));
    }
    within(200 << 20, || tokenizer.decode(&[0, 5, 299, u32::MAX]));
    assert!(
        start.elapsed() < Duration::from_secs(60),
        "{:?}",
        start.elapsed()
    );
}

crate::fuzz_test!(
    tokenizer_json,
    prop_oneof![damaged(TOKENIZER.to_bytes()), damaged(UNIGRAM.to_bytes())],
    use_tokenizer
);

/// A SentencePiece model of ten pieces, and a vocabulary for it.
const MODEL: &[u8] = include_bytes!("../fixtures/ten.spm");
const VOCABULARY: &[u8] = include_bytes!("../fixtures/ten.json");

/// Asserts that a vocabulary which loads can encode and decode anything, in ids below its size, and
/// gives its files back.
fn use_vocabulary(bytes: &[u8]) {
    let (model, vocabulary) = (Path::new("source.spm"), Path::new("vocab.json"));
    let loaded = within(64 * bytes.len() + (1 << 20), || {
        Tokenizer::from_sentencepiece(model, MODEL.to_vec(), Some((vocabulary, bytes.to_vec())))
    });
    let Ok(tokenizer) = loaded else { return };
    assert!(tokenizer.vocab_size() <= 2 * bytes.len());
    encode_and_decode(&tokenizer);
    assert_eq!(tokenizer.to_bytes(), [MODEL, bytes].concat());
}

crate::fuzz_test!(
    sentencepiece_vocabulary,
    damaged(VOCABULARY.to_vec()),
    use_vocabulary
);

crate::fuzz_test!(tokenizer_parts, parts::odd_parts(), use_tokenizer);

/// Any text goes in and comes out as ids below the size; decoding them gives text.
fn encode_text(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for tokenizer in [&*TOKENIZER, &*UNIGRAM] {
        let ids = within(50 << 20, || tokenizer.encode(&text));
        assert!(
            ids.len() <= 3 * text.len() + 3,
            "{} ids of {} bytes",
            ids.len(),
            text.len()
        );
        assert!(ids.iter().all(|&id| (id as usize) < tokenizer.vocab_size()));
        within(50 << 20, || tokenizer.decode(&ids));
    }
}

crate::fuzz_test!(tokenizer_text, corpus(), encode_text);

/// A damaged cache is built again, with the same pairs.
fn reopen_cache(bytes: &[u8]) {
    CACHE.with(|cache| {
        let file = cache.token_file();
        std::fs::write(&file, bytes).unwrap();
        let prepared = within(50 << 20, || cache.prepare());
        assert_eq!(prepared.corpus.len(), 3);
        assert_eq!(prepared.corpus_reused, bytes == cache.good);
    });
}

struct Cache {
    folder: tempfile::TempDir,
    good: Vec<u8>,
}

thread_local! {
    static CACHE: Cache = Cache::new();
}

impl Cache {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(
            folder.path().join("text.tsv"),
            "eins\tone\nzwei\ttwo\ndrei\tthree\n",
        )
        .unwrap();
        let mut cache = Self {
            folder,
            good: Vec::new(),
        };
        cache.prepare();
        cache.good = std::fs::read(cache.token_file()).unwrap();
        cache
    }

    fn prepare(&self) -> burnformer_data::Prepared {
        let settings = PrepareSettings {
            corpus: CorpusPaths::tsv(self.folder.path().join("text.tsv")),
            tokenizer: TokenizerSource::Given(burnformer_data::Tokenizers::joint(
                TOKENIZER.clone(),
            )),
            cleaning: CleaningSettings::default(),
            cache_dir: self.folder.path().join("cache"),
        };
        prepare(&settings, &mut FileKeys::default(), &mut |_| ()).unwrap()
    }

    fn token_file(&self) -> std::path::PathBuf {
        let entries = std::fs::read_dir(self.folder.path().join("cache")).unwrap();
        let mut paths = entries.map(|entry| entry.unwrap().path());
        paths
            .find(|path| path.extension().is_some_and(|e| e == "tokens"))
            .unwrap()
    }
}

crate::fuzz_test!(
    token_cache,
    damaged(CACHE.with(|cache| cache.good.clone())),
    reopen_cache
);
