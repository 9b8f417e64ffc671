//! Searches of an independent program in float64, token for token and hypothesis for hypothesis.

use crate::common::{NAMES, Reference, ids};
use burnformer_infer::{
    Batching, FinishReason, Hypothesis, SearchSettings, StepModel, length_penalty, search,
};
use serde_json::Value;

const SEARCHES: [(&str, usize, f64); 3] = [
    ("beam1_alpha0.0", 1, 0.0),
    ("beam4_alpha0.6", 4, 0.6),
    ("beam5_alpha1.0", 5, 1.0),
];

fn assert_same(name: &str, key: &str, actual: &[Hypothesis], expected: &Value) {
    let expected = expected.as_array().unwrap();
    assert_eq!(actual.len(), expected.len(), "{name} {key}");
    for (index, (actual, expected)) in actual.iter().zip(expected).enumerate() {
        assert_eq!(
            actual.tokens,
            ids(&expected["tokens"]),
            "{name} {key} {index}"
        );
        let score = expected["score"].as_f64().unwrap();
        assert!(
            (actual.score - score).abs() < 1e-3,
            "{name} {key} {index}: {} {score}",
            actual.score
        );
    }
}

/// Runs all searches of all models under `batching`.
fn compare(batching: Batching) {
    for reference in NAMES.map(Reference::load) {
        let model = reference.model();
        for (key, beam, alpha) in SEARCHES {
            let settings = SearchSettings::beam(beam, alpha);
            let results = search(&model, &reference.requests(), &settings, &batching).unwrap();
            for (actual, expected) in results.iter().zip(reference.searches()) {
                assert_same(reference.name, key, actual, &expected[key]);
            }
        }
    }
}

#[test]
fn batched_searches_match_the_references() {
    compare(Batching::default());
}

#[test]
fn single_searches_match_the_references() {
    compare(Batching {
        max_sentences: 1,
        max_tokens: 1,
    });
}

#[test]
fn a_search_that_meets_the_limit_says_so() {
    let reference = Reference::load("learned_dk");
    let results = search(
        &reference.model(),
        &reference.requests(),
        &SearchSettings::greedy(),
        &Batching::default(),
    );
    // The fourth source sends this model round in circles until its 32 positions end.
    let results = results.unwrap();
    assert_eq!(results[3][0].finish, FinishReason::Limit);
    assert_eq!(results[3][0].tokens.len(), 31);
    assert_eq!(results[0][0].finish, FinishReason::EndOfSentence);
}

#[test]
fn forcing_a_found_translation_gives_its_log_probabilities() {
    for reference in NAMES.map(Reference::load) {
        let model = reference.model();
        let settings = SearchSettings::beam(4, 0.6);
        let requests = reference.requests();
        let found = search(&model, &requests, &settings, &Batching::default()).unwrap();
        let sources: Vec<&[u32]> = requests.iter().map(|r| &r.source[..]).collect();
        let targets: Vec<&[u32]> = found.iter().map(|h| &h[0].tokens[..]).collect();
        for (forced, found) in model
            .target_log_probs(&sources, &targets)
            .iter()
            .zip(&found)
        {
            assert_eq!(forced.len(), found[0].log_probs.len());
            let pairs = forced.iter().zip(&found[0].log_probs);
            assert!(
                pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-4),
                "{}",
                reference.name
            );
            let total: f64 = forced.iter().map(|&p| f64::from(p)).sum();
            let score = total / length_penalty(forced.len(), 0.6);
            assert!((score - found[0].score).abs() < 1e-4, "{}", reference.name);
        }
    }
}
