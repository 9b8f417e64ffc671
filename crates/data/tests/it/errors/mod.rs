//! Every typed error, provoked: what it names and what it advises.

mod encodings;
mod tokenizers;

use std::fmt::Display;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use burnformer_data::{
    BatchSampler, CleaningSettings, CorpusPaths, DataError, FileKeys, LineReader, ParallelReader,
    PrepareSettings, Rank, SamplerError, SamplerSettings, SamplerState, TextError, TokenizedCorpus,
    TokenizerSettings, TokenizerSource, Utf8Policy, prepare,
};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use tempfile::TempDir;

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn file(folder: &TempDir, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    path
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// The first error of reading the corpus to its end.
fn corpus_error(paths: &CorpusPaths) -> TextError {
    match ParallelReader::open(paths, Utf8Policy::Error) {
        Err(error) => error,
        Ok(reader) => reader.filter_map(Result::err).next().expect("an error"),
    }
}

fn lines_error(path: &std::path::Path) -> TextError {
    match LineReader::open(path, Utf8Policy::Error) {
        Err(error) => error,
        Ok(mut reader) => reader.find_map(Result::err).expect("an error"),
    }
}

#[track_caller]
fn says(error: &impl Display, parts: &[&str]) {
    let message = error.to_string();
    for part in parts {
        assert!(message.contains(part), "{part:?} is missing in: {message}");
    }
}

fn repeated_text() -> Vec<String> {
    (0..200)
        .map(|i| format!("the house number {} stands in street {}", i, i * 7))
        .collect()
}

#[test]
fn a_missing_file_is_named() {
    let error = lines_error("nowhere/corpus.de".as_ref());
    assert!(matches!(error, TextError::NotFound(..)));
    says(&error, &["nowhere/corpus.de", "check the path"]);
}

#[test]
fn a_folder_is_unreadable() {
    let folder = folder();
    let error = lines_error(folder.path());
    assert!(matches!(error, TextError::Unreadable(..)));
    says(&error, &["directory", "check that it is a file"]);
}

#[test]
fn an_empty_corpus_is_named_whichever_side_is_empty() {
    let folder = folder();
    let (empty, full) = (file(&folder, "a.txt", ""), file(&folder, "b.txt", "x\n"));
    let zipped = file(&folder, "c.gz", "");
    for (paths, name) in [
        (CorpusPaths::pair(&empty, &empty), "a.txt"),
        (CorpusPaths::pair(&empty, &full), "a.txt"),
        (CorpusPaths::pair(&full, &empty), "a.txt"),
        (CorpusPaths::pair(&zipped, &full), "c.gz"),
        (CorpusPaths::tsv(&empty), "a.txt"),
    ] {
        let error = corpus_error(&paths);
        assert!(matches!(error, TextError::Empty(..)), "{error:?}");
        says(&error, &[name, "empty", "one sentence per line"]);
    }
}

#[test]
fn unequal_sides_name_the_line_without_partner() {
    let folder = folder();
    let (a, b) = (
        file(&folder, "a.de", "1\n2\n3"),
        file(&folder, "b.en", "1\n2\n3\n4\n5\n"),
    );
    for paths in [CorpusPaths::pair(&a, &b), CorpusPaths::pair(&b, &a)] {
        let error = corpus_error(&paths);
        assert!(
            matches!(
                error,
                TextError::LineCountMismatch {
                    shorter_lines: 3,
                    longer_lines: 5,
                    ..
                }
            ),
            "{error:?}"
        );
        says(
            &error,
            &[
                "a.de ends after line 3",
                "b.en has 5 lines",
                "line 4 has no partner",
            ],
        );
    }
}

#[test]
fn a_tsv_line_needs_exactly_two_columns() {
    let folder = folder();
    for (content, found, remedy) in [
        ("a\tb\nno tab here\n", 1, "name both files"),
        ("a\tb\na\tb\tc\n", 3, "cut -f1,2"),
    ] {
        let error = corpus_error(&CorpusPaths::tsv(file(&folder, "c.tsv", content)));
        assert!(
            matches!(error, TextError::NotTwoColumns { line: 2, columns, .. } if columns == found),
            "{error:?}"
        );
        says(&error, &["c.tsv:2", "source<TAB>target", remedy]);
    }
    // An empty line is a pair of empty sentences.
    let path = file(&folder, "blank.tsv", "a\tb\n\n  \r\nc\td\n");
    let pairs = ParallelReader::open(&CorpusPaths::tsv(path), Utf8Policy::Error).unwrap();
    let pairs: Vec<_> = pairs.map(|pair| pair.unwrap()).collect();
    let sides: Vec<_> = pairs
        .iter()
        .map(|pair| [&*pair.source, &*pair.target])
        .collect();
    assert_eq!(sides, [["a", "b"], ["", ""], ["", ""], ["c", "d"]]);
}

#[test]
fn an_overlong_line_is_refused() {
    let folder = folder();
    let path = file(
        &folder,
        "long.txt",
        [b"ok\n".as_slice(), &vec![b'x'; 3 << 20]].concat(),
    );
    let error = lines_error(&path);
    assert!(
        matches!(error, TextError::LineTooLong { line: 2, .. }),
        "{error:?}"
    );
    says(&error, &["long.txt:2", "1048576 bytes", "line ends"]);
}

#[test]
fn truncated_gzip_and_zstd_name_the_last_good_line() {
    let folder = folder();
    let text: String = (0..20_000)
        .map(|i| format!("sentence {} of many {}\n", i, i * i))
        .collect();
    let zstd = ruzstd::encoding::compress_to_vec(
        text.as_bytes(),
        ruzstd::encoding::CompressionLevel::Fastest,
    );
    for (name, bytes) in [("t.gz", gzip(text.as_bytes())), ("t.zst", zstd)] {
        let error = lines_error(&file(&folder, name, &bytes[..bytes.len() / 2]));
        assert!(
            matches!(error, TextError::DamagedCompression { .. }),
            "{error:?}"
        );
        says(
            &error,
            &[name, "truncated or damaged after line", "gzip -t"],
        );
    }
}

#[test]
fn a_flipped_byte_in_gzip_or_zstd_is_noticed() {
    let folder = folder();
    let text = "the quick brown fox\n".repeat(2000);
    let zstd = ruzstd::encoding::compress_to_vec(
        text.as_bytes(),
        ruzstd::encoding::CompressionLevel::Fastest,
    );
    for (name, mut bytes) in [("t.gz", gzip(text.as_bytes())), ("t.zst", zstd)] {
        let last = bytes.len() - 2;
        bytes[last] ^= 0x40; // within the stored checksum
        let path = file(&folder, name, &bytes);
        let error = LineReader::open(&path, Utf8Policy::Error)
            .unwrap()
            .find_map(Result::err);
        assert!(
            matches!(error, Some(TextError::DamagedCompression { .. })),
            "{name}: {error:?}"
        );
    }
}

#[test]
fn a_compressed_name_needs_compressed_content() {
    let folder = folder();
    for (name, format) in [("plain.gz", "gzip"), ("plain.zst", "zstd")] {
        let error = lines_error(&file(&folder, name, "plain text\n"));
        assert!(matches!(error, TextError::NotCompressed(..)));
        says(&error, &[name, format, "rename"]);
    }
}

#[test]
fn standard_input_can_be_one_side_only() {
    let error = corpus_error(&CorpusPaths::pair("-", "-"));
    assert!(matches!(error, TextError::PipeTwice(..)));
    says(&error, &["`-` was given twice", "one TSV"]);
}

fn preparing(
    corpus: CorpusPaths,
    tokenizer: TokenizerSettings,
    cleaning: CleaningSettings,
) -> DataError {
    let folder = folder();
    let cache_dir = folder.path().join("cache");
    let settings = PrepareSettings {
        corpus,
        tokenizer: TokenizerSource::Train(tokenizer),
        cleaning,
        cache_dir,
    };
    prepare(&settings, &mut FileKeys::default(), &mut |_| ())
        .err()
        .expect("an error")
}

#[test]
fn preparing_from_standard_input_is_refused_with_a_remedy() {
    let error = preparing(
        CorpusPaths::tsv("-"),
        TokenizerSettings::default(),
        CleaningSettings::default(),
    );
    assert!(matches!(
        error,
        DataError::Text(TextError::NotRepeatable(..))
    ));
    says(&error, &["`-`", "write it to a file first"]);
}

#[test]
fn settings_out_of_range_name_themselves() {
    let coverage = TokenizerSettings {
        character_coverage: 1.5,
        ..Default::default()
    }
    .validate()
    .unwrap_err();
    assert!(matches!(coverage, DataError::InvalidSetting { .. }));
    says(&coverage, &["character_coverage = 1.5", "at most 1"]);
    let corpus = Arc::new(TokenizedCorpus::from_pairs(&[([4u32], [5u32])]));
    let settings = SamplerSettings {
        window: 0,
        ..Default::default()
    };
    let rows = BatchSampler::new(corpus, settings).err().unwrap();
    says(&rows, &["window = 0", "at least 1"]);
}

#[test]
fn cleaning_that_leaves_nothing_says_why() {
    let folder = folder();
    let text = repeated_text().join("\n");
    let (a, b) = (file(&folder, "a", &text), file(&folder, "b", &text));
    let strict = CleaningSettings {
        max_source_len: 1,
        ..Default::default()
    };
    let error = preparing(CorpusPaths::pair(a, b), TokenizerSettings::bpe(320), strict);
    assert!(matches!(error, DataError::NothingLeft(..)));
    says(
        &error,
        &[
            "200 pairs read, 0 kept",
            "200 source too long",
            "relax the limits",
        ],
    );
}

#[test]
fn a_budget_that_no_pair_fits_names_the_shortest() {
    let corpus = Arc::new(TokenizedCorpus::from_pairs(&[([4u32; 9], [5u32; 7])]));
    let error = BatchSampler::new(
        corpus,
        SamplerSettings {
            budget: 9,
            ..Default::default()
        },
    )
    .err()
    .unwrap();
    assert!(matches!(
        error,
        DataError::Sampler(SamplerError::BudgetTooSmall {
            budget: 9,
            shortest: 10
        })
    ));
    says(&error, &["budget of 9", "needs 10"]);
}

#[test]
fn a_position_beyond_the_epoch_is_refused() {
    let corpus = Arc::new(TokenizedCorpus::from_pairs(&[([4u32], [5u32])]));
    let sampler = BatchSampler::new(corpus, SamplerSettings::default()).unwrap();
    let state = SamplerState {
        seed: 1,
        epoch: 3,
        next_batch: 7,
    };
    let error = sampler.updates(state, 1, Rank::ALONE).err().unwrap();
    assert!(matches!(
        error,
        DataError::Sampler(SamplerError::StalePosition {
            next_batch: 7,
            epoch: 3,
            batches: 1
        })
    ));
    says(&error, &["batch 7 of epoch 3", "has 1 batches"]);
}

#[test]
fn open_side_reads_a_column_of_tsv_and_lines_of_other_text() {
    use burnformer_data::corpus::{Side, is_tsv};
    let folder = folder();
    let rows = "eins\tone\nzwei\ttwo\n";
    let side = |name: &str, side| -> Vec<String> {
        let reader = LineReader::open_side(&file(&folder, name, rows), side, Utf8Policy::Error);
        reader.unwrap().map(|line| line.unwrap().text).collect()
    };
    assert_eq!(side("a.tsv", Side::Source), ["eins", "zwei"]);
    assert_eq!(side("a.tsv", Side::Target), ["one", "two"]);
    assert_eq!(side("a.txt", Side::Target), ["eins\tone", "zwei\ttwo"]);
    for (name, expected) in [
        ("a.tsv", true),
        ("a.TSV.GZ", true),
        ("b.tsv.zst", true),
        ("tsv", false),
        ("a.tsv.txt", false),
        ("-", false),
    ] {
        assert_eq!(is_tsv(name.as_ref()), expected, "{name}");
    }
}

#[test]
fn two_tsv_files_are_refused_as_two_sides() {
    let folder = folder();
    let [a, b] = ["a.tsv", "b.tsv"].map(|name| file(&folder, name, "x\ty\n"));
    let error = corpus_error(&CorpusPaths::pair(&a, &b));
    assert!(matches!(error, TextError::TwoTables { .. }), "{error}");
    says(&error, &["a.tsv", "b.tsv", "cat"]);
    let same = ParallelReader::open(&CorpusPaths::pair(&a, &a), Utf8Policy::Error).unwrap();
    let pair = same.map(|pair| pair.unwrap()).next().unwrap();
    assert_eq!((pair.source.as_str(), pair.target.as_str()), ("x", "y"));
}

#[test]
fn the_debug_form_of_an_error_is_its_message() {
    let error = lines_error("nowhere/corpus.de".as_ref());
    assert_eq!(format!("{error:?}"), error.to_string());
}
