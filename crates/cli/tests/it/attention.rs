//! `attention` and `plot` on a model that has learned a toy pair of languages word by word.

use std::fs;

use crate::common::{Trained, run, stderr, stdout};
use serde_json::Value;

fn attention(more: &[&str]) -> std::process::Output {
    let model = Trained::get().model();
    run(&[&["attention", "--model", &model], more].concat())
}

#[test]
fn the_terminal_shows_the_sentence_its_translation_and_a_row_for_each_piece() {
    let text = stdout(&attention(&["eins zwei drei"]));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "eins zwei drei → one two three");
    assert_eq!(lines[1], "Cross-attention, layer 1, mean of heads");
    assert!(
        lines
            .iter()
            .any(|line| line.trim_start().starts_with("</s> ")),
        "{text}"
    );
    let decoder = stdout(&attention(&[
        "eins", "--part", "decoder", "--layer", "1", "--head", "4",
    ]));
    assert!(
        decoder.contains("Decoder self-attention, layer 1, head 4"),
        "{decoder}"
    );
}

#[test]
fn json_holds_every_weight() {
    let text = stdout(&attention(&["eins zwei", "--target", "two one", "--json"]));
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["target"], "two one");
    let kinds: Vec<&str> = json["panels"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["encoder", "decoder", "cross"]);
    for panel in json["panels"].as_array().unwrap() {
        let heads = panel["layers"][0].as_array().unwrap();
        assert_eq!(heads.len(), 4);
        let rows = heads[3].as_array().unwrap();
        assert_eq!(rows.len(), panel["queries"].as_array().unwrap().len());
        let sum: f64 = rows[0]
            .as_array()
            .unwrap()
            .iter()
            .map(|w| w.as_f64().unwrap())
            .sum();
        assert!((sum - 1.0).abs() < 1e-4, "{sum}");
    }
}

/// The toy pair translates word by word, so the true alignment is the diagonal.
#[test]
fn alignments_of_a_file_have_a_line_a_pair_and_find_the_words() {
    let trained = Trained::get();
    let [source, target] = trained
        .corpus
        .test
        .each_ref()
        .map(|path| path.display().to_string());
    let text = stdout(&attention(&["--file", &source, &target, "--alignments"]));
    let sources = fs::read_to_string(&source).unwrap();
    assert_eq!(text.lines().count(), sources.lines().count());
    let mut right = 0;
    let mut all = 0;
    for (line, source) in text.lines().zip(sources.lines()) {
        let words = source.split_whitespace().count();
        assert_eq!(line.split(' ').count(), words, "{line}");
        for (target, link) in line.split(' ').enumerate() {
            all += 1;
            right += usize::from(link == format!("{target}-{target}"));
        }
    }
    assert!(10 * right >= 8 * all, "{right} of {all} links are right");
}

#[test]
fn a_page_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("a.html").display().to_string();
    let output = attention(&["vier fünf", "--html", &page]);
    assert_eq!(stdout(&output), "", "a page was asked for, not text");
    assert!(fs::read_to_string(&page).unwrap().contains("vier fünf"));
    let model = ["--model", "embedded:de-en", "--device", "cpu"];
    run(&[&["attention", "Ja.", "--html", &page], &model[..]].concat());
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("<title>Attention of embedded:de-en</title>"));
}

#[test]
fn a_layer_or_head_that_the_model_lacks_is_refused_with_the_range() {
    let refusal = |more: &[&str]| {
        let output = attention(&[&["eins"], more].concat());
        assert_eq!(output.status.code(), Some(1));
        stderr(&output)
    };
    assert!(refusal(&["--layer", "2"]).contains("--layer 2: the model has layers 1 to 1"));
    let head = refusal(&["--layer", "1", "--head", "5"]);
    assert!(
        head.contains("--head 5: layer 1 has heads 1 to 4"),
        "{head}"
    );
    assert_eq!(
        attention(&[]).status.code(),
        Some(2),
        "neither a sentence nor a file"
    );
}

#[test]
fn heads_are_named_by_what_they_do_over_a_file() {
    let trained = Trained::get();
    let [source, target] = trained
        .corpus
        .test
        .each_ref()
        .map(|path| path.display().to_string());
    let file = ["--heads", "--file", &source, &target];
    let table = stdout(&attention(&file));
    assert_eq!(
        table.lines().count(),
        1 + 3 * 4,
        "a line for each head: {table}"
    );
    assert!(table.starts_with("part     layer head  role "), "{table}");
    let json: Value =
        serde_json::from_str(&stdout(&attention(&[&file[..], &["--json"]].concat()))).unwrap();
    for habit in json.as_array().unwrap() {
        let share = |index: usize| habit["shares"][index].as_f64().unwrap();
        let near = share(0) + share(1) + share(2);
        assert!(near <= share(4) + 1e-6 && share(4) <= 1.0 + 1e-6, "{habit}");
    }
}

#[test]
fn curves_of_a_run_are_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let run_dir = Trained::get().run_dir().display().to_string();
    let svg = folder.path().join("run.svg").display().to_string();
    stdout(&run(&[
        "plot",
        &run_dir,
        "--against",
        "minutes",
        "-o",
        &svg,
    ]));
    let svg = fs::read_to_string(svg).unwrap();
    for title in [
        "Loss",
        "Perplexity",
        "BLEU of the validation text",
        "Learning rate",
        "Speed",
    ] {
        assert!(svg.contains(title), "{title}");
    }
    assert!(svg.contains("run, validation") && svg.contains("minutes"));
    let missing = run(&["plot", "no/such/run", "-o", "x.svg"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(
        stderr(&missing).contains("no/such/run"),
        "{}",
        stderr(&missing)
    );
}
