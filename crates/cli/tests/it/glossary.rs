//! Prescribed translations: files of terms, whole lines and documents, and what is refused.

use std::fs;
use std::path::Path;

use crate::common::{Trained, assert_refused, refused, run_with, stderr, stdout};
use serde_json::Value;

const TERMS: &str = "# numbers\nvier\tquartet\nacht\toctave|octaves\n\nnull\tnil\n";
const INPUT: &str = "eins zwei drei\nvier fünf\nnull acht\n\n";

fn glossary(folder: &Path, text: &str) -> String {
    let path = folder.join("terms.tsv");
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// The output of `translate` for [`INPUT`] with these terms.
fn translate(terms: &str, more: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let model = Trained::get().model();
    let file = glossary(folder.path(), terms);
    let fixed = ["translate", "--model", &model, "--glossary", &file];
    stdout(&run_with(&[&fixed[..], more].concat(), INPUT.as_bytes()))
}

fn has(line: &str, word: &str) -> bool {
    line.split_whitespace()
        .any(|found| found.trim_matches(|c: char| !c.is_alphanumeric()) == word)
}

#[test]
fn lines_have_their_terms_and_other_lines_are_unchanged() {
    let free = translate("", &[]);
    let text = translate(TERMS, &[]);
    let free: Vec<&str> = free.lines().collect();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4);
    assert_eq!((lines[0], lines[3]), (free[0], ""));
    assert!(
        !has(free[1], "quartet") && has(lines[1], "quartet"),
        "{lines:?}"
    );
    assert!(has(lines[2], "nil"), "{lines:?}");
    assert!(
        has(lines[2], "octave") || has(lines[2], "octaves"),
        "{lines:?}"
    );
    assert_eq!(
        text,
        translate(TERMS, &["--batch", "1", "--chunk", "1"]),
        "whatever the batches"
    );
}

#[test]
fn all_of_the_n_best_have_them() {
    let text = translate(TERMS, &["--json", "--nbest", "3", "--beam", "3"]);
    let line: Value = serde_json::from_str(text.lines().nth(1).unwrap()).unwrap();
    let all = line["n_best"].as_array().unwrap();
    assert_eq!(all.len(), 3);
    assert!(
        all.iter()
            .all(|one| has(one["translation"].as_str().unwrap(), "quartet")),
        "{all:?}"
    );
}

#[test]
fn documents_have_them() {
    let folder = tempfile::tempdir().unwrap();
    let model = Trained::get().model();
    let file = glossary(folder.path(), TERMS);
    let arguments = [
        "translate",
        "--model",
        &model,
        "--glossary",
        &file,
        "--format",
        "html",
    ];
    let page = "<p>eins <b>vier</b></p><p>null</p>";
    let text = stdout(&run_with(&arguments, page.as_bytes()));
    assert!(
        text.contains("quartet") && text.contains("nil") && text.contains("<b>"),
        "{text}"
    );
}

#[test]
fn a_line_with_too_many_terms_is_translated_with_the_longest_and_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    // The first two are the shortest.
    let word = |number: usize| {
        if number < 2 {
            format!("{number}")
        } else {
            format!("z{}", number + 10)
        }
    };
    let terms: String = (0..66)
        .map(|number| format!("{}\t{}\n", word(number), number + 100))
        .collect();
    let model = Trained::get().model();
    let file = glossary(folder.path(), &terms);
    let all: Vec<String> = (0..66).map(word).collect();
    let input = format!("{}\neins zwei\n", all.join(" "));
    let arguments = [
        "translate",
        "--model",
        &model,
        "--glossary",
        &file,
        "--beam",
        "1",
    ];
    let output = run_with(&arguments, input.as_bytes());
    let text = stdout(&output);
    assert_eq!(text.lines().count(), 2, "{text}");
    let first = text.lines().next().unwrap();
    assert!(
        has(first, "165") && has(first, "102") && !has(first, "101"),
        "{first}"
    );
    assert!(
        stderr(&output).contains("the 64 longest of 66 terms"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn files_with_faults_are_refused_by_line() {
    let folder = tempfile::tempdir().unwrap();
    let model = Trained::get().model();
    let given = |text: &str, needles: &[&str]| {
        let file = glossary(folder.path(), text);
        refused(
            &["translate", "--model", &model, "--glossary", &file],
            1,
            needles,
        );
    };
    given("vier\tfour\nacht", &["terms.tsv:2", "tab"]);
    given(
        "vier\tfour\nvier\tquartet",
        &["terms.tsv:2", "vier", "terms.tsv:1"],
    );
    given("vier\t", &["terms.tsv:1", "empty"]);
    given("vier\tfo\u{1}ur", &["terms.tsv:1", "vocabulary"]);
    refused(
        &["translate", "--model", &model, "--glossary", "missing.tsv"],
        1,
        &["missing.tsv"],
    );
    let file = glossary(folder.path(), TERMS);
    let arguments = [
        "translate",
        "--model",
        &model,
        "--glossary",
        &file,
        "--sample",
    ];
    assert_refused(
        &run_with(&arguments, b"vier\n"),
        2,
        &["--glossary", "--sample"],
    );
    let served = format!("de-fr={file}");
    let arguments = [
        "serve",
        "--model",
        &format!("de-en={model}"),
        "--glossary",
        &served,
    ];
    refused(&arguments, 2, &["de-fr", "--model"]);
}
