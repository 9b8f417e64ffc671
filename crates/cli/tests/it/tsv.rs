//! A `.tsv` file has two sides for every command. A command that needs one side reads its column.

use std::fs;
use std::path::Path;

use crate::common::{Trained, refused, run, run_with, stderr, stdout, train_arguments};

/// The toy's test text as `name` in the folder of its run: a TSV of both sides.
fn tsv(name: &str) -> String {
    let trained = Trained::get();
    let [source, target] = trained
        .corpus
        .test
        .each_ref()
        .map(|path| fs::read_to_string(path).unwrap());
    let rows: String = source
        .lines()
        .zip(target.lines())
        .map(|(a, b)| format!("{a}\t{b}\n"))
        .collect();
    let path = trained.folder.path().join(name);
    fs::write(&path, rows).unwrap();
    path.display().to_string()
}

fn text(side: usize) -> &'static str {
    Trained::get().corpus.test[side].to_str().unwrap()
}

#[test]
fn a_model_has_the_same_score_on_a_tsv_and_on_two_files() {
    let model = Trained::get().model();
    let tsv = tsv("score.tsv");
    let eval = |more: &[&str]| stdout(&run(&[&["eval-bleu", "--model", &model], more].concat()));
    let expected = eval(&["--source", text(0), "--reference", text(1)]);
    assert_eq!(eval(&["--source", &tsv]), expected);
    assert_eq!(eval(&["--source", &tsv, "--reference", &tsv]), expected);
    assert_eq!(eval(&["--source", &tsv, "--reference", text(1)]), expected);
    assert_eq!(eval(&["--source", text(0), "--reference", &tsv]), expected);
    // The translations are scored against themselves.
    let arguments = ["eval-bleu", "--hypothesis", &tsv, "--reference", text(1)];
    assert!(stdout(&run(&arguments)).contains(" = 100.0 "));
    let missing = ["eval-bleu", "--model", &model, "--source", text(0)];
    refused(&missing, 2, &["--reference", ".tsv"]);
}

#[cfg(unix)]
#[test]
fn a_tsv_that_comes_through_a_pipe_is_read_once() {
    let model = Trained::get().model();
    let tsv = tsv("piped.tsv");
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe.tsv");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let eval = |source: &str| stdout(&run(&["eval-bleu", "--model", &model, "--source", source]));
    let expected = eval(&tsv);
    let (from, to) = (tsv.clone(), pipe.clone());
    let writer = std::thread::spawn(move || fs::copy(from, to).unwrap());
    assert_eq!(eval(&pipe.display().to_string()), expected);
    writer.join().unwrap();
}

#[test]
fn translations_scores_and_pairs_are_those_of_the_right_column() {
    let model = Trained::get().model();
    let tsv = tsv("sides.tsv");
    let translate = |input: &str| stdout(&run(&["translate", "--model", &model, "--input", input]));
    assert_eq!(translate(&tsv), translate(text(0)));
    let prefixed = |prefix: &str| {
        [
            "translate",
            "--model",
            &model,
            "--input",
            &tsv,
            "--prefix",
            prefix,
        ]
        .map(String::from)
    };
    assert_eq!(
        stdout(&run(&prefixed(&tsv))),
        stdout(&run(&prefixed(text(1))))
    );
    let score = |more: &[&str]| {
        stdout(&run(
            &[&["score", "--model", &model, "--source"], more].concat()
        ))
    };
    assert_eq!(score(&[&tsv]), score(&[text(0), "--target", text(1)]));
    let folder = Trained::get().folder.path();
    let out = |name: &str| folder.join(name).display().to_string();
    let distill = |source: &str, out: &str| {
        stdout(&run(&[
            "distill", "--model", &model, "--source", source, "--out", out,
        ]));
        fs::read_to_string(out).unwrap()
    };
    assert_eq!(
        distill(&tsv, &out("a.tsv")),
        distill(text(0), &out("b.tsv"))
    );
    let chosen = ["--reference", &tsv, "--nbest", "2", "--out"];
    let arguments = [
        &["distill", "--model", &model, "--source", &tsv],
        &chosen[..],
    ]
    .concat();
    stdout(&run(&[&arguments[..], &[&out("c.tsv")]].concat()));
}

#[test]
fn a_line_without_two_columns_is_named_and_two_tables_are_no_two_sides() {
    let model = Trained::get().model();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let bad = path("bad.TSV");
    let a = path("a.tsv");
    let b = path("b.tsv.gz");
    fs::write(&bad, "eins\tone\nzwei\n").unwrap();
    fs::write(&a, "eins\tone\n").unwrap();
    fs::write(&b, "zwei\ttwo\n").unwrap();
    let output = run(&["translate", "--model", &model, "--input", &bad]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("bad.TSV:2: 1 column where"),
        "{}",
        stderr(&output)
    );
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "one\n",
        "the line before it"
    );
    refused(
        &["train", "--train", &a, &b, "--out", &path("run")],
        1,
        &["each with both sides", "cat"],
    );
    assert!(!Path::new(&path("run")).exists());
}

#[test]
fn a_tab_in_plain_text_warns_once() {
    let output = run_with(
        &["translate", "--model", &Trained::get().model()],
        b"eins\tone\nzwei\ttwo\n",
    );
    let said = stderr(&output);
    assert!(
        said.contains("standard input:1: the line has a tab") && said.contains(".tsv"),
        "{said}"
    );
    assert!(said.contains("2 lines in all had a tab"), "{said}");
    assert_eq!(stdout(&output).lines().count(), 2);
}

#[test]
fn a_mixture_can_be_a_tsv_with_its_weight() {
    let trained = Trained::get();
    let mixed = tsv("mixed.tsv");
    let more = [
        "--mix",
        &mixed,
        "0.5",
        "--mix",
        text(0),
        text(1),
        "2",
        "--dry-run",
    ];
    let output = run(&train_arguments(
        trained.folder.path(),
        &trained.corpus,
        "mixed",
        &more,
    ));
    let said = stdout(&output);
    assert!(
        said.contains("mixed.tsv\"]\nweight = 0.5") && said.contains("weight = 2.0"),
        "{said}"
    );
    for wrong in [
        &["--mix", "a", "b"][..],
        &["--mix", "a", "b", "0"],
        &["--mix", "a", "b", "nan"],
    ] {
        refused(
            &[&["train", "--dry-run"], wrong].concat(),
            2,
            &["--mix", "two files or one TSV"],
        );
    }
}
