//! Runs: reproducing, resuming, refusing.

use crate::common;
use std::fs;

use crate::common::{Corpus, run, stderr, stdout, train_arguments};
use serde_json::Value;

struct Toy {
    folder: tempfile::TempDir,
    corpus: Corpus,
}

impl Toy {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let corpus = Corpus::write(folder.path());
        Self { folder, corpus }
    }

    fn train(&self, out: &str, more: &[&str]) -> std::process::Output {
        run(&train_arguments(self.folder.path(), &self.corpus, out, more))
    }

    /// Trains a model of the recurrent baseline.
    fn train_rnn(&self, out: &str, more: &[&str]) -> std::process::Output {
        let sizes = ["--preset", "rnn", "--set", "model.d_model=32", "--set"];
        let sizes = [&sizes[..], &["model.rnn.d_hidden=24", "--set", "model.rnn.d_attention=16"]];
        let all = train_arguments(self.folder.path(), &self.corpus, out, more);
        let mut own: Vec<String> = Vec::new();
        for argument in all {
            if argument.starts_with("model.") && !argument.starts_with("model.dropout") {
                own.pop();
            } else {
                own.push(argument);
            }
        }
        own.extend(sizes.concat().iter().map(|s| s.to_string()));
        run(&own)
    }

    fn weights(&self, out: &str, step: u32) -> Vec<u8> {
        let path = format!("{out}/checkpoints/step-{step:06}/model.safetensors");
        fs::read(self.folder.path().join(path)).unwrap()
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    let toy = Toy::new();
    let short = ["--set", "training.max_updates=40", "--set", "model.dropout=0.1"];
    for (out, seed) in
        [("a", "training.seed=5"), ("b", "training.seed=5"), ("c", "training.seed=6")]
    {
        stdout(&toy.train(out, &[&short[..], &["--set", seed]].concat()));
    }
    assert!(toy.weights("a", 40) == toy.weights("b", 40));
    assert!(toy.weights("a", 40) != toy.weights("c", 40));
}

#[test]
fn a_run_stopped_and_resumed_is_the_run_that_was_not() {
    let toy = Toy::new();
    let dropout = ["--set", "model.dropout=0.1", "--set", "training.accumulate=2"];
    let with = |updates: &'static str, more: &[&'static str]| {
        [&dropout[..], &["--set", updates], more].concat()
    };
    stdout(&toy.train("whole", &with("training.max_updates=120", &[])));
    stdout(&toy.train("parts", &with("training.max_updates=40", &[])));
    let resumed = toy.train("parts", &with("training.max_updates=120", &["--resume"]));
    assert!(stderr(&resumed).contains("resumed after update 40"), "{}", stderr(&resumed));
    assert!(toy.weights("whole", 120) == toy.weights("parts", 120));
    let nothing = toy.train("parts", &with("training.max_updates=120", &["--resume"]));
    assert_eq!(nothing.status.code(), Some(1));
    assert!(stderr(&nothing).contains("nothing to do"), "{}", stderr(&nothing));
}

#[test]
fn a_run_of_the_recurrent_baseline_resumes_to_the_same_bytes_and_its_model_translates() {
    let toy = Toy::new();
    let dropout = ["--set", "model.dropout=0.1"];
    let with = |updates: &'static str, more: &[&'static str]| {
        [&dropout[..], &["--set", updates], more].concat()
    };
    stdout(&toy.train_rnn("whole", &with("training.max_updates=80", &[])));
    stdout(&toy.train_rnn("parts", &with("training.max_updates=40", &[])));
    let resumed = toy.train_rnn("parts", &with("training.max_updates=80", &["--resume"]));
    assert!(stderr(&resumed).contains("resumed after update 40"), "{}", stderr(&resumed));
    assert!(toy.weights("whole", 80) == toy.weights("parts", 80));
    let model = toy.folder.path().join("whole/best").display().to_string();
    let translated = common::run_with(&["translate", "--model", &model], b"eins zwei\n\ndrei\n");
    assert_eq!(stdout(&translated).lines().count(), 3);
    let described = stdout(&run(&["inspect", &model]));
    assert!(described.contains("d_attention") && described.contains("rnn"), "{described}");
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
    assert!(stderr(&nothing).contains("b: no such folder"), "{}", stderr(&nothing));
    fs::create_dir(toy.folder.path().join("b")).unwrap();
    let nothing = toy.train("b", &["--resume"]);
    assert_eq!(nothing.status.code(), Some(1));
    assert!(stderr(&nothing).contains("no checkpoint"), "{}", stderr(&nothing));
}

/// What `metrics.jsonl` says of the validations, in its order.
fn validations(run: &std::path::Path) -> Vec<Value> {
    let metrics = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    let records = metrics.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    records.filter(|record| record["kind"] == "valid").collect()
}

#[test]
fn best_holds_the_best_validation_of_all_before_and_after_a_finished_run_goes_on() {
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
        let (best, averaged) = (best.unwrap(), all.last().unwrap());
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
    assert_eq!(fs::read_to_string(best.join("model.safetensors")).unwrap(), "precious");
    let entries = fs::read_dir(toy.folder.path().join("mine")).unwrap();
    assert_eq!(entries.count(), 1, "nothing was added");
    // Text of the user's is in nobody's way.
    fs::rename(&best, toy.folder.path().join("mine/texts")).unwrap();
    stdout(&toy.train("mine", &short));
}

#[test]
fn without_a_folder_the_run_written_last_goes_on_whatever_its_number() {
    let toy = Toy::new();
    let train = |updates: &str, more: &[&str]| {
        let updates = format!("training.max_updates={updates}");
        let arguments =
            train_arguments(toy.folder.path(), &toy.corpus, "unnamed", &["--set", &updates]);
        let mut command = common::burnformer(&arguments[..1]);
        // Without `--out FOLDER`.
        command.args(&arguments[3..]).args(more).current_dir(toy.folder.path());
        let output = command.output().unwrap();
        let said = stderr(&output);
        let folder = said.lines().find_map(|line| line.strip_prefix("run: ")).map(String::from);
        (output, folder)
    };
    let (nothing, _) = train("2", &["--resume"]);
    common::assert_refused(&nothing, 1, &["no run under runs", "--out"]);
    assert_eq!(train("2", &[]).1.as_deref(), Some("runs/speedrun"));
    assert_eq!(train("2", &[]).1.as_deref(), Some("runs/speedrun-2"));
    assert_eq!(train("4", &["--resume"]).1.as_deref(), Some("runs/speedrun-2"));
    stdout(&train("4", &["--resume", "--out", "runs/speedrun"]).0);
    assert_eq!(train("6", &["--resume"]).1.as_deref(), Some("runs/speedrun"));
    let (other, _) = train("8", &["--resume", "--preset", "small"]);
    common::assert_refused(&other, 1, &["no run under runs/small", "--out"]);
}

#[test]
fn a_dry_run_prints_a_configuration_that_can_be_used() {
    let toy = Toy::new();
    let text = stdout(&toy.train("dry", &["--dry-run"]));
    let of = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(&format!("# {name}: ")));
        line.unwrap_or_else(|| panic!("{name}: {text}")).to_string()
    };
    let path = toy.folder.path().join("again.toml");
    fs::write(&path, &text).unwrap();
    let again = stdout(&run(&["train", "--config", path.to_str().unwrap(), "--dry-run"]));
    assert_eq!(settings(&again), settings(&text));
    assert_eq!(of(&again, "parameters"), of(&text, "parameters"));
    assert!(!toy.folder.path().join("dry").exists());
    // What it measures: the updates of the run, its memory, and when it has a score.
    let time = of(&text, "time");
    assert!(time.contains(" for 800 updates, the mean of 20 updates being 0."), "{time}");
    assert!(of(&text, "memory, with the worst batch").ends_with(" GB"));
    assert!(of(&text, "first score").contains("after update 400, about "));
    let short = stdout(&toy.train("dry", &["--dry-run", "--set", "training.max_epochs=2"]));
    assert!(!of(&short, "time").contains(" for 800 updates"), "{short}");
}

/// The lines of a dry run that are no comments.
fn settings(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.starts_with('#')).collect()
}

#[test]
fn a_dry_run_and_a_run_refuse_a_text_that_is_missing_before_anything_is_computed() {
    let toy = Toy::new();
    for (flag, more) in [
        ("--train", None),
        ("--valid", None),
        ("--test", None),
        ("--test", Some("--dry-run")),
        ("--valid", Some("--dry-run")),
    ] {
        let mut arguments = train_arguments(toy.folder.path(), &toy.corpus, "missing", &[]);
        let place = arguments.iter().position(|argument| argument == flag).unwrap();
        arguments[place + 2] = "/no/such.en".into();
        arguments.extend(more.map(String::from));
        common::assert_refused(&run(&arguments), 1, &["/no/such.en: no such file"]);
        assert!(!toy.folder.path().join("missing").exists(), "{flag} {more:?}");
    }
}

#[test]
fn the_test_text_is_scored_without_pairs_that_are_skipped() {
    let toy = Toy::new();
    let [source, target] = &toy.corpus.test;
    fs::write(source, b"eins zwei\nf\xfcnf\ndrei vier\n").unwrap();
    fs::write(target, "one two\nfive five five five five five\nthree four\n").unwrap();
    let short = ["--set", "training.max_updates=2", "--set", "data.utf8=skip"];
    let said = stdout(&toy.train("run", &short));
    let sources: Vec<_> = said.lines().filter_map(|line| line.strip_prefix("source ")).collect();
    assert_eq!(sources.iter().map(|it| it.trim()).collect::<Vec<_>>(), ["eins zwei", "drei vier"]);
    // Scored again where that was missing, and only then.
    let score = toy.folder.path().join("run/test-score.txt");
    assert!(said.contains(fs::read_to_string(&score).unwrap().trim_end()));
    fs::remove_file(&score).unwrap();
    let resume = [&short[..], &["--resume"]].concat();
    assert_eq!(stdout(&toy.train("run", &resume)), said);
    let nothing = toy.train("run", &resume);
    assert_eq!(nothing.status.code(), Some(1));
    assert!(stderr(&nothing).contains("nothing to do"), "{}", stderr(&nothing));
}

#[test]
fn without_a_validation_text_the_test_has_the_search_that_is_configured() {
    let toy = Toy::new();
    let scored = |out: &str, settings: [&str; 2]| {
        let mut arguments = train_arguments(toy.folder.path(), &toy.corpus, out, &[]);
        let place = arguments.iter().position(|argument| argument == "--valid").unwrap();
        arguments.drain(place..place + 3);
        let short = ["training.max_updates=60", "checkpoints.average=0"];
        let settings = short.iter().chain(&settings);
        arguments.extend(settings.flat_map(|it| ["--set".to_string(), it.to_string()]));
        stdout(&run(&arguments))
            .lines()
            .filter(|line| !line.starts_with("model: "))
            .collect::<Vec<_>>()
            .join("\n")
    };
    let plain = scored("plain", ["validation.test_alpha=9", "validation.test_alphas=[]"]);
    let chosen = scored("chosen", ["validation.test_alpha=9", "validation.test_alphas=[0.6]"]);
    let default = scored("default", ["validation.test_alpha=0.6", "validation.test_alphas=[]"]);
    assert_eq!(chosen, plain);
    assert_ne!(default, plain, "the length penalty makes no difference");
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
        assert!(said.contains(&format!("model: {}", folder.join(name).display())), "{said}");
        assert_eq!(text, translated(&folder.join(name)).0);
        fs::remove_dir_all(folder.join(name)).unwrap();
    }
    let none = run(&["translate", "--model", folder.to_str().unwrap()]);
    common::assert_refused(&none, 1, &["holds no manifest.json"]);
}

#[test]
fn texts_whose_sides_are_swapped_or_shifted_are_told_before_the_first_update() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let text = |side: &str| {
        let name = format!("../../assets/corpus/tatoeba-de-en/valid.{side}.zst");
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
        burnformer_data::corpus::read_text(&path).unwrap().0
    };
    let [de, en] = ["de", "en"].map(text);
    let lines: Vec<_> = en.lines().collect();
    let shifted = [&lines[1..], &lines[..1]].concat().join("\n") + "\n";
    for (name, text) in [("train.de", &de), ("train.en", &en), ("shifted.en", &shifted)] {
        fs::write(path(name), text).unwrap();
    }
    let train = |out: &str, more: &[&str]| {
        let (out, cache) = (path(out), format!("data.cache={}", path("cache")));
        let mut arguments = vec!["train", "--out", &out, "--set", &cache];
        for it in [
            "training.max_updates=1",
            "tokenizer.train.allow_smaller=true",
            "validation.bleu=false",
        ] {
            arguments.extend(["--set", it]);
        }
        arguments.extend(more);
        let said = stderr(&run(&arguments));
        assert!(said.contains("update"), "{said}");
        said.lines().filter(|line| line.contains("warning: ")).map(String::from).collect::<Vec<_>>()
    };
    let [de, en, shifted] = ["train.de", "train.en", "shifted.en"].map(path);
    assert_eq!(
        train("good", &["--preset", "tiny", "--train", &de, &en, "--valid", &de, &en]),
        [""; 0]
    );
    let swapped = train("swapped", &["--preset", "tiny", "--train", &de, &en, "--valid", &en, &de]);
    assert!(
        swapped.len() == 1 && swapped[0].contains("the sides of data.valid look swapped"),
        "{swapped:?}"
    );
    let moved =
        train("moved", &["--preset", "tiny", "--train", &de, &shifted, "--valid", &de, &en]);
    assert!(
        moved.len() == 1
            && moved[0].contains("the sides of data.train look shifted: from about line 1 on"),
        "{moved:?}"
    );
    // The model inside the program, in its direction and in the other.
    assert_eq!(train("tuned", &["--from", "embedded:de-en", "--train", &de, &en]), [""; 0]);
    let other = train("other", &["--from", "embedded:en-de", "--train", &de, &en]);
    assert!(
        other.len() == 1 && other[0].contains("seems to translate in the other direction"),
        "{other:?}"
    );
}

#[test]
fn wrong_usage_exits_2_and_failure_1_with_the_remedy() {
    assert_eq!(run(&["train", "--no-such-flag"]).status.code(), Some(2));
    assert_eq!(run::<&str>(&[]).status.code(), Some(2));
    let toy = Toy::new();
    let cases: [(&[&str], i32, &str); 4] = [
        (&["--set", "model.d_modle=3"], 2, "model.d_model"),
        (&["--set", "model.heads=0"], 2, "heads is 0"),
        // Only the text shows that it is too small.
        (&["--set", "training.budget=2"], 1, "budget"),
        (&["--preset", "huge"], 2, "tiny"),
    ];
    for (more, code, expected) in cases {
        let output = toy.train("wrong", more);
        assert_eq!(output.status.code(), Some(code), "{more:?}");
        assert!(stderr(&output).contains(expected), "{more:?}: {}", stderr(&output));
    }
    let out = toy.folder.path().join("missing").display().to_string();
    let missing = run(&["train", "--train", "/no/such.de", "/no/such.en", "--out", &out]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(stderr(&missing).contains("/no/such.de: no such file"), "{}", stderr(&missing));
}

#[test]
fn a_corpus_can_come_from_standard_input() {
    let toy = Toy::new();
    let rows: Vec<String> =
        common::pairs(1, 300).into_iter().map(|(de, en)| format!("{de}\t{en}\n")).collect();
    let out = toy.folder.path().join("piped").display().to_string();
    let mut arguments =
        vec!["train".to_string(), "--out".into(), out, "--train".into(), "-".into()];
    arguments.extend(common::tiny_settings(&toy.folder.path().join("cache")));
    arguments.extend(["--set", "training.max_updates=2"].map(String::from));
    let output = common::run_with(&arguments, rows.concat().as_bytes());
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("300 pairs read"), "{}", stderr(&output));
}

#[test]
fn a_configuration_file_without_a_preset_starts_from_the_default_as_help_says() {
    let help = stdout(&run(&["train", "--help"]));
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("[default: the one that --config names, otherwise speedrun]"), "{help}");
    let toy = Toy::new();
    let file = toy.folder.path().join("mine.toml");
    let resolved = |text: &str, arguments: &[&str]| {
        fs::write(&file, text).unwrap();
        let [source, target] = toy.corpus.train.each_ref().map(|path| path.to_str().unwrap());
        let start =
            ["train", "--dry-run", "--config", file.to_str().unwrap(), "--train", source, target];
        let small = ["--set", "tokenizer.train.allow_smaller=true"];
        let text = stdout(&run(&[&start[..], &small, arguments].concat()));
        settings(&text).join("\n")
    };
    let wide = "[model]\nd_ff = 300\n";
    let own = resolved(wide, &[]);
    assert!(own.contains("d_ff = 300\n") && own.contains("d_model = 192\n"), "{own}");
    assert_eq!(own, resolved(wide, &["--preset", "speedrun"]));
    assert_ne!(own, resolved(&format!("preset = \"small\"\n{wide}"), &[]));
}

#[test]
fn a_cooldown_ends_at_a_rate_of_zero_and_a_run_that_lost_its_end_makes_it_again() {
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
    let records = metrics.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let rates: Vec<f64> =
        records.filter(|r| r["kind"] == "train").map(|r| r["lr"].as_f64().unwrap()).collect();
    assert_eq!(rates.len(), 80);
    assert_eq!(rates[9], rates[39], "constant after the warm-up: {rates:?}");
    assert!(
        (rates[60] / rates[39] - 0.5).abs() < 1e-9 && rates[79] < 0.03 * rates[39],
        "{rates:?}"
    );
    let whole = toy.weights("run", 80);
    fs::remove_dir_all(run.join("checkpoints/step-000080")).unwrap();
    let resumed = toy.train("run", &[&settings[..], &["--resume"]].concat());
    assert!(stderr(&resumed).contains("resumed after update 40"), "{}", stderr(&resumed));
    assert!(toy.weights("run", 80) == whole);
}

#[test]
fn the_length_penalty_with_the_best_validation_bleu_is_that_of_the_best_model() {
    let toy = Toy::new();
    let alphas =
        ["--set", "validation.test_alphas=[0.0, 0.6, 3.0]", "--set", "validation.test_beam=3"];
    let output = toy.train("run", &[&alphas[..], &["--set", "training.max_updates=150"]].concat());
    stdout(&output);
    let said = stderr(&output);
    let scores = said.lines().find_map(|line| line.split_once("with a beam of 3: ")).unwrap().1;
    let score = |part: &str| {
        let (alpha, bleu) = part.split_once(": ").unwrap();
        (alpha.parse::<f64>().unwrap(), bleu.parse::<f64>().unwrap())
    };
    let scores: Vec<(f64, f64)> = scores.split(", ").map(score).collect();
    assert_eq!(scores.iter().map(|score| score.0).collect::<Vec<_>>(), [0.0, 0.6, 3.0]);
    let best = toy.folder.path().join("run/best");
    let search: Value =
        serde_json::from_slice(&fs::read(best.join("generation.json")).unwrap()).unwrap();
    let chosen = search["length_penalty"]["gnmt"].as_f64().unwrap();
    let bleu = scores.iter().find(|score| score.0 == chosen).unwrap().1;
    assert!(scores.iter().all(|score| score.1 <= bleu), "{chosen} {scores:?}");
    assert_eq!(search["beam_size"], 3);
    stdout(&run(&["inspect", best.to_str().unwrap()]));
}

#[test]
fn a_model_is_fine_tuned_on_a_mixture_named_on_the_command_line() {
    let toy = Toy::new();
    let path = |name: &str| toy.folder.path().join(name).display().to_string();
    let short = ["--set", "training.max_updates=40"];
    stdout(&toy.train("base", &short));
    let [source, target] = toy.corpus.valid.each_ref().map(|path| path.display().to_string());
    let from = path("base/last");
    let mix = ["--from", &from, "--mix", &source, &target, "3", "--mix", &target, &source, "0.5"];
    let said = stderr(&toy.train("tuned", &[&short[..], &mix].concat()));
    assert!(said.contains("weights and tokenisers: those of") && said.contains("start/"), "{said}");
    assert!(toy.weights("tuned", 40) != toy.weights("base", 40));
    let config = fs::read_to_string(path("tuned/config.toml")).unwrap();
    assert!(config.contains(&from) && config.contains("weight = 3.0"), "{config}");
    let tokenizer = |run: &str| fs::read(path(&format!("{run}/best/tokenizer.json"))).unwrap();
    assert!(tokenizer("tuned") == tokenizer("base"));
    let dry = stdout(&toy.train("dry", &["--from", &from, "--dry-run"]));
    assert!(dry.contains("training") && dry.contains("# parameters"), "{dry}");
    let refused = stderr(&toy.train("none", &["--from", &from, "--mix", &source, &target, "much"]));
    assert!(refused.contains("--mix") && refused.contains("much"), "{refused}");
    let other = stderr(&toy.train("none", &["--from", &from, "--set", "model.d_model=32"]));
    assert!(other.contains("model.d_model is 32") && other.contains("has 64"), "{other}");
}
