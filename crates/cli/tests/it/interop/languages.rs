//! Imported models of several languages.

use std::fs;

use super::{fixture, opus};
use crate::common::{assert_refused, run, run_with, stderr, stdout};

#[test]
fn a_model_of_several_languages_is_told_which_ones_and_refuses_to_guess() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let model = path("model");
    let text = path("text");
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
    assert!(
        stderr(&silent).contains("--source-language"),
        "{}",
        stderr(&silent)
    );
    let bleu = [
        "eval-bleu",
        "--model",
        &model,
        "--source",
        &text,
        "--reference",
        &text,
    ];
    assert!(stdout(&run(&[&bleu[..], &languages].concat())).contains("BLEU"));
}

#[test]
fn a_model_with_target_tags_asks_for_one_of_its_list() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("model").display().to_string();
    stdout(&run(&[
        "import",
        &opus(folder.path(), "opus", |_| ()),
        "--out",
        &model,
    ]));
    let silent = run_with(&["translate", "--model", &model], b"the house\n");
    let said = stderr(&silent);
    assert!(
        said.contains(">>fra<<") && said.contains("--target-language"),
        "{said}"
    );
    assert_eq!(stdout(&silent).lines().count(), 1);
    for language in ["fra", "ro"] {
        let told = [
            "translate",
            "--model",
            &model,
            "--target-language",
            language,
        ];
        let told = run_with(&told, b"the house\n");
        assert!(
            !stderr(&told).contains("--target-language"),
            "{}",
            stderr(&told)
        );
        stdout(&told);
    }
    let other = ["translate", "--model", &model, "--target-language", "de"];
    assert_refused(
        &run_with(&other, b"the house\n"),
        2,
        &["fra, ron", "\"de\""],
    );
}
