//! Texts that cannot be scored. The error names the file, line and remedy.

use crate::common;
use std::fs;
use std::path::PathBuf;

use crate::common::{Untrained, assert_runs, refused, run, stderr};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path: PathBuf = self.0.path().join(name);
        fs::write(&path, content).unwrap();
        path.display().to_string()
    }
}

#[test]
fn hypotheses_and_references_that_do_not_match_are_named() {
    let folder = Folder::new();
    let three = folder.write("three", "a\nb\nc\n");
    let two = folder.write("two", "a\nb\n");
    let empty = folder.write("empty", "");
    let latin = folder.write("latin", b"a\nb\ncaf\xe9\n");
    let eval = |hypothesis: &str, reference: &str, needles: &[&str]| {
        let arguments = [
            "eval-bleu",
            "--hypothesis",
            hypothesis,
            "--reference",
            reference,
        ];
        refused(&arguments, 1, needles);
    };
    eval(
        &two,
        &three,
        &[
            "two ends after line 2",
            "three has 3 lines",
            "line 3 has no partner",
        ],
    );
    eval(
        &three,
        &two,
        &[
            "two ends after line 2",
            "three has 3 lines",
            "line 3 has no partner",
        ],
    );
    eval(&empty, &three, &["empty: the file is empty"]);
    eval(&three, &empty, &["empty: the file is empty"]);
    eval(&latin, &three, &["latin:3", "0xe9 at byte 4", "iconv"]);
    eval(&three, &latin, &["latin:3", "0xe9 at byte 4"]);
    eval("/no/such", &three, &["/no/such: no such file"]);
    eval(&three, "/no/such", &["/no/such: no such file"]);
    eval("-", "-", &["`-` was given twice"]);
}

#[test]
fn options_of_the_search_need_a_model() {
    let folder = Folder::new();
    let text = folder.write("text", "a\n");
    for option in [
        ["--beam", "2"],
        ["--alpha", "1"],
        ["--source-language", "de"],
    ] {
        let arguments = ["eval-bleu", "--hypothesis", &text, "--reference", &text];
        refused(&[&arguments[..], &option].concat(), 2, &["--model"]);
    }
}

#[test]
fn options_out_of_range_are_wrong_usage() {
    let folder = Folder::new();
    let text = folder.write("text", "a b c d e\n");
    let fixed = ["eval-bleu", "--hypothesis", &text, "--reference", &text];
    let cases: [(&[&str], &[&str]); 6] = [
        (&["--width", "100000"], &["--width", "0..=15"]),
        (
            &["--confidence", "--confidence-n", "0"],
            &["--confidence-n"],
        ),
        (
            &["--confidence", "--confidence-n", "1000000000000"],
            &["--confidence-n", "1000000"],
        ),
        (
            &["--tokenize", "14a"],
            &["14a", "13a, intl, char, zh, none"],
        ),
        (
            &["--smooth", "much"],
            &["much", "exp, floor, add-k and none"],
        ),
        (&["--metric", "meteor"], &["meteor", "chrf"]),
    ];
    for (more, needles) in cases {
        refused(&[&fixed[..], more].concat(), 2, needles);
    }
}

#[test]
fn hostile_text_is_scored_and_only_what_would_fill_the_memory_refused() {
    let folder = Folder::new();
    let word = "x".repeat(1_000_000);
    let text = folder.write("text", format!("\0\n\n{word}\na\u{2028}b\rc\n"));
    let mut arguments = vec![
        "eval-bleu",
        "--hypothesis",
        &text,
        "--reference",
        &text,
        "--metric",
    ];
    arguments.extend(["bleu", "chrf", "chrf++", "ter"]);
    let output = run(&arguments);
    assert!(output.status.success(), "{}", common::stderr(&output));
    let words = folder.write(
        "words",
        "a b\n".to_owned() + &"eins ".repeat(100_000) + "\n",
    );
    let arguments = [
        "eval-bleu",
        "--hypothesis",
        &words,
        "--reference",
        &words,
        "--metric",
        "ter",
    ];
    refused(&arguments, 1, &["TER", "line 2", "100000 words", "split"]);
}

#[test]
fn pairs_that_cannot_be_scored_by_a_model_are_named() {
    let folder = Folder::new();
    let model = Untrained::get().model().display().to_string();
    let one = folder.write("one", "eins\n");
    let two = folder.write("two", "one\ntwo\n");
    let three = folder.write("three.tsv", "eins\tone\nzwei\ttwo\t2\n");
    let long = folder.write("long", "eins ".repeat(100_000) + "\n");
    let score = |more: &[&str], needles: &[&str]| {
        refused(
            &[&["score", "--model", &model, "--source"][..], more].concat(),
            1,
            needles,
        );
    };
    score(
        &[&long, "--target", &one],
        &["long: sentence 1", "at most 1024", "split"],
    );
    score(
        &[&one, "--target", &long],
        &["sentence 1: the target", "at most 1024"],
    );
    score(&["/no/such"], &["/no/such: no such file"]);
    let one_and_long = folder.write("one_and_long", format!("one\n{}\n", "one ".repeat(100_000)));
    let after_the_first: [(&[&str], &[&str]); 4] = [
        (
            &[&one, "--target", &two],
            &["one ends after line 1", "line 2 has no partner"],
        ),
        (&[&three], &["three.tsv:2", "3 columns"]),
        (
            &[&one_and_long, "--target", &two],
            &["one_and_long: sentence 2: the source"],
        ),
        (
            &[&two, "--target", &one_and_long],
            &["sentence 2: the target", "at most 1024"],
        ),
    ];
    for (more, needles) in after_the_first {
        let output = run(&[&["score", "--model", &model, "--source"][..], more].concat());
        let message = common::stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(
            needles.iter().all(|needle| message.contains(needle)),
            "{message}"
        );
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(
            text.lines().count(),
            1,
            "the pair before it is scored: {text}"
        );
    }
}

#[test]
fn empty_lines_are_scored_like_any_other() {
    let folder = Folder::new();
    let model = Untrained::get().model().display().to_string();
    let source = folder.write("source", "eins\n\n   \nzwei\n\n");
    let target = folder.write("target", "one\n\ntwo\n\n\n");
    let arguments = [
        "score", "--model", &model, "--source", &source, "--target", &target,
    ];
    let text = common::stdout(&run(&arguments));
    let totals = text
        .lines()
        .map(|line| line.split('\t').next().unwrap().parse::<f64>().unwrap());
    let totals: Vec<f64> = totals.collect();
    assert_eq!(totals.len(), 5);
    assert!(
        totals.iter().all(|total| total.is_finite() && *total < 0.0),
        "{totals:?}"
    );
    assert_eq!(totals[1], totals[4], "an empty pair is one of </s> alone");
    let fixed = [
        "eval-bleu",
        "--model",
        &model,
        "--source",
        &source,
        "--reference",
        &target,
    ];
    let written = folder.write("written", "");
    assert_runs(&[&fixed[..], &["--beam", "1", "--output", &written]].concat());
    let lines = fs::read_to_string(&written).unwrap();
    let blank: Vec<bool> = lines.split_terminator('\n').map(str::is_empty).collect();
    assert_eq!(blank.len(), 5, "{lines:?}");
    assert!(blank[1] && blank[2] && blank[4], "{lines:?}");
}

#[test]
fn a_model_with_an_n_best_setting_is_scored_with_any_beam() {
    let folder = Folder::new();
    let copy = Untrained::get().copy();
    let settings = copy.path().join("generation.json");
    let mut json: serde_json::Value =
        serde_json::from_slice(&fs::read(&settings).unwrap()).unwrap();
    (json["beam_size"], json["n_best"]) = (8.into(), 8.into());
    fs::write(&settings, json.to_string()).unwrap();
    burnformer_core::model_dir::seal(copy.path()).unwrap();
    let model = copy.path().display().to_string();
    let text = folder.write("text", "eins\n");
    let fixed = [
        "eval-bleu",
        "--model",
        &model,
        "--source",
        &text,
        "--reference",
        &text,
    ];
    assert_runs(&[&fixed[..], &["--beam", "1"]].concat());
}

#[test]
fn a_translation_that_cannot_be_written_is_known_before_the_work() {
    let folder = Folder::new();
    let model = Untrained::get().model().display().to_string();
    let text = folder.write("text", "eins\n");
    let fixed = [
        "eval-bleu",
        "--model",
        &model,
        "--source",
        &text,
        "--reference",
        &text,
    ];
    let eval = |output: &str, code, needles: &[&str]| {
        refused(&[&fixed[..], &["--output", output]].concat(), code, needles);
    };
    eval(
        "/no/such/folder/x",
        1,
        &["/no/such/folder/x: cannot be written"],
    );
    eval(&text, 2, &["is both input and output"]);
    assert_eq!(fs::read_to_string(&text).unwrap(), "eins\n");
}

/// sacreBLEU 2.6.0 warns from 100 lines on that end in a space and a full stop. White space behind
/// them does not count, nor do other marks and spaces.
#[test]
fn a_text_that_looks_tokenised_is_named() {
    let folder = Folder::new();
    for (end, count, is_named) in [
        (" .", 99, false),
        (" .", 100, true),
        (" . ", 100, true),
        ("  .", 100, true),
        (" ?", 100, false),
        (".", 100, false),
    ] {
        let text = format!("a b c d e{end}\n").repeat(count) + "The end.\n";
        let file = folder.write("text", text);
        let told = |more: &[&str]| {
            let eval = ["eval-bleu", "--hypothesis", &file, "--reference", &file];
            stderr(&run(&[&eval[..], more].concat()))
        };
        let note = format!("warning: {file}: {count} translations end in a space");
        assert_eq!(told(&[]).contains(&note), is_named, "{end:?} {count}");
        assert_eq!(
            told(&["--baseline", &file]).matches(&note).count(),
            2 * usize::from(is_named)
        );
        assert!(!told(&["--metric", "chrf"]).contains("translations end"));
    }
}
