//! Runs: reproducing, resuming, refusing.

use crate::common;
use std::fs;

use crate::common::{Toy, run, stderr, stdout, train_arguments};
use serde_json::Value;

impl Toy {
    /// Trains a model of the recurrent baseline.
    fn train_rnn(&self, out: &str, more: &[&str]) -> std::process::Output {
        let sizes = ["--preset", "rnn", "--set", "model.d_model=32", "--set"];
        let sizes = [
            &sizes[..],
            &["model.rnn.d_hidden=24", "--set", "model.rnn.d_attention=16"],
        ];
        let all = train_arguments(self.folder.path(), &self.corpus, out, more);
        let mut arguments: Vec<String> = Vec::new();
        for argument in all {
            if argument.starts_with("model.") && !argument.starts_with("model.dropout") {
                arguments.pop();
            } else {
                arguments.push(argument);
            }
        }
        arguments.extend(sizes.concat().iter().map(|s| s.to_string()));
        run(&arguments)
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    let toy = Toy::new();
    let short = [
        "--set",
        "training.max_updates=40",
        "--set",
        "model.dropout=0.1",
    ];
    for (out, seed) in [
        ("a", "training.seed=5"),
        ("b", "training.seed=5"),
        ("c", "training.seed=6"),
    ] {
        stdout(&toy.train(out, &[&short[..], &["--set", seed]].concat()));
    }
    assert!(toy.weights("a", 40) == toy.weights("b", 40));
    assert!(toy.weights("a", 40) != toy.weights("c", 40));
}

#[test]
fn a_resumed_run_equals_an_uninterrupted_one() {
    let toy = Toy::new();
    let dropout = [
        "--set",
        "model.dropout=0.1",
        "--set",
        "training.accumulate=2",
    ];
    let with = |updates: &'static str, more: &[&'static str]| {
        [&dropout[..], &["--set", updates], more].concat()
    };
    stdout(&toy.train("whole", &with("training.max_updates=120", &[])));
    stdout(&toy.train("parts", &with("training.max_updates=40", &[])));
    let resumed = toy.train("parts", &with("training.max_updates=120", &["--resume"]));
    assert!(
        stderr(&resumed).contains("resumed after update 40"),
        "{}",
        stderr(&resumed)
    );
    assert!(toy.weights("whole", 120) == toy.weights("parts", 120));
    let nothing = toy.train("parts", &with("training.max_updates=120", &["--resume"]));
    assert_eq!(nothing.status.code(), Some(1));
    assert!(
        stderr(&nothing).contains("nothing to do"),
        "{}",
        stderr(&nothing)
    );
}

#[test]
fn a_resumed_run_of_the_recurrent_baseline_has_the_same_bytes() {
    let toy = Toy::new();
    let dropout = ["--set", "model.dropout=0.1"];
    let with = |updates: &'static str, more: &[&'static str]| {
        [&dropout[..], &["--set", updates], more].concat()
    };
    stdout(&toy.train_rnn("whole", &with("training.max_updates=80", &[])));
    stdout(&toy.train_rnn("parts", &with("training.max_updates=40", &[])));
    let resumed = toy.train_rnn("parts", &with("training.max_updates=80", &["--resume"]));
    assert!(
        stderr(&resumed).contains("resumed after update 40"),
        "{}",
        stderr(&resumed)
    );
    assert!(toy.weights("whole", 80) == toy.weights("parts", 80));
    let model = toy.folder.path().join("whole/best").display().to_string();
    let translated = common::run_with(&["translate", "--model", &model], b"eins zwei\n\ndrei\n");
    assert_eq!(stdout(&translated).lines().count(), 3);
    let described = stdout(&run(&["inspect", &model]));
    assert!(
        described.contains("d_attention") && described.contains("rnn"),
        "{described}"
    );
}

#[test]
fn a_run_is_not_overwritten_and_nothing_is_not_resumed() {
    let toy = Toy::new();
    stdout(&toy.train("a", &["--set", "training.max_updates=2"]));
    let again = toy.train("a", &["--set", "training.max_updates=2"]);
    assert_eq!(again.status.code(), Some(1));
    assert!(stderr(&again).contains("--resume"), "{}", stderr(&again));
    let nothing = toy.train("b", &["--resume"]);
    assert_eq!(nothing.status.code(), Some(1));
    assert!(
        stderr(&nothing).contains("b: no such folder"),
        "{}",
        stderr(&nothing)
    );
    fs::create_dir(toy.folder.path().join("b")).unwrap();
    let nothing = toy.train("b", &["--resume"]);
    assert_eq!(nothing.status.code(), Some(1));
    assert!(
        stderr(&nothing).contains("no checkpoint"),
        "{}",
        stderr(&nothing)
    );
}

/// The records of the validations in `metrics.jsonl`, in its order.
fn validations(run: &std::path::Path) -> Vec<Value> {
    let metrics = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    let records = metrics
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    records.filter(|record| record["kind"] == "valid").collect()
}

#[test]
fn best_is_the_best_validation_before_and_after_extending_a_run() {
    let toy = Toy::new();
    let run = toy.folder.path().join("run");
    let every = [
        "--set",
        "validation.every=20",
        "--set",
        "schedule.factor=4",
        "--set",
        "validation.metric=bleu",
    ];
    let until = |updates, more: &[&'static str]| [&every[..], &["--set", updates], more].concat();
    let mut earlier = Vec::new();
    for (updates, more) in [
        ("training.max_updates=80", &[][..]),
        ("training.max_updates=120", &["--resume"]),
        ("training.max_updates=160", &["--resume"]),
    ] {
        stdout(&toy.train("run", &until(updates, more)));
        let all = validations(&run);
        assert_eq!(all[..earlier.len()], earlier, "no record is lost");
        let bleu = |record: &Value| record["bleu"].as_f64().unwrap();
        let mut best: Option<&Value> = None;
        for record in &all {
            let better = best.is_none_or(|best| bleu(record) > bleu(best));
            assert_eq!(record["best"], better, "{all:#?}");
            best = if better { Some(record) } else { best };
        }
        let best = best.unwrap();
        let averaged = all.last().unwrap();
        assert_eq!(averaged["averaged"], true, "{all:#?}");
        let text = fs::read_to_string(run.join("best/validation.json")).unwrap();
        let held: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(held["step"], best["step"], "{held}");
        assert_eq!(held["averaged"], best["averaged"] == true, "{held}");
        earlier = all;
    }
}

#[test]
fn a_folder_of_something_else_is_refused_and_left_as_it_is() {
    let toy = Toy::new();
    let best = toy.folder.path().join("mine/best");
    fs::create_dir_all(&best).unwrap();
    fs::write(best.join("model.safetensors"), "precious").unwrap();
    let short = ["--set", "training.max_updates=2"];
    let refused = toy.train("mine", &short);
    assert_eq!(refused.status.code(), Some(1));
    let said = stderr(&refused);
    assert!(
        said.contains("mine: holds no run, but best, which training would overwrite"),
        "{said}"
    );
    assert_eq!(
        fs::read_to_string(best.join("model.safetensors")).unwrap(),
        "precious"
    );
    let entries = fs::read_dir(toy.folder.path().join("mine")).unwrap();
    assert_eq!(entries.count(), 1, "nothing was added");
    // Other files of the user do not block the run.
    fs::rename(&best, toy.folder.path().join("mine/texts")).unwrap();
    stdout(&toy.train("mine", &short));
}

#[test]
fn without_a_folder_the_latest_run_is_resumed() {
    let toy = Toy::new();
    let train = |updates: &str, more: &[&str]| {
        let updates = format!("training.max_updates={updates}");
        let arguments = train_arguments(
            toy.folder.path(),
            &toy.corpus,
            "unnamed",
            &["--set", &updates],
        );
        let mut command = common::burnformer(&arguments[..1]);
        // Without `--out FOLDER`.
        command
            .args(&arguments[3..])
            .args(more)
            .current_dir(toy.folder.path());
        let output = command.output().unwrap();
        let said = stderr(&output);
        let folder = said
            .lines()
            .find_map(|line| line.strip_prefix("run: "))
            .map(String::from);
        (output, folder)
    };
    let (nothing, _) = train("2", &["--resume"]);
    common::assert_refused(&nothing, 1, &["no run under runs", "--out"]);
    assert_eq!(train("2", &[]).1.as_deref(), Some("runs/speedrun"));
    assert_eq!(train("2", &[]).1.as_deref(), Some("runs/speedrun-2"));
    assert_eq!(
        train("4", &["--resume"]).1.as_deref(),
        Some("runs/speedrun-2")
    );
    stdout(&train("4", &["--resume", "--out", "runs/speedrun"]).0);
    assert_eq!(
        train("6", &["--resume"]).1.as_deref(),
        Some("runs/speedrun")
    );
    let (other, _) = train("8", &["--resume", "--preset", "small"]);
    common::assert_refused(&other, 1, &["no run under runs/small", "--out"]);
}

#[test]
fn a_run_is_a_model_by_its_best_or_else_its_last() {
    let toy = Toy::new();
    stdout(&toy.train("run", &["--set", "training.max_updates=3"]));
    let folder = toy.folder.path().join("run");
    let translated = |model: &std::path::Path| {
        let model = model.display().to_string();
        let output = common::run_with(&["translate", "--model", &model], b"eins\n");
        (stdout(&output), stderr(&output))
    };
    for name in ["best", "last"] {
        let (text, said) = translated(&folder);
        assert!(
            said.contains(&format!("model: {}", folder.join(name).display())),
            "{said}"
        );
        assert_eq!(text, translated(&folder.join(name)).0);
        fs::remove_dir_all(folder.join(name)).unwrap();
    }
    let none = run(&["translate", "--model", folder.to_str().unwrap()]);
    common::assert_refused(&none, 1, &["holds no manifest.json"]);
}

#[test]
fn a_cooldown_ends_at_rate_zero_and_a_lost_end_is_repeated() {
    let toy = Toy::new();
    let mut settings = Vec::new();
    for setting in [
        "training.max_updates=80",
        "training.log_every=1",
        "checkpoints.every=40",
        "checkpoints.keep=0",
        "checkpoints.average=0",
        "schedule.shape=constant",
        "schedule.warmup=10",
        "schedule.cooldown=0.5",
        "model.dropout=0.1",
    ] {
        settings.extend(["--set", setting]);
    }
    stdout(&toy.train("run", &settings));
    let run = toy.folder.path().join("run");
    let metrics = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    let records = metrics
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let rates: Vec<f64> = records
        .filter(|r| r["kind"] == "train")
        .map(|r| r["lr"].as_f64().unwrap())
        .collect();
    assert_eq!(rates.len(), 80);
    assert_eq!(rates[9], rates[39], "constant after the warm-up: {rates:?}");
    assert!(
        (rates[60] / rates[39] - 0.5).abs() < 1e-9 && rates[79] < 0.03 * rates[39],
        "{rates:?}"
    );
    let whole = toy.weights("run", 80);
    fs::remove_dir_all(run.join("checkpoints/step-000080")).unwrap();
    let resumed = toy.train("run", &[&settings[..], &["--resume"]].concat());
    assert!(
        stderr(&resumed).contains("resumed after update 40"),
        "{}",
        stderr(&resumed)
    );
    assert!(toy.weights("run", 80) == whole);
}

#[test]
fn the_length_penalty_with_the_best_validation_bleu_is_that_of_the_best_model() {
    let toy = Toy::new();
    let alphas = [
        "--set",
        "validation.test_alphas=[0.0, 0.6, 3.0]",
        "--set",
        "validation.test_beam=3",
    ];
    let output = toy.train(
        "run",
        &[&alphas[..], &["--set", "training.max_updates=150"]].concat(),
    );
    stdout(&output);
    let said = stderr(&output);
    let score = |line: &str| {
        let (alpha, bleu) = line
            .strip_prefix("length penalty ")?
            .split_once(": BLEU ")?;
        Some((alpha.parse::<f64>().unwrap(), bleu.parse::<f64>().unwrap()))
    };
    let scores: Vec<(f64, f64)> = said.lines().filter_map(score).collect();
    assert_eq!(
        scores[..3].iter().map(|score| score.0).collect::<Vec<_>>(),
        [0.0, 0.6, 3.0]
    );
    let best = toy.folder.path().join("run/best");
    let search: Value =
        serde_json::from_slice(&fs::read(best.join("generation.json")).unwrap()).unwrap();
    let chosen = search["length_penalty"]["gnmt"].as_f64().unwrap();
    let bleu = scores.iter().find(|score| score.0 == chosen).unwrap().1;
    assert!(
        scores.iter().all(|score| score.1 <= bleu),
        "{chosen} {scores:?}"
    );
    assert_eq!(search["beam_size"], 3);
    stdout(&run(&["inspect", best.to_str().unwrap()]));
}
