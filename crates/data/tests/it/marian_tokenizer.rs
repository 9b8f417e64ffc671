//! Text becomes the ids that transformers' MarianTokenizer gives it
//! (`fixtures/marian_tokenizer.py`).

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use burnformer_data::Tokenizer;
use flate2::read::GzDecoder;
use serde_json::Value;

fn fixtures(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(folder)
        .join("tests/fixtures")
}

fn tokenizer(model: &str, vocabulary: &Value) -> Tokenizer {
    let path = fixtures("../sentencepiece").join(model);
    let vocabulary = Some((Path::new("vocab.json"), vocabulary.to_string().into_bytes()));
    Tokenizer::from_sentencepiece(&path, fs::read(&path).unwrap(), vocabulary).unwrap()
}

#[test]
fn hundreds_of_lines_have_the_ids_of_marian_tokenizer() {
    let file = File::open(fixtures(".").join("marian_tokenizer.json.gz")).unwrap();
    let data: Value = serde_json::from_reader(GzDecoder::new(file)).unwrap();
    let lines = data["lines"].as_array().unwrap();
    assert!(lines.len() > 250, "{}", lines.len());
    for (side, model) in [
        ("source", "unigram.model"),
        ("target", "bpe-identity.model"),
    ] {
        let tokenizer = tokenizer(model, &data["vocabulary"]);
        for (line, theirs) in lines.iter().zip(data[side].as_array().unwrap()) {
            let line = line.as_str().unwrap();
            let theirs = theirs
                .as_array()
                .unwrap()
                .iter()
                .map(|id| id.as_u64().unwrap() as u32);
            // Transformers adds `</s>`, which here the batch and the search do.
            let ours: Vec<u32> = tokenizer.encode(line).into_iter().chain([0]).collect();
            assert_eq!(ours, theirs.collect::<Vec<_>>(), "{side}: {line:?}");
        }
    }
}
