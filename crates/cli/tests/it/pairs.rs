//! One model for several pairs of languages.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use serde_json::Value;

use crate::common::{self, assert_refused, run, run_with, stderr, stdout, tiny_settings};

/// The French words of the toy language.
const FRENCH: [(&str, &str); 10] = [
    ("one", "un"),
    ("two", "deux"),
    ("three", "trois"),
    ("four", "quatre"),
    ("five", "cinq"),
    ("six", "six"),
    ("seven", "sept"),
    ("eight", "huit"),
    ("nine", "neuf"),
    ("zero", "zéro"),
];

fn french(english: &str) -> String {
    let words = english.split(' ');
    let word = |word: &str| FRENCH.iter().find(|(known, _)| *known == word).unwrap().1;
    words.map(word).collect::<Vec<_>>().join(" ")
}

/// Writes `name.de-en.tsv` and `name.en-fr.tsv`.
fn write(folder: &Path, name: &str, seed: u64, count: usize) {
    let german: String = common::pairs(seed, count)
        .into_iter()
        .map(|(de, en)| format!("{de}\t{en}\n"))
        .collect();
    let french: String = common::pairs(seed + 1, count)
        .into_iter()
        .map(|(_, en)| format!("{en}\t{}\n", french(&en)))
        .collect();
    fs::write(folder.join(format!("{name}.de-en.tsv")), german).unwrap();
    fs::write(folder.join(format!("{name}.en-fr.tsv")), french).unwrap();
}

/// The configuration of both pairs, with `more` in the section `[data]`.
pub fn configuration(folder: &Path, more: &str) -> String {
    let pair = |source: &str, target: &str| {
        let text = |part: &str| folder.join(format!("{part}.{source}-{target}.tsv"));
        let [train, valid, test] = ["train", "valid", "test"].map(text);
        format!(
            "[[data.pairs]]\nsource = {source:?}\ntarget = {target:?}\ntrain = [{train:?}]\nvalid = [{valid:?}]\n\
             test = [{test:?}]\nboth_ways = true\n"
        )
    };
    format!("[data]\n{more}\n{}{}", pair("de", "en"), pair("en", "fr"))
}

/// A folder with the texts.
pub fn texts() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "train", 1, 1500);
    write(folder.path(), "valid", 3, 30);
    write(folder.path(), "test", 5, 20);
    folder
}

/// The arguments of a run in `folder/out` with the configuration `toml`.
pub fn arguments(folder: &Path, out: &str, toml: &str, more: &[&str]) -> Vec<String> {
    let path = folder.join(format!("{out}.toml"));
    fs::write(&path, toml).unwrap();
    let text = |path: &Path| path.display().to_string();
    let mut arguments = vec!["train".into(), "--config".into(), text(&path)];
    arguments.extend(["--out".into(), text(&folder.join(out))]);
    arguments.extend(tiny_settings(&folder.join("cache")));
    arguments.extend(more.iter().map(ToString::to_string));
    arguments
}

/// A run of four directions, and what it printed.
struct Trained {
    folder: tempfile::TempDir,
    printed: String,
    said: String,
}

impl Trained {
    fn get() -> &'static Self {
        static TRAINED: OnceLock<Trained> = OnceLock::new();
        TRAINED.get_or_init(|| {
            let folder = texts();
            let toml = configuration(folder.path(), "");
            let more = [
                "--set",
                "training.max_updates=3000",
                "--set",
                "validation.every=1500",
            ];
            let output = run(&arguments(folder.path(), "run", &toml, &more));
            Self {
                printed: stdout(&output),
                said: stderr(&output),
                folder,
            }
        })
    }

    fn model(&self) -> String {
        self.folder.path().join("run/best").display().to_string()
    }

    fn translated(&self, languages: &[&str], input: &str) -> String {
        let model = self.model();
        let arguments = [&["translate", "--model", &model][..], languages].concat();
        stdout(&run_with(&arguments, input.as_bytes()))
    }
}

#[test]
fn one_model_translates_in_all_directions_that_it_was_trained_in() {
    let trained = Trained::get();
    for (from, into, input, expected) in [
        ("de", "en", "eins zwei drei vier", "one two three four"),
        ("en", "de", "one two three four", "eins zwei drei vier"),
        ("en", "fr", "one two three four", "un deux trois quatre"),
        ("fr-CA", "eng", "un deux trois quatre", "one two three four"),
    ] {
        let languages = ["--source-language", from, "--target-language", into];
        assert_eq!(trained.translated(&languages, input).trim(), expected);
    }
    assert!(
        trained
            .said
            .contains("--source-language de --target-language en --input FILE"),
        "{}",
        trained.said
    );
    // The target alone distinguishes the direction into German.
    let german = trained.translated(&["--target-language", "de"], "five six");
    assert_eq!(german.trim(), "fünf sechs");
}

#[test]
fn a_direction_that_was_not_trained_is_refused_with_the_list_or_tried() {
    let trained = Trained::get();
    let model = trained.model();
    let languages = ["--source-language", "de", "--target-language", "fr"];
    let arguments = [&["translate", "--model", &model][..], &languages].concat();
    let refused = run_with(&arguments, b"eins zwei\n");
    let needles = [
        "--target-language: the model was not trained to translate from \"de\" into \"fr\"",
        "de → en, en → de, en → fr, fr → en",
        "zero-shot",
    ];
    assert_refused(&refused, 2, &needles);
    let tried = [&arguments[..], &["--zero-shot"]].concat();
    assert_eq!(stdout(&run_with(&tried, b"eins zwei\n")).lines().count(), 1);
    let unknown = ["translate", "--model", &model, "--target-language", "ja"];
    assert_refused(
        &run_with(&unknown, b"x\n"),
        2,
        &["\"ja\" is none of those", "de, en, fr"],
    );
    let silent = run_with(&["translate", "--model", &model], b"x\n");
    assert_refused(&silent, 2, &["several (en, de, fr), and none was given"]);
}

#[test]
fn scores_and_attention_are_between_the_named_languages() {
    let trained = Trained::get();
    let model = trained.model();
    let languages = ["--source-language", "en", "--target-language", "fr"];
    let arguments = [&["translate", "--json", "--model", &model][..], &languages].concat();
    let found = stdout(&run_with(&arguments, b"one two three four\n"));
    let found: Value = serde_json::from_str(&found).unwrap();
    let french = found["translation"].as_str().unwrap();

    let text = trained.folder.path().join("scored.tsv");
    fs::write(&text, format!("one two three four\t{french}\n")).unwrap();
    let text = text.to_str().unwrap();
    let score = ["score", "--json", "--model", &model, "--input", text];
    let scored = stdout(&run(&[&score[..], &languages].concat()));
    let scored: Value = serde_json::from_str(&scored).unwrap();
    let difference = scored["score"].as_f64().unwrap() - found["score"].as_f64().unwrap();
    assert!(difference.abs() < 1e-4, "{scored} {found}");
    let german = ["--source-language", "en", "--target-language", "de"];
    let german = stdout(&run(&[&score[..], &german].concat()));
    let german: Value = serde_json::from_str(&german).unwrap();
    let worse = scored["log_prob"].as_f64().unwrap() - german["log_prob"].as_f64().unwrap();
    assert!(worse > 1.0, "{scored} {german}");
    assert_refused(&run(&score), 2, &["none was given", "--target-language"]);

    let attention = ["attention", "--json", "--model", &model, "one two"];
    let shown = stdout(&run(&[&attention[..], &languages].concat()));
    assert!(shown.contains(">>fr<<"), "{shown}");
    assert_refused(&run(&attention), 2, &["none was given"]);
}

#[test]
fn a_text_that_looks_like_a_language_token_is_translated_as_text() {
    let trained = Trained::get();
    let into = ["--source-language", "en", "--target-language", "de"];
    let plain = trained.translated(&into, "one two");
    let tagged = trained.translated(&into, ">>fr<< one two");
    assert_eq!(plain.trim(), "eins zwei");
    assert!(!tagged.contains("deux"), "{tagged}");
}

#[test]
fn validations_and_tests_have_a_figure_for_each_pair() {
    let trained = Trained::get();
    let pairs = ["de-en", "en-de", "en-fr", "fr-en"];
    for pair in pairs {
        assert!(
            trained.said.contains(&format!("\n  {pair} | nll ")),
            "{}",
            trained.said
        );
        assert!(
            trained.printed.contains(&format!("\n{pair} BLEU|")),
            "{}",
            trained.printed
        );
        let name = format!("run/valid/step-001500.{pair}.hyp");
        let hypotheses = fs::read_to_string(trained.folder.path().join(name)).unwrap();
        assert_eq!(hypotheses.lines().count(), 30);
    }
    let metrics = fs::read_to_string(trained.folder.path().join("run/metrics.jsonl")).unwrap();
    let records = metrics
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let valid: Vec<serde_json::Value> = records
        .filter(|it: &serde_json::Value| it["kind"] == "valid")
        .collect();
    assert!(valid.len() >= 2);
    for record in valid {
        let of_pairs = record["pairs"].as_array().unwrap();
        let names: Vec<&str> = of_pairs
            .iter()
            .map(|it| it["pair"].as_str().unwrap())
            .collect();
        assert_eq!(names, pairs);
        let sum: f64 = of_pairs.iter().map(|it| it["bleu"].as_f64().unwrap()).sum();
        let mean = record["bleu"].as_f64().unwrap();
        assert!((mean - sum / 4.0).abs() < 1e-9, "{record}");
    }
}

#[test]
fn a_dry_run_knows_the_validation_texts_of_pairs() {
    let folder = texts();
    let toml = configuration(folder.path(), "");
    let more = ["--dry-run", "--set", "validation.every=7"];
    let printed = stdout(&run(&arguments(folder.path(), "dry", &toml, &more)));
    assert!(
        printed.contains("# first score: after update 7, about"),
        "{printed}"
    );
}

#[test]
fn a_resumed_run_of_several_pairs_ends_with_the_same_bits() {
    let folder = texts();
    let toml = configuration(folder.path(), "temperature = 5");
    let train = |out: &str, updates: &str, resume: bool| {
        let updates = format!("training.max_updates={updates}");
        let more = [
            "--set",
            &updates,
            "--set",
            "validation.every=0",
            "--set",
            "checkpoints.every=30",
        ];
        let mut arguments = arguments(folder.path(), out, &toml, &more);
        arguments.extend(resume.then(|| "--resume".into()));
        stdout(&run(&arguments));
    };
    train("whole", "90", false);
    train("parts", "60", false);
    train("parts", "90", true);
    let weights =
        |out: &str| fs::read(folder.path().join(out).join("last/model.safetensors")).unwrap();
    assert!(weights("whole") == weights("parts"));
}

#[test]
fn wrong_pairs_are_refused_before_the_first_update() {
    let folder = texts();
    let toml = configuration(folder.path(), "");
    let pair = |source: &str, target: &str, file: &str| {
        let path = folder.path().join(file);
        format!(
            "{toml}[[data.pairs]]\nsource = {source:?}\ntarget = {target:?}\ntrain = [{path:?}]\n"
        )
    };
    fs::write(folder.path().join("long.xx"), "a\nb\nc\n").unwrap();
    fs::write(folder.path().join("short.en"), "a\nb\n").unwrap();
    let unequal = pair("ja", "en", "long.xx").replace(
        "long.xx\"]",
        &format!("long.xx\", {:?}]", folder.path().join("short.en")),
    );
    let cases: [(String, &[&str]); 6] = [
        (pair("xx", "en", "a.tsv"), &["\"xx\"", "no code of ISO 639"]),
        (
            pair("en", "en", "a.tsv"),
            &["\"en\" into itself", "two languages"],
        ),
        (
            pair("en", "deu", "a.tsv"),
            &["\"de\" and \"deu\"", "one way"],
        ),
        (pair("fr", "en", "a.tsv"), &["fr → en twice", "join"]),
        (
            pair("ja", "en", "nowhere.tsv"),
            &["nowhere.tsv", "no such file"],
        ),
        (unequal, &["short.en", "ends after line 2", "long.xx", "3"]),
    ];
    for (toml, needles) in cases {
        let output = run(&arguments(folder.path(), "wrong", &toml, &[]));
        assert_refused(&output, 1, needles);
        assert!(!folder.path().join("wrong/config.toml").exists());
    }
    let both = arguments(folder.path(), "wrong", &toml, &["--train", "a.tsv"]);
    assert_refused(&run(&both), 2, &["data.train (--train)", "data.pairs"]);
}
