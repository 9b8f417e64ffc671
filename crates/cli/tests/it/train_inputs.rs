//! Inputs of a training: texts and settings.

use crate::common;
use std::fs;

use crate::common::{Toy, run, stderr, stdout, train_arguments};

#[test]
fn a_dry_run_prints_a_configuration_that_can_be_used() {
    let toy = Toy::new();
    let text = stdout(&toy.train("dry", &["--dry-run"]));
    let of = |text: &str, name: &str| {
        let line = text
            .lines()
            .find(|line| line.starts_with(&format!("# {name}: ")));
        line.unwrap_or_else(|| panic!("{name}: {text}")).to_string()
    };
    let path = toy.folder.path().join("again.toml");
    fs::write(&path, &text).unwrap();
    let again = stdout(&run(&[
        "train",
        "--config",
        path.to_str().unwrap(),
        "--dry-run",
    ]));
    assert_eq!(settings(&again), settings(&text));
    assert_eq!(of(&again, "parameters"), of(&text, "parameters"));
    assert!(!toy.folder.path().join("dry").exists());
    // The plan has the run's updates, its memory, and the time of its score.
    let time = of(&text, "time");
    assert!(
        time.contains(" for 800 updates, the mean of 20 updates being 0."),
        "{time}"
    );
    assert!(of(&text, "memory, with the worst batch").ends_with(" GB"));
    assert!(of(&text, "first score").contains("after update 400, about "));
    let short = stdout(&toy.train("dry", &["--dry-run", "--set", "training.max_epochs=2"]));
    assert!(!of(&short, "time").contains(" for 800 updates"), "{short}");
}

/// The lines of a dry run that are not comments.
fn settings(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.starts_with('#')).collect()
}

#[test]
fn a_missing_text_is_refused_before_anything_is_computed() {
    let toy = Toy::new();
    for (flag, more) in [
        ("--train", None),
        ("--valid", None),
        ("--test", None),
        ("--test", Some("--dry-run")),
        ("--valid", Some("--dry-run")),
    ] {
        let mut arguments = train_arguments(toy.folder.path(), &toy.corpus, "missing", &[]);
        let index = arguments
            .iter()
            .position(|argument| argument == flag)
            .unwrap();
        arguments[index + 2] = "/no/such.en".into();
        arguments.extend(more.map(String::from));
        common::assert_refused(&run(&arguments), 1, &["/no/such.en: no such file"]);
        assert!(
            !toy.folder.path().join("missing").exists(),
            "{flag} {more:?}"
        );
    }
}

#[test]
fn the_test_text_is_scored_without_pairs_that_are_skipped() {
    let toy = Toy::new();
    let [source, target] = &toy.corpus.test;
    fs::write(source, b"eins zwei\nf\xfcnf\ndrei vier\n").unwrap();
    fs::write(
        target,
        "one two\nfive five five five five five\nthree four\n",
    )
    .unwrap();
    let short = ["--set", "training.max_updates=2", "--set", "data.utf8=skip"];
    let said = stdout(&toy.train("run", &short));
    let sources: Vec<_> = said
        .lines()
        .filter_map(|line| line.strip_prefix("source "))
        .collect();
    assert_eq!(
        sources.iter().map(|it| it.trim()).collect::<Vec<_>>(),
        ["eins zwei", "drei vier"]
    );
    // Scored again only if the score was missing.
    let score = toy.folder.path().join("run/test-score.txt");
    assert!(said.contains(fs::read_to_string(&score).unwrap().trim_end()));
    fs::remove_file(&score).unwrap();
    let resume = [&short[..], &["--resume"]].concat();
    assert_eq!(stdout(&toy.train("run", &resume)), said);
    let nothing = toy.train("run", &resume);
    assert_eq!(nothing.status.code(), Some(1));
    assert!(
        stderr(&nothing).contains("nothing to do"),
        "{}",
        stderr(&nothing)
    );
}

#[test]
fn without_a_validation_text_the_test_has_the_search_that_is_configured() {
    let toy = Toy::new();
    let scored = |out: &str, settings: [&str; 2]| {
        let mut arguments = train_arguments(toy.folder.path(), &toy.corpus, out, &[]);
        let index = arguments
            .iter()
            .position(|argument| argument == "--valid")
            .unwrap();
        arguments.drain(index..index + 3);
        let short = ["training.max_updates=60", "checkpoints.average=0"];
        let settings = short.iter().chain(&settings);
        arguments.extend(settings.flat_map(|it| ["--set".to_string(), it.to_string()]));
        stdout(&run(&arguments))
            .lines()
            .filter(|line| !line.starts_with("model: "))
            .collect::<Vec<_>>()
            .join("\n")
    };
    let plain = scored(
        "plain",
        ["validation.test_alpha=9", "validation.test_alphas=[]"],
    );
    let chosen = scored(
        "chosen",
        ["validation.test_alpha=9", "validation.test_alphas=[0.6]"],
    );
    let default = scored(
        "default",
        ["validation.test_alpha=0.6", "validation.test_alphas=[]"],
    );
    assert_eq!(chosen, plain);
    assert_ne!(default, plain, "the length penalty makes no difference");
}

#[test]
fn texts_whose_sides_are_swapped_or_shifted_are_told_before_the_first_update() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let text = |side: &str| {
        let name = format!("../../assets/corpus/tatoeba-de-en/valid.{side}.zst");
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
        std::io::read_to_string(burnformer_data::corpus::open_bytes(&path).unwrap()).unwrap()
    };
    let [de, en] = ["de", "en"].map(text);
    let lines: Vec<_> = en.lines().collect();
    let shifted = [&lines[1..], &lines[..1]].concat().join("\n") + "\n";
    for (name, text) in [
        ("train.de", &de),
        ("train.en", &en),
        ("shifted.en", &shifted),
    ] {
        fs::write(path(name), text).unwrap();
    }
    let train = |out: &str, more: &[&str]| {
        let out = path(out);
        let cache = format!("data.cache={}", path("cache"));
        let mut arguments = vec!["train", "--out", &out, "--set", &cache];
        for it in ["training.max_updates=1", "validation.bleu=false"] {
            arguments.extend(["--set", it]);
        }
        if !more.contains(&"--from") {
            arguments.extend(["--set", "tokenizer.train.allow_smaller=true"]);
        }
        arguments.extend(more);
        let said = stderr(&run(&arguments));
        assert!(said.contains("update"), "{said}");
        // The validation text is the training text here, which is reported too.
        let is_other = |line: &&str| {
            line.contains("warning: ") && !line.contains("of the pairs of data.valid")
        };
        said.lines()
            .filter(is_other)
            .map(String::from)
            .collect::<Vec<_>>()
    };
    let [de, en, shifted] = ["train.de", "train.en", "shifted.en"].map(path);
    assert_eq!(
        train(
            "good",
            &["--preset", "tiny", "--train", &de, &en, "--valid", &de, &en]
        ),
        [""; 0]
    );
    let swapped = train(
        "swapped",
        &["--preset", "tiny", "--train", &de, &en, "--valid", &en, &de],
    );
    assert!(
        swapped.len() == 1 && swapped[0].contains("the sides of data.valid look swapped"),
        "{swapped:?}"
    );
    let moved = train(
        "moved",
        &[
            "--preset", "tiny", "--train", &de, &shifted, "--valid", &de, &en,
        ],
    );
    assert!(
        moved.len() == 1
            && moved[0].contains("the sides of data.train look shifted: from about line 1 on"),
        "{moved:?}"
    );
    // The model inside the program, in its direction and in the other.
    assert_eq!(
        train("tuned", &["--from", "embedded:de-en", "--train", &de, &en]),
        [""; 0]
    );
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
        assert!(
            stderr(&output).contains(expected),
            "{more:?}: {}",
            stderr(&output)
        );
    }
    let out = toy.folder.path().join("missing").display().to_string();
    let missing = run(&[
        "train",
        "--train",
        "/no/such.de",
        "/no/such.en",
        "--out",
        &out,
    ]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(
        stderr(&missing).contains("/no/such.de: no such file"),
        "{}",
        stderr(&missing)
    );
}

#[test]
fn a_corpus_can_come_from_standard_input() {
    let toy = Toy::new();
    let rows: Vec<String> = common::pairs(1, 300)
        .into_iter()
        .map(|(de, en)| format!("{de}\t{en}\n"))
        .collect();
    let out = toy.folder.path().join("piped").display().to_string();
    let mut arguments = vec![
        "train".to_string(),
        "--out".into(),
        out,
        "--train".into(),
        "-".into(),
    ];
    arguments.extend(common::tiny_settings(&toy.folder.path().join("cache")));
    arguments.extend(["--set", "training.max_updates=2"].map(String::from));
    let output = common::run_with(&arguments, rows.concat().as_bytes());
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("300 pairs read"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_configuration_file_without_a_preset_starts_from_the_default_as_help_says() {
    let help = stdout(&run(&["train", "--help"]));
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        help.contains("[default: the one that --config names, otherwise speedrun]"),
        "{help}"
    );
    let toy = Toy::new();
    let file = toy.folder.path().join("mine.toml");
    let resolved = |text: &str, arguments: &[&str]| {
        fs::write(&file, text).unwrap();
        let [source, target] = toy
            .corpus
            .train
            .each_ref()
            .map(|path| path.to_str().unwrap());
        let start = [
            "train",
            "--dry-run",
            "--config",
            file.to_str().unwrap(),
            "--train",
            source,
            target,
        ];
        let small = ["--set", "tokenizer.train.allow_smaller=true"];
        let text = stdout(&run(&[&start[..], &small, arguments].concat()));
        settings(&text).join("\n")
    };
    let wide = "[model]\nd_ff = 300\n";
    let config = resolved(wide, &[]);
    assert!(
        config.contains("d_ff = 300\n") && config.contains("d_model = 192\n"),
        "{config}"
    );
    assert_eq!(config, resolved(wide, &["--preset", "speedrun"]));
    assert_ne!(
        config,
        resolved(&format!("preset = \"small\"\n{wide}"), &[])
    );
}

#[test]
fn a_model_is_fine_tuned_on_a_mixture_named_on_the_command_line() {
    let toy = Toy::new();
    let path = |name: &str| toy.folder.path().join(name).display().to_string();
    let short = ["--set", "training.max_updates=40"];
    stdout(&toy.train("base", &short));
    let [source, target] = toy
        .corpus
        .valid
        .each_ref()
        .map(|path| path.display().to_string());
    let from = path("base/last");
    let mix = [
        "--from", &from, "--mix", &source, &target, "3", "--mix", &target, &source, "0.5",
    ];
    let said = stderr(&toy.train("tuned", &[&short[..], &mix].concat()));
    assert!(
        said.contains("weights and tokenisers: from") && said.contains("start/"),
        "{said}"
    );
    assert!(toy.weights("tuned", 40) != toy.weights("base", 40));
    let config = fs::read_to_string(path("tuned/config.toml")).unwrap();
    assert!(
        config.contains(&from) && config.contains("weight = 3.0"),
        "{config}"
    );
    let tokenizer = |run: &str| fs::read(path(&format!("{run}/best/tokenizer.json"))).unwrap();
    assert!(tokenizer("tuned") == tokenizer("base"));
    let dry = stdout(&toy.train("dry", &["--from", &from, "--dry-run"]));
    assert!(
        dry.contains("training") && dry.contains("# parameters"),
        "{dry}"
    );
    let refused = stderr(&toy.train(
        "none",
        &["--from", &from, "--mix", &source, &target, "much"],
    ));
    assert!(
        refused.contains("--mix") && refused.contains("much"),
        "{refused}"
    );
    let other = stderr(&toy.train("none", &["--from", &from, "--set", "model.d_model=32"]));
    assert!(
        other.contains("model.d_model is 32") && other.contains("has 64"),
        "{other}"
    );
}

#[test]
fn unknown_tokens_are_reported_and_one_in_a_hundred_is_a_warning() {
    let toy = Toy::new();
    let short = [
        "--set",
        "training.max_updates=1",
        "--set",
        "validation.bleu=false",
    ];
    stdout(&toy.train("first", &short));
    // Without byte tokens, the tokeniser knows only the letters of its text.
    let json = fs::read_to_string(toy.path("first/best/tokenizer.json")).unwrap();
    let tokenizer = toy.path("tokenizer.json");
    fs::write(
        &tokenizer,
        json.replace("\"byte_fallback\":true", "\"byte_fallback\":false"),
    )
    .unwrap();
    assert_ne!(fs::read_to_string(&tokenizer).unwrap(), json);
    let files = format!("tokenizer.files=[{:?}]", tokenizer.display().to_string());
    let [_, target] = &toy.corpus.train;
    let text = fs::read_to_string(target).unwrap();
    for (euros, warns) in [(0, None), (3, Some(false)), (500, Some(true))] {
        fs::write(
            target,
            text.lines()
                .enumerate()
                .map(|(index, line): (usize, &str)| {
                    if index < euros {
                        format!("{line} €\n")
                    } else {
                        format!("{line}\n")
                    }
                })
                .collect::<String>(),
        )
        .unwrap();
        let out = format!("run{euros}");
        let output = toy.train(&out, &[&short[..], &["--set", &files]].concat());
        stdout(&output);
        let said = stderr(&output);
        let line = said
            .lines()
            .find(|line| line.contains("are unknown to the tokeniser"));
        let told = line.map(|line| line.starts_with("warning: ") && line.contains("among them: €"));
        assert_eq!(told, warns, "{said}");
        assert!(
            line.is_none_or(|line| line.contains("0.00 % of the source tokens")),
            "{said}"
        );
    }
}
