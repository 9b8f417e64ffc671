//! `settings`: shows, changes and refuses settings.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::common::{Untrained, refused, run, run_with, stderr, stdout};

fn settings(model: &str, more: &[&str]) -> Value {
    let output = run(&[&["settings", model, "--json", "-q"], more].concat());
    serde_json::from_str(&stdout(&output)).unwrap()
}

#[test]
fn a_changed_setting_is_used_from_then_on() {
    let copy = Untrained::get().copy();
    let model = copy.path().to_str().unwrap();
    let n_best = |json: &str| serde_json::from_str::<Value>(json).unwrap()["tokens"].clone();
    let translated = |more: &[&str]| {
        let arguments = [&["translate", "--model", model, "--json"], more].concat();
        n_best(&stdout(&run_with(&arguments, b"eins zwei drei\n")))
    };
    let by_option = translated(&["--max-length", "3", "--beam", "2"]);
    let all = settings(model, &["--set", "beam_size=2", "--set", "max_length=3"]);
    assert_eq!(
        (&all["beam_size"], &all["max_length"]),
        (&2.into(), &3.into())
    );
    assert_eq!(settings(model, &[]), all);
    assert_eq!(translated(&[]), by_option);
    let shown = stdout(&run(&["settings", "--model", model]));
    assert!(
        shown.starts_with("beam_size = 2\nlength_penalty = "),
        "{shown}"
    );
    assert_eq!(shown.lines().count(), all.as_object().unwrap().len());
    for option in ["--model", "-m"] {
        stdout(&run(&["inspect", option, model]));
    }
    assert_eq!(translated(&["--num-beams", "2"]), by_option);
}

#[test]
fn a_setting_that_breaks_translation_changes_nothing() {
    let copy = Untrained::get().copy();
    let model = copy.path().to_str().unwrap();
    let before = fs::read(copy.path().join("generation.json")).unwrap();
    let cases: [(&str, i32, &[&str]); 6] = [
        ("beam_size=0", 2, &["beam_size = 0", "between 1 and 1000"]),
        ("n_best=9", 2, &["n_best = 9", "raise beam_size"]),
        (
            "beam_size=six",
            2,
            &["--set beam_size=six", "burnformer config beam_size"],
        ),
        ("num_beams=6", 2, &["here it is \"beam_size\""]),
        ("beam", 2, &["KEY=VALUE"]),
        ("suppress=[99999999]", 1, &["stays as it is", "99999999"]),
    ];
    for (set, code, needles) in cases {
        refused(&["settings", model, "--set", set], code, needles);
        assert_eq!(
            fs::read(copy.path().join("generation.json")).unwrap(),
            before,
            "{set}"
        );
    }
    fs::create_dir(copy.path().join("notes")).unwrap();
    refused(
        &["settings", model, "--set", "beam_size=2"],
        1,
        &["holds folders"],
    );
    fs::remove_dir(copy.path().join("notes")).unwrap();
    fs::write(copy.path().join("generation.json"), "{}").unwrap();
    refused(
        &["translate", "--model", model],
        1,
        &["`burnformer settings MODEL --set KEY=VALUE`"],
    );
}

#[cfg(unix)]
#[test]
fn a_model_that_others_name_is_to_be_copied_and_the_copy_can_be_changed() {
    let change = ["--set", "beam_size=2"];
    let refusal = run(&[&["settings", "embedded:de-en"], &change[..]].concat());
    assert_eq!(refusal.status.code(), Some(1));
    let said = stderr(&refusal);
    let remedy = said.split('`').nth(1).unwrap_or_else(|| panic!("{said}"));
    let folder = tempfile::tempdir().unwrap();
    let copied = Command::new("sh")
        .args(["-c", remedy])
        .current_dir(&folder)
        .status()
        .unwrap();
    assert!(copied.success(), "{remedy}");
    let model = folder.path().join(Path::new("my-model"));
    let all = settings(model.to_str().unwrap(), &change);
    assert_eq!(all["beam_size"], 2);
    assert_ne!(settings("embedded:de-en", &[])["beam_size"], 2);
}
