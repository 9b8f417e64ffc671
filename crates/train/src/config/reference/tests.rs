mod markdown;

use std::path::Path;

use self::markdown::markdown;
use super::settings_file::json;
use super::*;
use crate::config::TrainConfig;
use serde_json::Value;

fn all_keys() -> Vec<Key> {
    let sections = SettingsFile::ALL
        .into_iter()
        .flat_map(SettingsFile::sections);
    sections.flat_map(|section| section.keys).collect()
}

#[test]
fn every_key_and_every_value_is_described() {
    for key in all_keys() {
        assert!(
            key.description.len() > 20,
            "{} needs a doc comment",
            key.path
        );
        assert!(
            key.description.ends_with('.'),
            "{}: {}",
            key.path,
            key.description
        );
        // A link of rustdoc does not work on a page or a terminal.
        assert!(
            !key.description.contains("[`"),
            "{}: {}",
            key.path,
            key.description
        );
        assert!(key.default.is_some(), "{} has no default", key.path);
        for choice in key.choices {
            assert!(
                choice.description.len() > 10,
                "{} = {}",
                key.path,
                choice.value
            );
        }
    }
    for section in SettingsFile::Training.sections() {
        assert!(section.description.ends_with('.'), "[{}]", section.path);
    }
}

/// Paths of all values that are not tables.
fn leaves(prefix: &str, value: &Value, out: &mut Vec<String>) {
    for (name, value) in value.as_object().unwrap() {
        match value {
            Value::Object(_) => leaves(&format!("{prefix}{name}."), value, out),
            _ => out.push(format!("{prefix}{name}")),
        }
    }
}

#[test]
fn the_reference_has_every_key_that_a_file_can_have() {
    let mut expected = Vec::new();
    leaves("", &json(&TrainConfig::default()), &mut expected);
    let found = SettingsFile::Training
        .sections()
        .into_iter()
        .flat_map(|section| section.keys);
    let mut found: Vec<String> = found.map(|key| key.path).collect();
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}

#[test]
fn defaults_and_presets_match_resolved_configurations() {
    let found = |path: &str| all_keys().into_iter().find(|key| key.path == path).unwrap();
    let warmup = found("schedule.warmup");
    assert_eq!(
        (warmup.kind.as_str(), warmup.default_text()),
        ("integer", "4000".into())
    );
    let of = |name| {
        warmup
            .presets
            .iter()
            .find(|(preset, _)| *preset == name)
            .map(|(_, v)| v.clone())
    };
    assert_eq!((of("tiny"), of("base")), (Some(500.into()), None));
    assert!(found("training.seed").fixed && !found("training.max_updates").fixed);
    let metric = found("validation.metric");
    let choices: Vec<_> = metric
        .choices
        .iter()
        .map(|choice| choice.value.as_str())
        .collect();
    assert_eq!(
        choices,
        ["\"auto\"", "\"bleu\"", "\"chrf\"", "\"ppl\"", "\"loss\""]
    );
    assert_eq!(found("data.train").kind, "list of strings");
    assert_eq!(found("max_length").kind, "integer or null");
    assert_eq!(found("sampling").kind, "table or null");
    assert_eq!(found("sampling.top_k").default_text(), "0");
}

#[test]
fn a_key_a_table_and_a_last_part_are_found_and_a_slip_has_a_suggestion() {
    let paths = |name| -> Vec<String> {
        let found = SettingsFile::Training.find(name).unwrap();
        found
            .into_iter()
            .flat_map(|section| section.keys)
            .map(|key| key.path)
            .collect()
    };
    assert_eq!(paths("training.budget"), ["training.budget"]);
    assert_eq!(paths("budget"), ["training.budget"]);
    assert_eq!(paths("max_sentences"), ["validation.max_sentences"]);
    let schedule =
        ["peak", "factor", "warmup", "shape", "cooldown"].map(|key| format!("schedule.{key}"));
    assert_eq!(paths("schedule"), schedule);
    assert!(paths("tokenizer").contains(&"tokenizer.train.joint".to_string()));
    let slip = SettingsFile::Training.find("training.buget");
    assert!(slip.unwrap_err().contains("\"training.budget\""));
    assert_eq!(SettingsFile::Training.find("").unwrap_err(), "");
}

#[test]
fn the_page_of_the_guide_matches_the_code() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    if std::env::var_os("BURNFORMER_WRITE_DOCS").is_some() {
        std::fs::write(&page, markdown()).unwrap();
    }
    let found = std::fs::read_to_string(&page).unwrap_or_default();
    let expected = markdown();
    let difference = found
        .lines()
        .zip(expected.lines())
        .find(|(found, expected)| found != expected);
    assert!(
        found.lines().eq(expected.lines()),
        "{} is not up to date ({difference:?}): write it anew by this test with BURNFORMER_WRITE_DOCS=1",
        page.display()
    );
}
