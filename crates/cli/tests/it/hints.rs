//! Mistakes of users who have not read the manual, and the hints they get.

use std::fs;

use crate::common::{Untrained, refused, run, stderr, stdout};

fn model() -> String {
    Untrained::get().model().display().to_string()
}

#[test]
fn text_or_a_file_on_the_command_line_is_answered_with_a_hint() {
    refused(
        &["translate", "Wo ist", "der Bahnhof?"],
        2,
        &["echo \"Wo ist der Bahnhof?\" | burnformer translate"],
    );
    let text = Untrained::get().corpus.test[0].to_str().unwrap();
    refused(&["translate", text], 2, &[&format!("--input {text}")]);
}

#[test]
fn a_file_in_the_place_of_a_model_is_called_a_file() {
    let text = Untrained::get().corpus.test[0].to_str().unwrap();
    for command in ["translate --model", "inspect"] {
        let arguments: Vec<&str> = command.split(' ').chain([text]).collect();
        refused(&arguments, 1, &["is a file", "runs/NAME/best"]);
    }
}

#[test]
fn a_folder_that_is_no_model_names_the_models_in_it() {
    let home = Untrained::get().folder.path().display().to_string();
    let empty = tempfile::tempdir().unwrap();
    let empty = empty.path().to_str().unwrap();
    let text = Untrained::get().corpus.test[0].to_str().unwrap();
    let commands: [&[&str]; 12] = [
        &["translate", "--model", "MODEL"],
        &[
            "score", "--input", text, "--target", text, "--model", "MODEL",
        ],
        &[
            "eval-bleu",
            "--input",
            text,
            "--reference",
            text,
            "--model",
            "MODEL",
        ],
        &[
            "distill",
            "--input",
            text,
            "--out",
            "/no/such/out",
            "--model",
            "MODEL",
        ],
        &[
            "export",
            "ctranslate2",
            "--out",
            "/no/such/out",
            "--model",
            "MODEL",
        ],
        &["quantize", "--out", "/no/such/out", "--model", "MODEL"],
        &["attention", "eins", "--model", "MODEL"],
        &[
            "shortlist",
            "--train",
            text,
            text,
            "--out",
            "/no/such/out",
            "--model",
            "MODEL",
        ],
        &["inspect", "MODEL"],
        &["settings", "MODEL"],
        &["average", "--out", "/no/such/out", "MODEL"],
        &["train", "--dry-run", "--from", "MODEL"],
    ];
    for command in commands {
        let refuses = |model: &str, needles: &[&str]| {
            let named: Vec<&str> = command
                .iter()
                .map(|&word| if word == "MODEL" { model } else { word })
                .collect();
            refused(&named, 1, needles);
        };
        refuses(
            &home,
            &[
                "is not a finished model directory",
                &format!("such as {home}/run/best"),
            ],
        );
        refuses(empty, &["is not a finished model directory", "best/"]);
        refuses(text, &["is a file, but a model is a folder"]);
    }
    #[cfg(feature = "serve")]
    {
        let named = |model: &str| format!("de-en={model}");
        let inside = format!("such as {home}/run/best");
        refused(&["serve", "--model", &named(&home)], 1, &[&inside]);
        refused(
            &["serve", "--model", &named(empty)],
            1,
            &["not a finished model directory"],
        );
        refused(
            &["serve", "--api-keys", "/no/such/keys"],
            1,
            &["--api-keys", "openssl rand"],
        );
    }
}

#[test]
fn a_folder_that_is_no_run_names_the_runs_in_it() {
    let home = Untrained::get().folder.path();
    let empty = tempfile::tempdir().unwrap();
    let text = &Untrained::get().corpus.test[0];
    let inside = format!(
        "holds 1 run; name what to draw, such as {}/run",
        home.display()
    );
    for (path, needle) in [
        (home, inside.as_str()),
        (empty.path(), "name one"),
        (text, "name one"),
    ] {
        refused(
            &["plot", path.to_str().unwrap(), "-o", "/no/such.svg"],
            2,
            &["not a run directory", needle],
        );
    }
}

#[test]
fn names_of_settings_in_other_toolkits_lead_to_ours() {
    for (name, key) in [
        ("lr", "schedule.peak"),
        ("batch-size", "training.budget"),
        ("epochs", "training.max_epochs"),
        ("warmup-steps", "schedule.warmup"),
        ("max-steps", "training.max_updates"),
        ("dropout", "model.dropout"),
        ("weight-decay", "there is no weight decay"),
    ] {
        refused(
            &["train", &format!("--{name}"), "3"],
            2,
            &["--set KEY=VALUE", key],
        );
        let set = format!("{}=3", name.replace('-', "_"));
        refused(&["train", "--dry-run", "--set", &set], 2, &[key]);
    }
    refused(
        &["config", "learning_rate"],
        2,
        &["here it is \"schedule.peak\"; `config`"],
    );
    refused(&["train", "--no-such-flag"], 2, &["unexpected argument"]);
}

#[test]
fn three_files_of_one_text_are_to_be_joined() {
    for [command, option] in [
        ["train", "--train"],
        ["train", "--valid"],
        ["shortlist --out x", "--train"],
        ["attention", "--input"],
    ] {
        let words = command
            .split(' ')
            .chain([option, "a.tsv", "b.tsv", "c.tsv"]);
        let needles = [
            &format!("{option} names 3 files"),
            "`cat a.tsv … c.tsv > all.tsv`",
        ];
        refused(&words.collect::<Vec<_>>(), 2, &needles);
    }
}

#[test]
fn one_of_a_kind_is_called_so() {
    let model = model();
    let folder = tempfile::tempdir().unwrap();
    let [one, two, out] =
        ["one", "two", "out"].map(|name: &str| folder.path().join(name).display().to_string());
    fs::write(&one, "eins\n").unwrap();
    fs::write(&two, "one\ntwo\n").unwrap();
    let said = |arguments: &[&str]| stderr(&run(arguments));
    let averaged = said(&["average", &model, "--out", &out]);
    assert!(averaged.contains("averaged 1 model into"), "{averaged}");
    let scored = said(&[
        "score", "--model", &model, "--input", &one, "--target", &one,
    ]);
    assert!(scored.contains("1 pair of"), "{scored}");
    let uneven = said(&[
        "score", "--model", &model, "--input", &one, "--target", &two,
    ]);
    assert!(uneven.contains("has 2 lines"), "{uneven}");
    let none = said(&["eval-bleu", "--hypothesis", &two, "--reference", &one]);
    assert!(none.contains("has 2 lines"), "{none}");
}

#[test]
fn a_language_for_a_model_of_one_pair_is_refused() {
    for (option, side) in [
        ("--source-language", "source"),
        ("--target-language", "target"),
    ] {
        let needle = format!("{option}: the model is not told its {side} language");
        let arguments = ["translate", "--model", &model(), option, "de"];
        refused(&arguments, 2, &[&needle, "leave it out"]);
    }
}

#[test]
fn the_format_of_a_document_is_taken_from_its_extension() {
    let folder = tempfile::tempdir().unwrap();
    let subtitle = "1\n00:00:01,000 --> 00:00:02,000\neins\n";
    for (name, format, text) in [
        ("a.md", "markdown", "eins\n"),
        ("a.HTML", "html", "eins\n"),
        ("a.srt", "srt", subtitle),
    ] {
        let path = folder.path().join(name).display().to_string();
        fs::write(&path, text).unwrap();
        let fixed = ["translate", "--model", &model(), "--input", &path].map(String::from);
        let as_told = [&fixed[..], &["--format".into(), format.into()]].concat();
        let by_extension = run(&fixed);
        assert_eq!(stderr(&by_extension), "");
        assert_eq!(stdout(&by_extension), stdout(&run(&as_told)));
    }
}

#[test]
fn utf16_is_called_so_wherever_text_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.txt").display().to_string();
    let text = Untrained::get().corpus.test[0].to_str().unwrap();
    for mark in [&b"\xff\xfee\0i\0\n\0"[..], b"\xfe\xff\0e\0i\0\n"] {
        fs::write(&path, mark).unwrap();
        for command in [
            vec!["translate", "--model", &model(), "--input", &path],
            vec!["eval-bleu", "--hypothesis", &path, "--reference", text],
            vec!["train", "--train", &path, text, "--out", "/no/such/run"],
        ] {
            refused(
                &command,
                1,
                &["a.txt: the text is UTF-16", "iconv -f utf-16 -t utf-8"],
            );
        }
        // A document is read and written in its encoding, with a note.
        let model = model();
        let document = [
            "translate",
            "--model",
            &model,
            "--format",
            "text",
            "--input",
            &path,
        ];
        let output = run(&document);
        assert!(
            output.status.success() && output.stdout.starts_with(&mark[..2]),
            "{output:?}"
        );
        assert!(
            stderr(&output).contains("is not UTF-8 but UTF-16"),
            "{output:?}"
        );
    }
}

#[test]
fn an_existing_run_and_the_columns_of_scores_are_explained() {
    let said = stderr(&run(&[
        "train",
        "--out",
        Untrained::get().folder.path().join("run").to_str().unwrap(),
    ]));
    assert!(
        said.contains("holds a run already\nhint: continue it with --out ")
            && said.contains("/run --resume"),
        "{said}"
    );
    let names = stderr(&run(&[
        "score",
        "--model",
        &model(),
        "--source",
        Untrained::get().corpus.test[0].to_str().unwrap(),
        "--target",
        Untrained::get().corpus.test[1].to_str().unwrap(),
    ]));
    assert!(names.contains("columns: log-probability, score"), "{names}");
}
