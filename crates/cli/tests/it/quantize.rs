//! `quantize`, and translating in 8-bit integers.
#![cfg(unix)]

use std::fs;
use std::path::Path;

use crate::common::{Untrained, refused, run, run_with, stderr, stdout};

const TEXT: &[u8] = b"eins zwei drei\nneun acht sieben null eins eins zwei\n\nvier\n";

fn translate(model: &str, options: &[&str]) -> String {
    let arguments = [
        &["translate", "--model", model, "--max-length", "12"],
        options,
    ]
    .concat();
    stdout(&run_with(&arguments, TEXT))
}

fn size(dir: &str) -> u64 {
    fs::metadata(Path::new(dir).join("model.safetensors"))
        .unwrap()
        .len()
}

#[test]
fn a_quantised_model_is_a_quarter_as_large_and_translates_alike() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("int8").display().to_string();
    let model = Untrained::get().model().display().to_string();
    let said = run(&["quantize", "--model", &model, "--out", &out]);
    stdout(&said);
    assert!(stderr(&said).contains("MB instead of"), "{}", stderr(&said));
    assert!(
        size(&out) * 3 < size(&model),
        "{} {}",
        size(&out),
        size(&model)
    );
    let found = translate(&out, &[]);
    assert_eq!(found, translate(&out, &["--batch", "1"]));
    assert_eq!(found, translate(&out, &["--compute", "int8"]));
    assert_eq!(found.lines().count(), 4);
    assert_eq!(translate(&model, &["--compute", "int8"]).lines().count(), 4);
    assert_eq!(
        translate(&model, &[]),
        translate(&model, &["--compute", "float32"])
    );
    let inspected = stdout(&run(&["inspect", &out]));
    assert!(
        inspected.contains("compute") && inspected.contains("int8"),
        "{inspected}"
    );
}

#[test]
fn an_existing_output_and_a_quantised_model_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let [once, twice] =
        ["once", "twice"].map(|name| folder.path().join(name).display().to_string());
    let model = Untrained::get().model().display().to_string();
    stdout(&run(&["quantize", "--model", &model, "--out", &once]));
    refused(
        &["quantize", "--model", &model, "--out", &once],
        1,
        &["once: exists already", "--out"],
    );
    refused(
        &["quantize", "--model", &once, "--out", &twice],
        1,
        &["once: is quantised already"],
    );
    refused(
        &["quantize", "--model", "nowhere", "--out", &twice],
        1,
        &["nowhere: no such folder"],
    );
    refused(
        &["translate", "--model", &model, "--compute", "int4"],
        2,
        &["int4", "float32, bfloat16, int8"],
    );
    assert!(!Path::new(&twice).exists());
}
