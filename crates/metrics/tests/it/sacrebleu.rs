//! The fixtures: expected values from sacreBLEU 2.6.0, see `fixtures/README.md`.

use std::path::Path;

use crate::common::{
    as_ours, assert_close, assert_signature, bleu, metric, read, streams, strings,
};
use burnformer_metrics::{
    Bootstrap, Confidence, Metric, References, Score, Statistics, approximate_randomization,
    as_strs, paired_bootstrap,
};
use serde_json::Value;

const EXACT: f64 = 1e-9;
/// sacreBLEU resamples in single precision.
const SINGLE: f64 = 1e-4;

fn fixture() -> Value {
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/sacrebleu.json"))
}

fn cases<'a>(fixture: &'a Value, part: &str) -> &'a [Value] {
    fixture[part].as_array().unwrap()
}

fn metric_of(case: &Value) -> Box<dyn Metric> {
    metric(case["metric"].as_str().unwrap(), &case["options"])
}

fn evaluate(fixture: &Value, case: &Value) -> Score {
    let corpus = &fixture["corpora"][case["corpus"].as_str().unwrap()];
    let (hypotheses, references) = (
        strings(&corpus["hypotheses"]),
        streams(&corpus["references"]),
    );
    let (hypotheses, references) = (as_strs(&hypotheses), References::with_gaps(&references));
    match case["samples"].as_u64().unwrap() as usize {
        1 => metric_of(case).evaluate(&hypotheses, &references).unwrap(),
        samples => {
            let bootstrap = Bootstrap {
                samples,
                ..Bootstrap::default()
            };
            metric_of(case)
                .evaluate_with_confidence(&hypotheses, &references, bootstrap)
                .unwrap()
        }
    }
}

fn what(case: &Value) -> String {
    format!(
        "{} {} {} line {}",
        case["corpus"], case["metric"], case["options"], case["line"]
    )
}

fn statistics(fixture: &Value, corpus: &Value, metric: &dyn Metric) -> Statistics {
    let corpus = &fixture["corpora"][corpus.as_str().unwrap()];
    let (hypotheses, references) = (
        strings(&corpus["hypotheses"]),
        streams(&corpus["references"]),
    );
    metric
        .statistics(&as_strs(&hypotheses), &References::with_gaps(&references))
        .unwrap()
}

#[test]
fn corpus_scores_and_signatures_match_sacrebleu() {
    let fixture = fixture();
    for case in cases(&fixture, "scores") {
        let score = evaluate(&fixture, case);
        assert_close(score.value, &case["score"], EXACT, &what(case));
        assert_signature(&score.signature, &case["signature"], &what(case));
    }
}

#[test]
fn lengths_and_edits_match_sacrebleu() {
    let fixture = fixture();
    for case in cases(&fixture, "scores") {
        let sums = statistics(&fixture, &case["corpus"], &*metric_of(case)).sum();
        if case["metric"] == "bleu" {
            let score = bleu(&case["options"]).score(&sums);
            let lengths = [&case["sys_len"], &case["ref_len"]];
            assert_eq!(
                [score.sys_len, score.ref_len].map(Value::from).each_ref(),
                lengths,
                "{}",
                what(case)
            );
            assert_close(score.bp, &case["bp"], EXACT, &what(case));
            assert_close(score.ratio, &case["ratio"], EXACT, &what(case));
            for (found, expected) in score
                .precisions
                .iter()
                .zip(case["precisions"].as_array().unwrap())
            {
                assert_close(*found, expected, EXACT, &what(case));
            }
        } else if case["metric"] == "ter" {
            assert_eq!(sums[0], case["num_edits"], "{}", what(case));
            assert_close(sums[1], &case["ref_length"], EXACT, &what(case));
        }
    }
}

#[test]
fn sentence_scores_match_sacrebleu() {
    let fixture = fixture();
    for case in cases(&fixture, "sentences") {
        let corpus = &fixture["corpora"][case["corpus"].as_str().unwrap()];
        let line = case["line"].as_u64().unwrap() as usize;
        let hypothesis = corpus["hypotheses"][line].as_str().unwrap();
        let references: Vec<_> = corpus["references"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|stream| stream[line].as_str())
            .collect();
        let score = metric_of(case)
            .evaluate(&[hypothesis], &References::of_segment(&references))
            .unwrap();
        assert_close(score.value, &case["score"], EXACT, &what(case));
    }
}

#[test]
fn text_and_json_output_match_sacrebleu() {
    let fixture = fixture();
    let formatted: Vec<_> = cases(&fixture, "scores")
        .iter()
        .filter(|case| !case["text"].is_null())
        .collect();
    assert!(
        formatted.len() > 10,
        "only {} cases have formats",
        formatted.len()
    );
    for case in formatted {
        let score = evaluate(&fixture, case);
        assert_eq!(score.to_string(), as_ours(case["text"].as_str().unwrap()));
        // The texts are compared, because two objects with another order of keys are equal.
        assert_eq!(
            score.json(2).to_string(),
            as_ours(&case["json"].to_string())
        );
    }
}

#[test]
fn confidence_intervals_come_from_the_same_resamples() {
    let fixture = fixture();
    let resampled: Vec<_> = cases(&fixture, "scores")
        .iter()
        .filter(|case| case["samples"] != 1)
        .collect();
    assert_eq!(resampled.len(), 6);
    for case in resampled {
        let Confidence { mean, interval } = evaluate(&fixture, case).confidence.unwrap();
        assert_close(mean, &case["mean"], SINGLE, &what(case));
        assert_close(interval, &case["interval"], SINGLE, &what(case));
    }
}

#[test]
fn paired_tests_find_the_same_p_values() {
    let fixture = fixture();
    for case in cases(&fixture, "paired") {
        let (metric, what) = (
            metric_of(case),
            format!("{} {}", case["metric"], case["test"]),
        );
        let samples = Bootstrap {
            samples: case["samples"].as_u64().unwrap() as usize,
            seed: 12345,
        };
        let [baseline, system] =
            [0, 1].map(|i| statistics(&fixture, &case["systems"][i], &*metric));
        let (result, signature) = if case["test"] == "bs" {
            let signature = metric
                .signature(1.into())
                .with_bootstrap(samples.samples, samples.seed);
            (
                paired_bootstrap(&*metric, &baseline, &system, samples).unwrap(),
                signature,
            )
        } else {
            let signature = metric
                .signature(1.into())
                .with_randomization(samples.samples, samples.seed);
            (
                approximate_randomization(&*metric, &baseline, &system, samples).unwrap(),
                signature,
            )
        };
        assert_close(result.p_value, &case["p_value"], EXACT, &what);
        assert_close(result.baseline, &case["baseline"], EXACT, &what);
        assert_close(result.system, &case["system"], EXACT, &what);
        assert_signature(&signature, &case["signature"], &what);
        let intervals = result
            .baseline_confidence
            .into_iter()
            .chain(result.system_confidence);
        for (found, expected) in intervals.zip(case["confidence"].as_array().into_iter().flatten())
        {
            assert_close(found.mean, &expected[0], SINGLE, &what);
            assert_close(found.interval, &expected[1], SINGLE, &what);
        }
    }
}
