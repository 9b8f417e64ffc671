//! Two systems compared as sacreBLEU compares them (`crates/metrics/tests/fixtures/sacrebleu.json`
//! has its numbers).

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::{refused, run, stdout};

/// The columns of a corpus of the fixture as files: translations, and each stream of references.
fn write(folder: &Path, name: &str, corpus: &Value) -> (String, Vec<String>) {
    let column = |file: String, lines: &Value| {
        let path: PathBuf = folder.join(file);
        let lines = lines.as_array().unwrap().iter().map(|line| line.as_str().unwrap());
        fs::write(&path, lines.map(|line| format!("{line}\n")).collect::<String>()).unwrap();
        path.display().to_string()
    };
    let streams = corpus["references"].as_array().unwrap().iter().enumerate();
    let references = streams.map(|(place, lines)| column(format!("{name}.ref{place}"), lines));
    (column(name.to_owned(), &corpus["hypotheses"]), references.collect())
}

#[test]
fn two_systems_are_compared_with_sacrebleus_numbers() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../metrics/tests/fixtures/sacrebleu.json");
    let fixture: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for case in fixture["paired"].as_array().unwrap() {
        let text = |key: &str| case[key].as_str().unwrap().to_owned();
        let corpus = |place: usize| {
            let name = case["systems"][place].as_str().unwrap();
            write(folder.path(), name, &fixture["corpora"][name])
        };
        let ((baseline, references), (system, _)) = (corpus(0), corpus(1));
        let (samples, metric, test) = (case["samples"].to_string(), text("metric"), text("test"));
        let mut arguments = vec!["eval-bleu", "--hypothesis", &system, "--baseline", &baseline];
        arguments.extend(["--metric", &metric, "--paired", &test, "--trials", &samples]);
        arguments.push("--reference");
        arguments.extend(references.iter().map(String::as_str));
        let printed = stdout(&run(&arguments));
        let signature = text("signature").replace("version:2.6.0", "version:");
        assert!(printed.contains(&signature), "{printed}");
        assert!(printed.contains(&format!("(p = {:.4})", case["p_value"].as_f64().unwrap())));
        arguments.push("--json");
        let json: Value = serde_json::from_str(&stdout(&run(&arguments))).unwrap();
        let of = |place: usize| json[place].as_object().unwrap().values().nth(1).unwrap();
        let near = |found: &Value, expected: &Value| {
            let [found, expected] = [found, expected].map(|value| value.as_f64().unwrap());
            assert!((found - expected).abs() < 1e-4, "{case}: {found}");
        };
        near(&of(0)["score"], &case["baseline"]);
        near(&of(1)["score"], &case["system"]);
        near(&of(1)["p_value"], &case["p_value"]);
        assert!(of(0)["p_value"].is_null());
        for (place, expected) in case["confidence"].as_array().into_iter().flatten().enumerate() {
            near(&of(place)["mean"], &expected[0]);
            near(&of(place)["ci"], &expected[1]);
        }
    }
}

#[test]
fn a_baseline_of_another_length_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let (two, three) = (file("two", "a\nb\n"), file("three", "a\nb\nc\n"));
    let arguments = ["eval-bleu", "--hypothesis", &three, "--reference", &three];
    let cases: [(&[&str], i32, &[&str]); 3] = [
        (&["--baseline", &two], 1, &["two ends after line 2", "three has 3 lines"]),
        (&["--trials", "5"], 2, &["--baseline"]),
        (&["--baseline", &three, "--trials", "0"], 2, &["--trials"]),
    ];
    for (more, code, needles) in cases {
        refused(&[&arguments[..], more].concat(), code, needles);
    }
}
