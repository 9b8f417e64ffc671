//! `adapt`: a model that learned short sentences, and a memory of long ones.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{Trained, refused, run, stderr, stdout};
use serde_json::Value;

/// Twice as long sentences as the model knows, with the translations that are `shift` lines further
/// on, as a catalogue.
fn catalogue(folder: &Path, count: usize, shift: usize) -> PathBuf {
    let [source, target] = &Trained::get().corpus.train;
    let [source, target] = [source, target].map(|path| fs::read_to_string(path).unwrap());
    let pairs: Vec<(&str, &str)> = source.lines().zip(target.lines().skip(shift)).collect();
    let message = |two: &[(&str, &str)]| {
        let [(a, b), (c, d)] = two else { panic!("two pairs") };
        format!("msgid \"{a} {c} {a}\"\nmsgstr \"{b} {d} {b}\"\n\n")
    };
    let path = folder.join("mine.po");
    fs::write(&path, pairs.chunks(2).take(count).map(message).collect::<String>()).unwrap();
    path
}

fn adapt(memory: &Path, out: &Path, more: &[&str]) -> Vec<String> {
    let trained = Trained::get();
    let [source, target] = &trained.corpus.test;
    let paths = [memory, source, target, out].map(|path| path.to_str().unwrap().to_string());
    let [memory, source, target, out] = paths;
    let arguments = ["adapt", "--model", &trained.model(), "--memory", &memory, "--general"];
    let rest = [&source, &target, "--out", &out];
    arguments.iter().chain(&rest).chain(more).map(ToString::to_string).collect()
}

#[test]
fn a_model_that_became_better_is_written_with_its_card() {
    let folder = tempfile::tempdir().unwrap();
    let (memory, out) = (catalogue(folder.path(), 300, 0), folder.path().join("new"));
    let arguments = adapt(&memory, &out, &["--updates", "150", "--mix", "1"]);
    let output = run(&arguments);
    let scores = stdout(&output);
    assert!(
        scores.starts_with("memory    BLEU ") && scores.contains("\ngeneral   BLEU "),
        "{scores}"
    );
    assert!(stderr(&output).contains("300 messages read"), "{}", stderr(&output));
    let card: Value =
        serde_json::from_str(&fs::read_to_string(out.join("adaptation.json")).unwrap()).unwrap();
    let score = |time: &str| card["scores"][0]["scores"][0][time].as_f64().unwrap();
    assert!(score("after") > score("before") + 5.0, "{card}");
    assert_eq!(card["pairs"]["held_out"], 60);
    assert_eq!(card["memory"][0]["sha256"].as_str().unwrap().len(), 64);
    assert!(!folder.path().join("new.work").exists());
    // The new model can be adapted again, and the old one is still there.
    let model = out.to_str().unwrap();
    stdout(&run(&["translate", "--model", model, "--input", memory.to_str().unwrap()]));
    let again: Vec<&str> = arguments.iter().map(String::as_str).collect();
    refused(&again, 1, &["exists already"]);
}

#[test]
fn a_model_that_did_not_become_better_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let (memory, out) = (catalogue(folder.path(), 100, 1), folder.path().join("new"));
    let arguments = adapt(&memory, &out, &["--updates", "1"]);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    refused(&arguments, 1, &["is not written", "not better on the pairs of the memory"]);
    assert!(!out.exists() && !folder.path().join("new.work").exists());
}
