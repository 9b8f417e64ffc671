//! The binary from parallel text to scored translations.

use std::fs;

use crate::common::{Trained, pairs, run, run_with, stderr, stdout};
use serde_json::Value;

#[test]
fn training_learns_and_prints_bleu_and_a_dozen_translations() {
    let trained = Trained::get();
    let text = stdout(&trained.output);
    let line = text
        .lines()
        .find(|l| l.starts_with("BLEU|"))
        .expect("a score");
    let score: f64 = line
        .split(" = ")
        .nth(1)
        .unwrap()
        .split(' ')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    // Twelve seeds gave 89 to 100; a model that has learned nothing has 0.
    assert!(score > 80.0, "{line}");
    assert!(
        line.contains("tok:13a") && line.contains("nrefs:1"),
        "{line}"
    );
    assert!(
        text.lines()
            .filter(|l| l.starts_with("translation "))
            .count()
            >= 10
    );
    let log = stderr(&trained.output);
    assert!(log.contains("epoch 1 | step 20 | loss "), "{log}");
    assert!(!text.contains("| step "), "progress belongs on stderr");
}

#[test]
fn the_run_directory_holds_what_is_documented() {
    let run = Trained::get().run_dir();
    for name in [
        "config.toml",
        "metrics.jsonl",
        "train.log",
        "valid/step-000400.hyp",
        "checkpoints/step-000800/optimizer.safetensors",
        "checkpoints/step-000800/state.json",
        "best/config.json",
        "best/model.safetensors",
        "best/tokenizer.json",
        "best/generation.json",
        "best/manifest.json",
        "last/model.safetensors",
        "average/model.safetensors",
    ] {
        assert!(run.join(name).is_file(), "{name}");
    }
    let metrics = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    let rows: Vec<Value> = metrics
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    let steps = rows
        .iter()
        .filter(|r| r["kind"] == "train")
        .map(|r| r["step"].as_u64().unwrap());
    assert_eq!(
        steps.collect::<Vec<_>>(),
        (1..=40).map(|n| 20 * n).collect::<Vec<_>>()
    );
    assert!(
        rows.iter()
            .any(|r| r["kind"] == "valid" && r["bleu"].is_number())
    );
    let keep = fs::read_dir(run.join("checkpoints")).unwrap().count();
    assert_eq!(keep, 5, "checkpoints.keep");
}

#[test]
fn one_line_out_for_each_line_in() {
    let trained = Trained::get();
    let input = "eins zwei drei\n\nsieben acht\r\n\u{1F600} ﷽ unbekannt\n   \nneun";
    let output = run_with(
        &["translate", "--model", &trained.model()],
        input.as_bytes(),
    );
    let text = stdout(&output);
    let lines: Vec<&str> = text.split('\n').collect();
    assert_eq!(lines.len(), 7, "{text:?}");
    assert_eq!(
        (lines[0], lines[1], lines[2]),
        ("one two three", "", "seven eight")
    );
    assert_eq!((lines[4], lines[5], lines[6]), ("", "nine", ""));
}

#[test]
fn neighbours_batches_and_order_do_not_change_a_translation() {
    let trained = Trained::get();
    let mut lines: Vec<String> = pairs(9, 40).into_iter().map(|p| p.0).collect();
    let translate = |lines: &[String], batch: &str| {
        let arguments = [
            "translate",
            "--model",
            &trained.model(),
            "--batch",
            batch,
            "--json",
        ];
        let text = stdout(&run_with(&arguments, (lines.join("\n") + "\n").as_bytes()));
        text.lines()
            .map(|l: &str| serde_json::from_str::<Value>(l).unwrap()["tokens"].to_string())
            .collect::<Vec<_>>()
    };
    let together = translate(&lines, "64");
    assert_eq!(translate(&lines, "1"), together);
    lines.reverse();
    let mut reversed = translate(&lines, "7");
    reversed.reverse();
    assert_eq!(reversed, together);
}

#[test]
fn n_best_lists_sampling_prefixes_and_ids_work_from_the_command_line() {
    let trained = Trained::get();
    let model = trained.model();
    let translate = |more: &[&str], input: &str| {
        let arguments: Vec<&str> = ["translate", "--model", &model]
            .into_iter()
            .chain(more.iter().copied())
            .collect();
        stdout(&run_with(&arguments, input.as_bytes()))
    };
    let n_best = translate(&["--nbest", "3", "--beam", "5"], "eins zwei\nacht\n");
    assert_eq!(n_best.lines().count(), 6);
    assert!(n_best.starts_with("0 ||| one two ||| "), "{n_best}");
    let sampled = ["--sample", "--top-k", "5", "--seed", "3"];
    assert_eq!(
        translate(&sampled, "eins zwei\n"),
        translate(&sampled, "eins zwei\n")
    );
    let prefix = trained.folder.path().join("prefix.txt");
    fs::write(&prefix, "nine\n").unwrap();
    let forced = translate(&["--prefix", prefix.to_str().unwrap()], "eins zwei\n");
    assert!(forced.starts_with("nine"), "{forced}");
}

#[test]
fn a_model_is_scored_on_text_and_its_translations_score_the_same() {
    let trained = Trained::get();
    let [source, reference] = trained.corpus.test.each_ref().map(|p| p.to_str().unwrap());
    let written = trained.folder.path().join("test.hyp");
    let written = written.to_str().unwrap();
    let model = trained.model();
    let by_model = run(&[
        "eval-bleu",
        "--model",
        &model,
        "--source",
        source,
        "--reference",
        reference,
        "--output",
        written,
    ]);
    let by_file = run(&[
        "eval-bleu",
        "--hypothesis",
        written,
        "--reference",
        reference,
    ]);
    assert_eq!(stdout(&by_model), stdout(&by_file));
    let json = stdout(&run(&[
        "eval-bleu",
        "--hypothesis",
        written,
        "--reference",
        reference,
        "--json",
    ]));
    let json: Value = serde_json::from_str(&json).unwrap();
    for key in [
        "name",
        "score",
        "signature",
        "verbose_score",
        "nrefs",
        "case",
        "eff",
        "tok",
        "smooth",
        "version",
    ] {
        assert!(!json[key].is_null(), "{key} in {json}");
    }
    let all = ["bleu", "chrf", "chrf++", "ter"];
    let mut arguments = vec![
        "eval-bleu",
        "--hypothesis",
        written,
        "--reference",
        reference,
        "--metric",
    ];
    arguments.extend(all);
    assert_eq!(stdout(&run(&arguments)).lines().count(), all.len());
}

#[test]
fn forced_scores_are_log_probabilities_and_prefer_the_right_translation() {
    let trained = Trained::get();
    let folder = trained.folder.path();
    let source = folder.join("s.txt");
    let target = folder.join("t.txt");
    fs::write(&source, "eins zwei\neins zwei\n").unwrap();
    fs::write(&target, "one two\nseven seven\n").unwrap();
    let output = run(&[
        "score",
        "--model",
        &trained.model(),
        "--source",
        source.to_str().unwrap(),
        "--target",
        target.to_str().unwrap(),
    ]);
    let text = stdout(&output);
    let scores: Vec<f64> = text
        .lines()
        .map(|l| l.split('\t').next().unwrap().parse().unwrap())
        .collect();
    assert!(
        scores[0] <= 0.0 && scores[0] > scores[1] + 1.0,
        "{scores:?}"
    );
}

#[test]
fn models_are_averaged_inspected_and_listed() {
    let trained = Trained::get();
    let run_dir = trained.run_dir();
    let checkpoint = |n: u32| {
        run_dir
            .join(format!("checkpoints/step-{n:06}"))
            .display()
            .to_string()
    };
    let out = trained.folder.path().join("averaged").display().to_string();
    stdout(&run(&[
        "average",
        "--out",
        &out,
        &checkpoint(760),
        &checkpoint(800),
    ]));
    let translated = run_with(&["translate", "--model", &out], b"drei vier\n");
    assert_eq!(stdout(&translated), "three four\n");
    let json: Value = serde_json::from_str(&stdout(&run(&["inspect", &out, "--json"]))).unwrap();
    assert_eq!(json["model"]["d_model"], 64);
    assert!(json["parameters"].as_u64().unwrap() > 10_000);
    assert!(stdout(&run(&["devices"])).contains("cpu"));
    let again = run(&["average", "--out", &out, &checkpoint(800)]);
    assert_eq!(again.status.code(), Some(1));
}
