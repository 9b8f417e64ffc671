//! Equality with the C++ library, on what `fixtures/generate.py` wrote down of it.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use burnformer_sentencepiece::SentencePiece;
use flate2::read::GzDecoder;

/// Ids, pieces, text of the ids, text of the ids from last to first, text of the pieces.
type Row = (Vec<u32>, Vec<String>, String, String, String);

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn lines(path: &Path) -> impl Iterator<Item = String> + use<> {
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    BufReader::new(GzDecoder::new(file))
        .lines()
        .map(Result::unwrap)
}

/// The row that this crate computes for a line.
fn row(model: &SentencePiece, text: &str) -> Row {
    let ids = model.encode(text);
    let pieces = model.encode_pieces(text);
    let backwards: Vec<u32> = ids.iter().rev().copied().collect();
    let texts = [&ids, &backwards].map(|ids| model.decode(ids).unwrap());
    let [forwards, backwards] = texts;
    let text_of_pieces = model.decode_pieces(&pieces);
    (ids, pieces, forwards, backwards, text_of_pieces)
}

/// Compares every line and model of a folder; gives the number of both.
fn compare(folder: &Path) -> (usize, usize) {
    let mut models: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    models.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "model")
    });
    models.sort();
    let mut count = 0;
    for path in &models {
        let model = SentencePiece::open(path).unwrap();
        let texts = lines(&folder.join("lines.jsonl.gz"));
        let expected = lines(&path.with_extension("jsonl.gz"));
        count = 0;
        for (text, expected) in texts.zip(expected) {
            let text: String = serde_json::from_str(&text).unwrap();
            let expected: Row = serde_json::from_str(&expected).unwrap();
            count += 1;
            assert_eq!(
                row(&model, &text),
                expected,
                "{}, line {count}: {text:?}",
                path.display()
            );
        }
        eprintln!("{}: {count} lines", path.display());
    }
    (models.len(), count)
}

#[test]
fn ids_pieces_and_texts_match_the_cpp_library() {
    assert_eq!(compare(&fixtures()), (9, 120));
}

#[test]
#[ignore = "needs a folder that fixtures/generate.py wrote"]
fn ids_pieces_and_texts_match_the_cpp_library_on_many_lines() {
    let folder = std::env::var_os("SENTENCEPIECE_CASES").expect("set SENTENCEPIECE_CASES");
    let (models, lines) = compare(Path::new(&folder));
    assert!(models > 0 && lines > 0, "{models} models, {lines} lines");
}
