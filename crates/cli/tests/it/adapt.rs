//! `adapt`: a model that learned short sentences, and a memory of long ones.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{Trained, refused, run, stderr, stdout};
use serde_json::Value;

/// Twice as long sentences as the model knows, as a catalogue.
fn catalogue(folder: &Path, count: usize) -> PathBuf {
    let [source, target] = &Trained::get().corpus.train;
    let [source, target] = [source, target].map(|path| fs::read_to_string(path).unwrap());
    let pairs: Vec<(&str, &str)> = source.lines().zip(target.lines()).collect();
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
    let (memory, out) = (catalogue(folder.path(), 300), folder.path().join("new"));
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
    let (memory, out) = (catalogue(folder.path(), 100), folder.path().join("new"));
    let arguments = adapt(&memory, &out, &["--updates", "1"]);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    refused(&arguments, 1, &["is not written", "not better on the pairs of the memory"]);
    assert!(!out.exists() && !folder.path().join("new.work").exists());
}

#[test]
fn a_catalogue_is_translated_in_its_slots_and_a_broken_one_refused() {
    let (folder, model) = (tempfile::tempdir().unwrap(), Trained::get().model());
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let (input, out) = (path("a.po"), path("b.po"));
    fs::write(
        &input,
        "#, c-format\nmsgid \"eins %s zwei\"\nmsgstr \"\"\n\nmsgid \"drei\"\nmsgstr \"3\"\n",
    )
    .unwrap();
    let arguments =
        ["translate", "--model", &model, "--format", "po", "--input", &input, "--output", &out];
    let output = run(&arguments);
    assert!(stderr(&output).contains("1 of 2 messages have no translation"), "{}", stderr(&output));
    let text = fs::read_to_string(&out).unwrap();
    assert!(
        text.starts_with("#, fuzzy, c-format\nmsgid \"eins %s zwei\"\nmsgstr \"one %s two"),
        "{text}"
    );
    assert!(text.ends_with("\n\nmsgid \"drei\"\nmsgstr \"3\"\n"), "{text}");
    fs::write(&input, "msgid \"eins\"\nmsgid \"zwei\"\n").unwrap();
    refused(&arguments, 1, &["a.po: line 2: ", "`msgid`"]);
    assert_eq!(fs::read_to_string(&out).unwrap(), text, "the old file is untouched");
}
