//! Cases scored by sacreBLEU 2.6.0 that are kept beside the repository; without them only the
//! fixtures are tested.

use std::path::Path;

use crate::common::{assert_close, assert_signature, bleu, metric, read, streams, strings};
use burnformer_metrics::{References, as_strs};
use serde_json::Value;

const TOLERANCE: f64 = 1e-4;

#[test]
fn every_shared_case_matches_sacrebleu() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/metrics/cases.json");
    if !path.exists() {
        eprintln!("SKIPPED: there are no shared cases at {}", path.display());
        return;
    }
    let file = read(&path);
    let cases = file["cases"].as_array().unwrap();
    cases.iter().for_each(check);
    eprintln!(
        "{} shared cases agree with sacreBLEU {}",
        cases.len(),
        file["sacrebleu"]
    );
}

fn check(case: &Value) {
    let mut options = case["options"].clone();
    if !case["tokenize"].is_null() {
        options["tokenize"] = case["tokenize"].clone();
    }
    let what = format!("{} {} {options}", case["name"], case["metric"]);
    let (hypotheses, references) = (strings(&case["hypotheses"]), streams(&case["references"]));
    let metric = metric(case["metric"].as_str().unwrap(), &options);
    let score = metric
        .evaluate(&as_strs(&hypotheses), &References::with_gaps(&references))
        .unwrap();
    assert_close(score.value, &case["score"], TOLERANCE, &what);
    assert_signature(&score.signature, &case["signature"], &what);
    if case["metric"] == "bleu" {
        check_bleu_details(case, &options, &hypotheses, &what);
    }
}

fn check_bleu_details(case: &Value, options: &Value, hypotheses: &[String], what: &str) {
    let references: Vec<_> = case["references"]
        .as_array()
        .unwrap()
        .iter()
        .map(strings)
        .collect();
    let score = bleu(options).corpus_score(hypotheses, &references).unwrap();
    assert_close(score.bp, &case["bp"], 1e-9, what);
    assert_eq!(Value::from(score.sys_len), case["sys_len"], "{what}");
    assert_eq!(Value::from(score.ref_len), case["ref_len"], "{what}");
    assert_eq!(Value::from(score.counts), case["counts"], "{what}");
    assert_eq!(Value::from(score.totals), case["totals"], "{what}");
    for (found, expected) in score
        .precisions
        .iter()
        .zip(case["precisions"].as_array().unwrap())
    {
        assert_close(*found, expected, TOLERANCE, what);
    }
}
