//! `import` and `export`: models of other systems in and out.

mod common;

use std::fs;
use std::path::Path;

use common::{run, stderr, stdout};
use serde_json::Value;

fn fixture(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../interop/tests/fixtures");
    root.join(name).display().to_string()
}

#[test]
fn an_imported_model_is_an_ordinary_model_directory() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("model").display().to_string();
    let output = run(&["import", &fixture("hugging_face/shared_swish"), "--out", &out]);
    assert!(stderr(&output).contains("hugging-face"), "{}", stderr(&output));
    assert_eq!(stdout(&output), "");
    let json: Value = serde_json::from_str(&stdout(&run(&["inspect", &out, "--json"]))).unwrap();
    assert_eq!(json["model"]["conventions"]["sinusoids"], "halves");
    assert_eq!(json["model"]["conventions"]["decoder_start"], "zero");
}

#[test]
fn a_model_that_was_exported_is_imported_with_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let weights =
        |name: &str| fs::read(folder.path().join(name).join("model.safetensors")).unwrap();
    stdout(&run(&["import", "ctranslate2", &fixture("ctranslate2/float32"), "--out", &path("a")]));
    for format in ["ctranslate2", "hugging-face"] {
        let [other, again] = [path(&format!("{format}-out")), format!("{format}-in")];
        stdout(&run(&["export", format, "--model", &path("a"), "--out", &other]));
        stdout(&run(&["import", &other, "--out", &path(&again)]));
        assert!(weights("a") == weights(&again), "{format}");
    }
}

#[test]
fn what_cannot_be_imported_or_exported_says_why_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("model").display().to_string();
    let empty = folder.path().display().to_string();
    let output = run(&["import", &empty, "--out", &out]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("no model of a known format"), "{}", stderr(&output));
    let output = run(&["import", "pdf", &empty, "--out", &out]);
    assert_eq!(output.status.code(), Some(2));
    stdout(&run(&["import", &fixture("hugging_face/half"), "--out", &out]));
    let output = run(&["import", &fixture("hugging_face/half"), "--out", &out]);
    assert!(stderr(&output).contains("not empty"), "{}", stderr(&output));
    // The fixture has no vocabulary.
    let other = folder.path().join("other").display().to_string();
    let output = run(&["export", "ctranslate2", "--model", &out, "--out", &other]);
    assert!(stderr(&output).contains("vocab.json"), "{}", stderr(&output));
    assert!(!Path::new(&other).exists());
}

#[test]
fn a_model_of_several_languages_is_told_which_ones_and_refuses_to_guess() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (model, text) = (path("model"), path("text"));
    fs::write(&text, "the house is small\n\na dog runs\n").unwrap();
    stdout(&run(&["import", &fixture("m2m100/relu"), "--out", &model]));
    let translate = ["translate", "--model", &model, "--input", &text];
    let languages = ["--source-language", "en", "--target-language", "fr"];
    let translated = stdout(&run(&[&translate[..], &languages].concat()));
    assert_eq!(translated.lines().count(), 3);
    assert_eq!(translated.lines().nth(1), Some(""));
    assert!(!translated.contains("__fr__"), "{translated}");
    let silent = run(&translate);
    assert_eq!(silent.status.code(), Some(2));
    assert!(stderr(&silent).contains("--source-language"), "{}", stderr(&silent));
    let bleu = ["eval-bleu", "--model", &model, "--source", &text, "--reference", &text];
    assert!(stdout(&run(&[&bleu[..], &languages].concat())).contains("BLEU"));
    let tuned = ["train", "--from", &model, "--train", &text, &text, "--out", &path("run")];
    assert!(stderr(&run(&tuned)).contains("language"), "{}", stderr(&run(&tuned)));
    assert!(!Path::new(&path("run")).exists());
}

#[test]
fn what_came_from_marian_goes_back_to_it_with_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let weights =
        |name: &str| fs::read(folder.path().join(name).join("model.safetensors")).unwrap();
    stdout(&run(&["import", &fixture("marian/student"), "--out", &path("a")]));
    stdout(&run(&["export", "marian", "--model", &path("a"), "--out", &path("npz")]));
    stdout(&run(&["import", &path("npz"), "--out", &path("b")]));
    assert!(weights("a") == weights("b"));
}
