//! `shortlist`, and translating with its output.

use crate::common;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{
    Trained, assert_refused, pairs, refused, run, run_with, stderr, stdout, write_pairs,
};

const INPUT: &[u8] = b"eins zwei drei\nneun acht sieben null\n\nvier\n";

/// Makes a shortlist for the trained model from pairs of its language.
fn made(folder: &Path, more: &[&str]) -> (String, String) {
    let [source, target] = write_pairs(folder, "text", &pairs(5, 500));
    let out = folder.join("list.safetensors").display().to_string();
    let [source, target] = [source, target].map(|path: PathBuf| path.display().to_string());
    let model = Trained::get().model();
    let fixed = [
        "shortlist",
        "--model",
        &model,
        "--train",
        &source,
        &target,
        "--out",
        &out,
    ];
    let made = run(&[&fixed[..], more].concat());
    assert_eq!(stdout(&made), "", "results go to the file");
    (out, stderr(&made))
}

fn translate(more: &[&str]) -> String {
    let model = Trained::get().model();
    stdout(&run_with(
        &[&["translate", "--model", &model][..], more].concat(),
        INPUT,
    ))
}

#[test]
fn a_shortlist_of_the_training_text_translates_as_all_tokens_do() {
    let folder = tempfile::tempdir().unwrap();
    let (list, said) = made(folder.path(), &["--first", "5", "--best", "20"]);
    assert!(
        said.contains("500 pairs") && said.contains("of 320 target tokens"),
        "{said}"
    );
    let found = translate(&["--shortlist", &list]);
    assert_eq!(found, translate(&[]));
    assert_eq!(
        found,
        translate(&["--shortlist", &list, "--batch", "1", "--chunk", "1"])
    );
    assert_eq!(
        found,
        translate(&["--shortlist", &list, "--compute", "int8"])
    );
    let scored = folder.path().join("scored");
    let model = Trained::get().model();
    let path = scored.display().to_string();
    let input = folder.path().join("input");
    fs::write(&input, INPUT).unwrap();
    let input = input.display().to_string();
    let fixed = [
        "eval-bleu",
        "--model",
        &model,
        "--source",
        &input,
        "--reference",
        &input,
    ];
    stdout(&run(&[
        &fixed[..],
        &["--shortlist", &list, "--output", &path],
    ]
    .concat()));
    assert_eq!(fs::read_to_string(scored).unwrap(), found);
}

#[test]
fn a_translation_has_only_tokens_of_its_list() {
    let folder = tempfile::tempdir().unwrap();
    // One frequent token, and only translations that are nearly certain.
    let (list, _) = made(
        folder.path(),
        &["--first", "1", "--best", "1", "--threshold", "0.999999"],
    );
    let free = translate(&["--max-length", "9"]);
    assert_ne!(
        translate(&["--shortlist", &list, "--max-length", "9"]),
        free
    );
    let prefix = folder.path().join("prefix");
    fs::write(&prefix, "seven\nseven\nseven\nseven\n").unwrap();
    let prefix = prefix.display().to_string();
    let found = translate(&[
        "--shortlist",
        &list,
        "--prefix",
        &prefix,
        "--max-length",
        "9",
    ]);
    assert!(
        found.lines().all(|line| line.starts_with("seven")),
        "{found}"
    );
}

#[test]
fn the_same_text_gives_the_same_file_on_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let (list, _) = made(folder.path(), &[]);
    let first = fs::read(&list).unwrap();
    let model = Trained::get().model();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let source = path("text.de");
    let target = path("text.en");
    let arguments = [
        "shortlist",
        "--model",
        &model,
        "--train",
        &source,
        &target,
        "--out",
        &list,
    ];
    let alone = common::burnformer(&arguments)
        .env("RAYON_NUM_THREADS", "1")
        .output()
        .unwrap();
    stdout(&alone);
    assert!(first == fs::read(&list).unwrap());
}

#[test]
fn a_file_that_is_not_a_shortlist_of_the_model_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let (list, _) = made(folder.path(), &[]);
    let model = Trained::get().model();
    let with = |list: &str, needles: &[&str]| {
        let arguments = ["translate", "--model", &model, "--shortlist", list];
        refused(&arguments, 1, needles);
    };
    with("missing.safetensors", &["missing.safetensors"]);
    let weights = Path::new(&model)
        .join("model.safetensors")
        .display()
        .to_string();
    with(
        &weights,
        &[
            "model.safetensors",
            "not a shortlist",
            "burnformer shortlist",
        ],
    );
    let cut = folder.path().join("cut").display().to_string();
    let whole = fs::read(&list).unwrap();
    fs::write(&cut, &whole[..whole.len() / 2]).unwrap();
    with(&cut, &["cut: ", "burnformer shortlist"]);
    refused(
        &["translate", "--shortlist", &list],
        1,
        &[&list, "vocabulary", "burnformer shortlist"],
    );
    let served = format!("de-fr={list}");
    let arguments = [
        "serve",
        "--model",
        &format!("de-en={model}"),
        "--shortlist",
        &served,
    ];
    refused(&arguments, 2, &["--shortlist de-fr", "--model"]);
}

#[test]
fn a_shortlist_cannot_be_made_of_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty.tsv");
    fs::write(&empty, "\t\n").unwrap();
    let empty = empty.display().to_string();
    let model = Trained::get().model();
    let out = folder.path().join("list").display().to_string();
    let fixed = ["shortlist", "--model", &model, "--out", &out, "--train"];
    refused(
        &[&fixed[..], &[&empty]].concat(),
        1,
        &["no pair", "parallel text"],
    );
    refused(&[&fixed[..], &["missing"]].concat(), 1, &["missing"]);
    let usage = run(&[&fixed[..], &[&empty, "--best", "0"]].concat());
    assert_refused(&usage, 2, &["best = 0"]);
    assert!(!Path::new(&out).exists());
}
