//! Texts that are divided into documents, and the context of their pairs.

use std::fs;
use std::path::Path;

use burnformer_data::corpus::read_documents;
use burnformer_data::special::SEPARATOR_TOKEN;
use burnformer_data::{
    Batch, BatchSampler, CleaningSettings, ContextSettings, CorpusPaths, FileKeys, PrepareSettings,
    SamplerSettings, TextError, TokenizedCorpus, TokenizerSettings, TokenizerSource,
    TokenizerTraining, Tokenizers, Utf8Policy, prepare, train_tokenizers,
};

const CONTEXT: ContextSettings = ContextSettings {
    source: 2,
    target: 1,
    longest_source: 40,
    longest_target: 40,
};

/// A text of three documents, of which the second has a bad pair, a long one and a duplicate.
const DOCUMENTS: [&[(&str, &str)]; 3] = [
    &[("one", "eins"), ("two", "zwei"), ("three", "drei")],
    &[
        ("four", "vier"),
        (
            "five",
            "five five five five five five five five five five five five",
        ),
        ("six", "sechs"),
        ("seven", "sieben"),
        ("one", "eins"),
        ("eight", "acht"),
    ],
    &[("nine", "neun"), ("ten", "zehn")],
];

/// The pairs that cleaning keeps, in the parts of documents without a gap.
const KEPT: [&[(&str, &str)]; 5] = [
    &[("one", "eins"), ("two", "zwei"), ("three", "drei")],
    &[("four", "vier")],
    &[("six", "sechs"), ("seven", "sieben")],
    &[("eight", "acht")],
    &[("nine", "neun"), ("ten", "zehn")],
];

fn cleaning() -> CleaningSettings {
    CleaningSettings {
        max_length_ratio: Some(5.0),
        drop_duplicates: true,
        ..CleaningSettings::default()
    }
}

fn tokenizers(folder: &Path, special: &[&str]) -> Tokenizers {
    let text = folder.join("words.tsv");
    let words: String = DOCUMENTS
        .concat()
        .iter()
        .map(|(source, target)| format!("{source}\t{target}\n"))
        .collect();
    fs::write(&text, words.repeat(20)).unwrap();
    let special: Vec<String> = special.iter().map(ToString::to_string).collect();
    let training = TokenizerTraining {
        corpora: vec![CorpusPaths::tsv(text)],
        settings: TokenizerSettings {
            allow_smaller: true,
            ..TokenizerSettings::bpe(400)
        },
        special: [special.clone(), special],
        utf8: Utf8Policy::Error,
        cache_dir: folder.join("cache"),
    };
    train_tokenizers(&training, &mut FileKeys::default(), &mut |_| ())
        .unwrap()
        .0
}

/// The files of the documents, with `between` on a line between two on both sides.
fn two_files(folder: &Path, between: &str) -> CorpusPaths {
    let side = |name: &str, text: fn(&(&str, &str)) -> String| {
        let path = folder.join(name);
        let documents = DOCUMENTS.map(|pairs| pairs.iter().map(text).collect::<String>());
        fs::write(&path, documents.join(&format!("{between}\n"))).unwrap();
        path
    };
    let source = side("text.en", |(source, _)| format!("{source}\n"));
    let target = side("text.de", |(_, target)| format!("{target}\n"));
    CorpusPaths::pair(source, target)
}

/// A table whose third column names the document.
fn table(folder: &Path) -> CorpusPaths {
    let path = folder.join("text.tsv");
    let mut lines = String::new();
    for (number, pairs) in DOCUMENTS.iter().enumerate() {
        for (source, target) in *pairs {
            lines += &format!("{source}\t{target}\tdocument {number}\n");
        }
    }
    fs::write(&path, lines).unwrap();
    CorpusPaths::tsv(path)
}

fn corpus(folder: &Path, paths: CorpusPaths, tokenizers: &Tokenizers) -> TokenizedCorpus {
    let settings = PrepareSettings {
        corpus: paths,
        tokenizer: TokenizerSource::Given(tokenizers.clone()),
        cleaning: cleaning(),
        cache_dir: folder.join("cache"),
    };
    prepare(&settings, &mut FileKeys::default(), &mut |_| ())
        .unwrap()
        .corpus
}

fn all(corpus: &TokenizedCorpus) -> Vec<(Vec<u32>, Vec<u32>)> {
    (0..corpus.len()).map(|i| corpus.pair(i).unwrap()).collect()
}

/// The pairs of `documents` with their contexts, written out sentence by sentence.
fn composed(documents: &[&[(&str, &str)]], tokenizers: &Tokenizers) -> Vec<(Vec<u32>, Vec<u32>)> {
    let separator = tokenizers.source.separator().unwrap();
    let source = |text: &str| tokenizers.source.encode(text);
    let target = |text: &str| tokenizers.target.encode(text);
    let mut all = Vec::new();
    for document in documents {
        for (at, (of_source, of_target)) in document.iter().enumerate() {
            let mut pair = (source(of_source), target(of_target));
            if at >= 1 {
                pair.0 = [source(document[at - 1].0), vec![separator], pair.0].concat();
                pair.1 = [target(document[at - 1].1), vec![separator], pair.1].concat();
            }
            if at >= 2 {
                pair.0 = [source(document[at - 2].0), vec![separator], pair.0].concat();
            }
            all.push(pair);
        }
    }
    all
}

#[test]
fn empty_lines_and_a_third_column_divide_a_text_into_the_same_documents() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let tokenizers = tokenizers(folder, &[SEPARATOR_TOKEN]);
    let separator = tokenizers.source.separator().unwrap();
    let expected = composed(&KEPT, &tokenizers);
    for paths in [
        two_files(folder, ""),
        two_files(folder, " \u{200b}"),
        table(folder),
    ] {
        for _ in 0..2 {
            // The second time, the corpus comes from the cache.
            let corpus = corpus(folder, paths.clone().in_documents(), &tokenizers);
            let corpus = corpus.with_context(CONTEXT, [separator; 2]);
            assert_eq!(all(&corpus), expected, "{paths:?}");
        }
    }
}

#[test]
fn a_reversed_text_has_the_same_documents() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let tokenizers = tokenizers(folder, &[SEPARATOR_TOKEN]);
    for paths in [
        table(folder).in_documents().reversed(),
        table(folder).reversed().in_documents(),
    ] {
        let corpus = corpus(folder, paths, &tokenizers);
        let continues: Vec<bool> = (0..corpus.len()).map(|i| corpus.continues(i)).collect();
        let expected = KEPT.iter().flat_map(|part| (0..part.len()).map(|i| i > 0));
        assert_eq!(continues, expected.collect::<Vec<_>>());
        assert_eq!(corpus.pair(0).unwrap().0, tokenizers.source.encode("eins"));
    }
}

#[test]
fn without_marks_a_text_is_one_document() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("text.tsv");
    fs::write(&path, "one\teins\ntwo\tzwei\nthree\tdrei\n").unwrap();
    let tokenizers = tokenizers(folder.path(), &[SEPARATOR_TOKEN]);
    let corpus = corpus(
        folder.path(),
        CorpusPaths::tsv(path).in_documents(),
        &tokenizers,
    );
    let continues: Vec<bool> = (0..3).map(|i| corpus.continues(i)).collect();
    assert_eq!(continues, [false, true, true]);
}

#[test]
fn documents_change_no_token() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let tokenizers = tokenizers(folder, &[]);
    assert_eq!(tokenizers.source.separator(), None);
    let paths = two_files(folder, "");
    let plain = corpus(folder, paths.clone(), &tokenizers);
    let documents = corpus(folder, paths.in_documents(), &tokenizers);
    assert_eq!(all(&plain), all(&documents));
    assert!((0..plain.len()).all(|i| !plain.continues(i)));
    assert_ne!(
        plain.hash(),
        documents.hash(),
        "the documents are part of the corpus"
    );
}

#[test]
fn a_side_that_is_empty_alone_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("a"), "one\n\nthree\n").unwrap();
    fs::write(path("b"), "eins\nzwei\ndrei\n").unwrap();
    fs::write(path("c.tsv"), "one\teins\ntwo\t \n").unwrap();
    for (paths, file, side) in [
        (CorpusPaths::pair(path("a"), path("b")), "a", "source"),
        (CorpusPaths::pair(path("b"), path("a")), "a", "target"),
        (CorpusPaths::tsv(path("c.tsv")), "c.tsv", "target"),
    ] {
        assert!(read_documents(&paths, Utf8Policy::Error).is_ok());
        let error = read_documents(&paths.in_documents(), Utf8Policy::Error).unwrap_err();
        assert!(matches!(error, TextError::EmptyOnOneSide { line: 2, .. }));
        let message = error.to_string();
        let place = format!("{}:2: the {side} is empty", path(file).display());
        assert!(message.contains(&place), "{message}");
    }
}

#[test]
fn only_documents_have_a_third_column() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tsv");
    for (line, is_document) in [("a\tb\tc\n", true), ("a\tb\tc\td\n", false), ("a\n", false)] {
        fs::write(&path, line).unwrap();
        let paths = CorpusPaths::tsv(&path);
        assert!(read_documents(&paths, Utf8Policy::Error).is_err());
        let read = read_documents(&paths.in_documents(), Utf8Policy::Error);
        assert_eq!(read.is_ok(), is_document, "{line:?}");
    }
}

#[test]
fn no_text_is_encoded_as_a_separator() {
    let folder = tempfile::tempdir().unwrap();
    let tokenizers = tokenizers(folder.path(), &[SEPARATOR_TOKEN]);
    let tokenizer = &tokenizers.source;
    let separator = tokenizer.separator().unwrap();
    assert_eq!(separator as usize, tokenizer.vocab_size() - 1);
    for text in ["<sep>", "one <sep> two", "<sep><sep>", "▁<sep>"] {
        let ids = tokenizer.encode(text);
        assert!(!ids.contains(&separator), "{text}");
    }
    assert_eq!(
        tokenizer.decode(&tokenizer.encode("a <sep> b")),
        "a <sep> b"
    );
    let ids = [
        tokenizer.encode("one"),
        vec![separator],
        tokenizer.encode("two"),
    ]
    .concat();
    assert_eq!(tokenizer.decode(&ids), "one two", "no text shows one");
}

#[test]
fn a_sampler_plans_lengths_with_their_context_and_within_its_budget() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let tokenizers = tokenizers(folder, &[SEPARATOR_TOKEN]);
    let separator = tokenizers.source.separator().unwrap();
    let corpus = corpus(folder, table(folder).in_documents(), &tokenizers);
    let budget = 14;
    let settings = ContextSettings {
        longest_source: budget - 1,
        longest_target: budget - 1,
        ..CONTEXT
    };
    let corpus = corpus.with_context(settings, [separator; 2]);
    let settings = SamplerSettings {
        budget,
        ..SamplerSettings::default()
    };
    let sampler = BatchSampler::new(corpus.into(), settings).unwrap();
    assert_eq!(sampler.over_budget(), 0);
    for rows in sampler.ordered().unwrap().batches() {
        let batch = sampler.batch(&rows.pairs).unwrap();
        assert_eq!(rows.columns, [batch.source_len, batch.target_len]);
        assert!(batch.batch * batch.source_len.max(batch.target_len) <= budget);
    }
}

/// An example has the same loss as an ordinary pair of its ids: the batches are the same.
#[test]
fn an_example_with_context_is_the_batch_of_an_ordinary_pair_of_the_same_ids() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let tokenizers = tokenizers(folder, &[SEPARATOR_TOKEN]);
    let separator = tokenizers.source.separator().unwrap();
    let corpus = corpus(folder, table(folder).in_documents(), &tokenizers);
    let corpus = corpus.with_context(CONTEXT, [separator; 2]);
    let sampler = BatchSampler::new(corpus.into(), SamplerSettings::default()).unwrap();
    let expected = composed(&KEPT, &tokenizers);
    for rows in sampler.ordered().unwrap().batches() {
        let pairs: Vec<_> = rows.pairs.iter().map(|&i| &expected[i as usize]).collect();
        let pairs: Vec<_> = pairs.iter().map(|(a, b)| (a.clone(), b.clone())).collect();
        let batch = Batch::new(rows.pairs.clone(), &pairs);
        assert_eq!(sampler.batch(&rows.pairs).unwrap(), batch);
    }
}

#[test]
fn a_damaged_mark_of_a_document_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let tokenizers = tokenizers(folder, &[SEPARATOR_TOKEN]);
    let first = corpus(folder, table(folder).in_documents(), &tokenizers);
    let expected: Vec<bool> = (0..first.len()).map(|i| first.continues(i)).collect();
    let path = fs::read_dir(folder.join("cache"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|end| end == "tokens"))
        .unwrap();
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&path, bytes).unwrap();
    let again = corpus(folder, table(folder).in_documents(), &tokenizers);
    let found: Vec<bool> = (0..again.len()).map(|i| again.continues(i)).collect();
    assert_eq!(found, expected);
}
