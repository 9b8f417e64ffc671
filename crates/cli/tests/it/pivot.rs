//! Translation by two models in a row.

use std::fs;

use serde_json::Value;

use crate::common::{assert_refused, run_with, stdout};

const FIRST: &str = "embedded:de-en";
const SECOND: &str = "embedded:en-de";
const LINES: &str = "Das Haus ist klein.\n\nIch habe 12.345,60 Euro für {name}.\n\
    ICH MÖCHTE EINEN KAFFEE.\nWo wohnst du?\n";

/// The output of `translate` from German into English and back, with `more` arguments.
fn there_and_back(more: &[&str], text: &str) -> String {
    let arguments = ["translate", "--model", FIRST, "--then", SECOND];
    stdout(&run_with(&[&arguments, more].concat(), text.as_bytes()))
}

#[test]
fn two_models_in_a_row_translate_like_two_runs() {
    let first = ["translate", "--model", FIRST];
    let english = stdout(&run_with(&first, LINES.as_bytes()));
    let second = ["translate", "--model", SECOND];
    let german = stdout(&run_with(&second, english.as_bytes()));
    assert_eq!(there_and_back(&[], LINES), german);
    assert!(
        german.contains("{name}") && german.contains("12.345,60"),
        "{german}"
    );
    let records = there_and_back(&["--json", "--nbest", "3"], LINES);
    let records: Vec<Value> = records
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let middle = records.iter().map(|it| it["through"].as_str().unwrap());
    assert!(middle.eq(english.lines()), "{records:?}");
    let best = records.iter().map(|it| it["translation"].as_str().unwrap());
    assert!(best.eq(german.lines()), "{records:?}");
    assert!(
        records
            .iter()
            .all(|it| it["n_best"].as_array().unwrap().len() == 3)
    );
    let sources = records.iter().map(|it| it["source"].as_str().unwrap());
    assert!(sources.eq(LINES.lines()));
}

#[test]
fn terms_and_memories_lead_from_the_first_language_to_the_last() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let glossary = file("terms.tsv", "Haus\tBauwerk\n");
    let memory = file("memory.tsv", "Wo wohnst du?\tWO DU WOHNST\n");
    let more = ["--glossary", &glossary, "--memory", &memory];
    let text = there_and_back(&more, LINES);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains("Bauwerk"), "{text}");
    assert_eq!(lines[4], "WO DU WOHNST");
    let html = "<p>Das <b>Haus</b> ist klein.</p>\n<p>Wo wohnst du?</p>\n";
    let page = there_and_back(&[&more[..], &["--format", "html"]].concat(), html);
    assert_eq!(page.matches("<b>").count(), 1, "{page}");
    assert!(
        page.contains("Bauwerk") && page.contains("<p>WO DU WOHNST</p>"),
        "{page}"
    );
}

#[test]
fn a_wrong_second_model_is_named() {
    let missing = ["translate", "--then", "/no/such"];
    assert_refused(&run_with(&missing, b"eins\n"), 1, &["/no/such"]);
    let alone = ["translate", "--through", "en"];
    assert_refused(&run_with(&alone, b"eins\n"), 2, &["--then"]);
    let single = ["translate", "--then", SECOND, "--through", "en"];
    assert_refused(
        &run_with(&single, b"eins\n"),
        2,
        &["--through", "leave it out"],
    );
}
