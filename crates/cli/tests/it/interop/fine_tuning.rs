//! Imported models of several languages are fine-tuned.

use std::fs;

use serde_json::Value;

use super::fixture;
use crate::common::{assert_refused, run, run_with, stdout};

/// The losses of ten updates with label smoothing and without, by transformers in float64:
/// `crates/interop/tests/m2m100_training.py`.
const LOSSES: [(f64, f64); 10] = [
    (6.4741508, 6.4452681),
    (5.791961, 5.7224865),
    (5.5466498, 5.464998),
    (5.4339619, 5.3498568),
    (5.2341078, 5.1311294),
    (5.0819694, 4.9639355),
    (4.9736299, 4.8442691),
    (4.8817956, 4.7441604),
    (4.7880912, 4.6445458),
    (4.7076226, 4.5602212),
];

const TEXT: &str = "the house is small and red\tla maison est petite\n\
    a dog runs in the garden\tle chien court dans le jardin\n\
    the house is small\tla maison est petite et rouge\n";

/// Settings of ten updates of the whole text, as in the script.
const SETTINGS: [&str; 13] = [
    "model.dropout=0",
    "model.attention_dropout=0",
    "model.activation_dropout=0",
    "training.max_updates=10",
    "training.max_minutes=0",
    "training.log_every=1",
    "training.precision=float32",
    "training.label_smoothing=0.1",
    "optimizer.algorithm=adam",
    "optimizer.clip_norm=0",
    "schedule.shape=constant",
    "schedule.peak=0.01",
    "schedule.warmup=1",
];

/// A folder with the imported model, and a text to learn from.
fn imported() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("text.tsv"), TEXT).unwrap();
    let model = folder.path().join("model").display().to_string();
    stdout(&run(&["import", &fixture("m2m100/relu"), "--out", &model]));
    folder
}

/// The arguments that fine-tune the model in `folder`.
fn arguments(folder: &tempfile::TempDir, more: &[&str]) -> Vec<String> {
    let path = |name: &str| folder.path().join(name).display().to_string();
    let mut arguments = ["train", "--preset", "tiny", "--from"]
        .map(String::from)
        .to_vec();
    arguments.extend([path("model"), "--train".into(), path("text.tsv")]);
    arguments.extend(["--out".into(), path("run")]);
    let cache = format!("data.cache={}", path("cache"));
    let settings = SETTINGS.into_iter().chain([cache.as_str()]);
    arguments.extend(settings.flat_map(|setting| ["--set".to_owned(), setting.to_owned()]));
    arguments.extend(more.iter().map(ToString::to_string));
    arguments
}

#[test]
fn ten_updates_of_m2m100_have_the_losses_of_transformers() {
    let folder = imported();
    stdout(&run(&arguments(&folder, &["--languages", "en", "fr"])));
    let path = |name: &str| folder.path().join(name).display().to_string();
    let metrics = fs::read_to_string(path("run/metrics.jsonl")).unwrap();
    let records = metrics
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let train: Vec<Value> = records.filter(|it: &Value| it["kind"] == "train").collect();
    assert_eq!(train.len(), LOSSES.len());
    for (record, (loss, nll)) in train.iter().zip(LOSSES) {
        let apart = (record["loss"].as_f64().unwrap() - loss).abs();
        let nll_apart = (record["nll"].as_f64().unwrap() - nll).abs();
        assert!(apart < 1e-4 && nll_apart < 1e-4, "{record}: {loss} {nll}");
    }
    // The model still knows its languages, and goes out again.
    let model = path("run/last");
    let languages = ["--source-language", "en", "--target-language", "fr"];
    let translate = [&["translate", "--model", &model][..], &languages].concat();
    let translated = stdout(&run_with(&translate, b"the house is small\n"));
    assert!(!translated.contains("__"), "{translated}");
    stdout(&run(&[
        "export",
        "ctranslate2",
        "--model",
        &model,
        "--out",
        &path("ct2"),
    ]));
    assert!(fs::exists(path("ct2/model.bin")).unwrap());
}

#[test]
fn a_text_without_its_languages_or_with_unknown_ones_is_refused() {
    let folder = imported();
    let path = |name: &str| folder.path().join(name);
    let silent = run(&arguments(&folder, &[]));
    assert_refused(
        &silent,
        1,
        &[
            "tokens that name their languages",
            "--languages SOURCE TARGET",
        ],
    );
    let unknown = run(&arguments(&folder, &["--languages", "en", "eo"]));
    assert_refused(
        &unknown,
        1,
        &["en → eo", "\"eo\" is none of those that the model knows"],
    );
    let wrong = run(&arguments(&folder, &["--languages", "en", "french"]));
    assert_refused(&wrong, 2, &["\"french\"", "ISO 639"]);
    assert!(!path("run/config.toml").exists());
}
