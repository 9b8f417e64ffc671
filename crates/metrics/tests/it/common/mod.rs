//! Metrics from the options that sacreBLEU's constructors take.
#![allow(dead_code)] // Each test program uses another part.

use burnformer_metrics::{Bleu, Chrf, Metric, Signature, Smoothing, Ter, VERSION};
use serde_json::Value;

/// Texts and expectations of one file.
pub fn read(path: &std::path::Path) -> Value {
    let text =
        std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub fn metric(name: &str, options: &Value) -> Box<dyn Metric> {
    match name {
        "bleu" => Box::new(bleu(options)),
        "chrf" => Box::new(chrf(options)),
        "ter" => Box::new(ter(options)),
        _ => panic!("no metric is called {name}"),
    }
}

pub fn bleu(options: &Value) -> Bleu {
    let default = Bleu::default();
    let value = options["smooth_value"].as_f64();
    let smoothing = match (
        options["smooth_method"]
            .as_str()
            .unwrap_or("exp")
            .parse()
            .unwrap(),
        value,
    ) {
        (Smoothing::Floor(_), Some(value)) => Smoothing::Floor(value),
        (Smoothing::AddK(_), Some(value)) => Smoothing::AddK(value),
        (smoothing, _) => smoothing,
    };
    Bleu {
        tokenizer: options["tokenize"]
            .as_str()
            .map_or(default.tokenizer, |name| name.parse().unwrap()),
        lowercase: flag(options, "lowercase"),
        smoothing,
        effective_order: flag(options, "effective_order"),
        max_order: number(options, "max_ngram_order", default.max_order),
    }
}

pub fn chrf(options: &Value) -> Chrf {
    let default = Chrf::default();
    Chrf {
        char_order: number(options, "char_order", default.char_order),
        word_order: number(options, "word_order", default.word_order),
        beta: number(options, "beta", default.beta as usize) as u32,
        lowercase: flag(options, "lowercase"),
        whitespace: flag(options, "whitespace"),
        eps_smoothing: flag(options, "eps_smoothing"),
    }
}

pub fn ter(options: &Value) -> Ter {
    Ter {
        normalized: flag(options, "normalized"),
        no_punct: flag(options, "no_punct"),
        asian_support: flag(options, "asian_support"),
        case_sensitive: flag(options, "case_sensitive"),
    }
}

fn flag(options: &Value, key: &str) -> bool {
    options[key].as_bool().unwrap_or(false)
}

fn number(options: &Value, key: &str, default: usize) -> usize {
    options[key]
        .as_u64()
        .map_or(default, |value| value as usize)
}

pub fn strings(lines: &Value) -> Vec<String> {
    lines
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line.as_str().unwrap().to_owned())
        .collect()
}

/// Streams of references in which lines may be `null`.
pub fn streams(references: &Value) -> Vec<Vec<Option<String>>> {
    let stream = |lines: &Value| {
        lines
            .as_array()
            .unwrap()
            .iter()
            .map(|line| line.as_str().map(str::to_owned))
            .collect()
    };
    references.as_array().unwrap().iter().map(stream).collect()
}

pub fn assert_close(found: f64, expected: &Value, tolerance: f64, what: &str) {
    let expected = expected
        .as_f64()
        .unwrap_or_else(|| panic!("{what}: nothing is expected"));
    assert!(
        (found - expected).abs() <= tolerance,
        "{what}: {found}, sacreBLEU says {expected}"
    );
}

/// Every field but `version` is sacreBLEU's, and so is their order.
pub fn assert_signature(found: &Signature, expected: &Value, what: &str) {
    assert_eq!(
        found.to_string(),
        as_ours(expected.as_str().unwrap()),
        "{what}"
    );
}

/// sacreBLEU's text or JSON with our version.
pub fn as_ours(text: &str) -> String {
    ["v:", "version:", "\"version\":\""]
        .iter()
        .fold(text.to_owned(), |text, key| {
            text.replace(&format!("{key}2.6.0"), &format!("{key}{VERSION}"))
        })
}
