//! Mistakes of users who have not read the manual, and the hints they get.

use crate::common;
use std::fs;
use std::path::Path;

use crate::common::{Untrained, burnformer, refused, run, run_with, stderr, stdout};

fn model() -> String {
    Untrained::get().model().display().to_string()
}

#[test]
fn text_on_the_command_line_is_answered_with_a_pipe_and_a_file_with_its_option() {
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
        "holds 1 run: name what is to be drawn, such as {}/run",
        home.display()
    );
    for (path, needle) in [
        (home, inside.as_str()),
        (empty.path(), "folder of one"),
        (text, "folder of one"),
    ] {
        refused(
            &["plot", path.to_str().unwrap(), "-o", "/no/such.svg"],
            2,
            &["is no run", needle],
        );
    }
}

#[test]
fn curves_are_numbers_too() {
    let folder = tempfile::tempdir().unwrap();
    let [table, picture] = ["a.csv", "a.svg"].map(|name| folder.path().join(name));
    let run_folder = Untrained::get().folder.path().join("run");
    let files = [&table, &picture].map(|path| path.to_str().unwrap());
    let metric = ["--metric", "loss,speed"];
    let plot = [
        "plot",
        run_folder.to_str().unwrap(),
        "-o",
        files[0],
        "-o",
        files[1],
    ];
    stdout(&run(&[&plot[..], &metric].concat()));
    let found = fs::read_to_string(&table).unwrap();
    assert!(found.starts_with("chart,series,x,y\nLoss,run,"), "{found}");
    assert!(
        found.lines().all(|line| line.split(',').count() == 4),
        "{found}"
    );
    assert!(picture.exists());
    fs::remove_file(&picture).unwrap();
    for name in ["a.gif", "a", ".csv"] {
        let plot = [
            "plot",
            run_folder.to_str().unwrap(),
            "-o",
            files[1],
            "-o",
            name,
        ];
        refused(&plot, 2, &[".svg", ".csv"]);
        assert!(
            !picture.exists(),
            "nothing is written before all names are known to be right"
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
fn explanations_of_keys_are_whole() {
    let listed = stdout(&run(&["config"]));
    for line in listed.lines().filter(|line| line.contains('#')) {
        assert_eq!(
            line.matches('(').count(),
            line.matches(')').count(),
            "{line}"
        );
        assert!(!line.ends_with(" al") && !line.ends_with("e.g"), "{line}");
    }
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
fn quiet_leaves_results_warnings_and_errors_alone() {
    let untrained = Untrained::get();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let model = model();
    let [source, target] = untrained
        .corpus
        .test
        .each_ref()
        .map(|path| path.to_str().unwrap());
    let picture = path("a.svg");
    let page = path("a.html");
    let [quantized, average, shortlist, out, pairs] = ["q", "m", "s", "ct2", "p.tsv"].map(path);
    let init = path("burnformer.toml");
    let run_folder = untrained.folder.path().join("run").display().to_string();
    let commands: [&[&str]; 11] = [
        &["translate", "--beam", "1"],
        &[
            "score", "--model", &model, "--source", source, "--target", target,
        ],
        &["quantize", "--model", &model, "--out", &quantized],
        &["average", &model, "--out", &average],
        &[
            "shortlist",
            "--model",
            &model,
            "--train",
            source,
            target,
            "--out",
            &shortlist,
        ],
        &["export", "ctranslate2", "--model", &model, "--out", &out],
        &[
            "attention",
            "--model",
            &model,
            "eins",
            "--target",
            "one",
            "--html",
            &page,
        ],
        &["plot", &run_folder, "-o", &picture],
        &[
            "distill",
            "--model",
            "embedded:de-en",
            "--source",
            source,
            "--out",
            &pairs,
        ],
        &["config", "init", &init],
        &["train", "--dry-run"],
    ];
    for command in commands {
        let quiet = run_with(&[command, &["--quiet"]].concat(), b"eins\n");
        stdout(&quiet);
        assert_eq!(stderr(&quiet), "", "{command:?}");
    }
    let said = stderr(&run_with(
        &["-q", "translate", "--model", &model],
        b"caf\xe9\n",
    ));
    assert!(
        !said.is_empty() && said.lines().all(|line| line.starts_with("warning: ")),
        "{said}"
    );
    assert!(stderr(&run_with(&["translate"], b"eins\n")).contains("model: embedded:de-en"));
    refused(
        &["translate", "-q", "--model", "/no/such"],
        1,
        &["no such folder"],
    );
    refused(
        &["train", "--out", "/no/such", "--resume"],
        1,
        &["/no/such: no such folder"],
    );
    refused(
        &["translate", "--output", "out.gz"],
        2,
        &["out.gz: the output is plain text"],
    );
    refused(
        &["quantize", "--model", "embedded:de-en", "--out", "/no/such"],
        1,
        &["quantised already"],
    );
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

#[test]
fn presets_are_listed_and_a_commented_file_is_written_that_changes_nothing() {
    let listed = stdout(&run(&["config", "presets"]));
    for name in [
        "speedrun", "tiny", "small", "base", "big", "multi30k", "rnn",
    ] {
        assert!(
            listed
                .lines()
                .any(|line| line.starts_with(&format!("{name} "))),
            "{listed}"
        );
    }
    let folder = tempfile::tempdir().unwrap();
    let run_in = |arguments: &[&str]| burnformer(arguments).current_dir(&folder).output().unwrap();
    stdout(&run_in(&["config", "init", "--preset", "small"]));
    // Measured values stand in comments.
    let settings = |output| -> Vec<String> {
        let text = stdout(&output);
        text.lines()
            .filter(|line| !line.starts_with('#'))
            .map(str::to_owned)
            .collect()
    };
    let by_file = settings(run_in(&[
        "train",
        "--config",
        "burnformer.toml",
        "--dry-run",
    ]));
    assert_eq!(
        by_file,
        settings(run(&["train", "--preset", "small", "--dry-run"]))
    );
    assert!(by_file.len() > 50, "{by_file:?}");
    let again = run_in(&["config", "init"]);
    assert!(
        stderr(&again).contains("burnformer.toml: exists already"),
        "{}",
        stderr(&again)
    );
    refused(
        &["config", "init", "--preset", "huge"],
        2,
        &["\"huge\"", "multi30k"],
    );
}

#[test]
fn shells_complete_commands_and_options() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = stdout(&run(&["completions", shell]));
        assert!(
            script.contains("eval-bleu") && script.contains("shortlist"),
            "{shell}"
        );
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("man").display().to_string();
    assert_eq!(stdout(&run(&["completions", "--man", &folder])), "");
    let page = std::fs::read_to_string(format!("{folder}/burnformer-eval-bleu.1")).unwrap();
    assert!(page.contains(".TH") && page.contains("reference"), "{page}");
    refused(&["completions"], 2, &["SHELL"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_limit_on_files_is_noticed_before_the_first_update() {
    let toy = common::Toy::new();
    let arguments = toy.arguments("run", &["--set", "training.max_updates=2"]);
    // 600 kB, more than the weights and less than the moments.
    let script = "ulimit -f 1200; exec \"$0\" \"$@\"";
    let mut command = std::process::Command::new("sh");
    command
        .args(["-c", script, env!("CARGO_BIN_EXE_burnformer")])
        .args(&arguments);
    let output = common::feed(&mut command, b"");
    common::assert_refused(&output, 1, &["ulimit -f"]);
    let log = fs::read_to_string(toy.path("run/train.log")).unwrap();
    assert!(!log.contains("after update"), "{log}");
    stderr(&toy.train("run", &["--set", "training.max_updates=2", "--resume"]));
    assert!(toy.path("run/checkpoints/step-000002").is_dir());
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_cannot_be_made_is_noticed_before_the_size_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let said = |out: &Path| {
        let output = run(&["train", "--out", out.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(1));
        stderr(&output)
    };
    for out in [file.join("run"), file.join("a/b"), "/proc/run".into()] {
        assert!(!said(&out).contains("measuring"), "{}", out.display());
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn out_of_memory_ends_the_program_with_a_message() {
    use std::process::{Command, Stdio};
    // Enough to begin and too little for the model.
    let script =
        "ulimit -v 500000; exec \"$0\" translate --model embedded:de-en --batch 8000 --chunk 20000";
    let mut command = Command::new("sh");
    command
        .args(["-c", script, env!("CARGO_BIN_EXE_burnformer")])
        .stdin(Stdio::piped());
    let output = common::feed(
        &mut command,
        "eins zwei drei vier fünf\n".repeat(20_000).as_bytes(),
    );
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let mut lines = said.lines().rev();
    assert!(
        lines.next().unwrap().starts_with("hint: free some"),
        "{said}"
    );
    let error = lines.next().unwrap();
    assert!(
        error.starts_with("error: out of memory (") && error.ends_with(" bytes)"),
        "{said}"
    );
    assert!(
        !said.contains("backtrace") && !said.contains("panicked"),
        "{said}"
    );
}

/// The messages and the exit code of the program with `arguments` in an address space of
/// `kilobytes`.
#[cfg(target_os = "linux")]
fn run_within(kilobytes: usize, arguments: &[&str]) -> (String, Option<i32>) {
    let script = format!("ulimit -v {kilobytes}; exec \"$0\" \"$@\"");
    let mut command = std::process::Command::new("sh");
    command
        .args(["-c", &script, env!("CARGO_BIN_EXE_burnformer")])
        .args(arguments)
        .env("RAYON_NUM_THREADS", "2")
        .stdin(std::process::Stdio::piped());
    let output = common::feed(&mut command, b"eins zwei drei\n");
    (stderr(&output), output.status.code())
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_of_a_model_that_does_not_fit_into_memory_is_named() {
    const HOLE: u64 = 1 << 30;
    let folder = tempfile::tempdir().unwrap();
    let write_hole = |path: &Path, start: &[u8]| {
        fs::write(path, start).unwrap();
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_len(start.len() as u64 + HOLE).unwrap();
    };
    let header = format!(
        r#"{{"x":{{"dtype":"F32","shape":[{}],"data_offsets":[0,{HOLE}]}}}}"#,
        HOLE / 4
    );
    let weights = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes()].concat();
    for (name, start) in [
        ("tokenizer.json", &b"{"[..]),
        ("generation.json", b"{"),
        ("model.safetensors", &weights),
    ] {
        let model = folder.path().join(name);
        fs::create_dir(&model).unwrap();
        for entry in fs::read_dir(Untrained::get().model()).unwrap().flatten() {
            fs::copy(entry.path(), model.join(entry.file_name())).unwrap();
        }
        write_hole(&model.join(name), start);
        let manifest = model.join("manifest.json");
        let mut json: serde_json::Value =
            serde_json::from_slice(&fs::read(&manifest).unwrap()).unwrap();
        json["files"][name]["bytes"] = (start.len() as u64 + HOLE).into();
        fs::write(&manifest, json.to_string()).unwrap();
        let model = model.to_str().unwrap();
        let (said, code) = run_within(900_000, &["translate", "--model", model]);
        let expected = format!("error: {model}/{name}: does not fit into the free memory");
        assert_eq!(code, Some(1), "{said}");
        assert!(
            said.lines().rev().nth(1).unwrap().starts_with(&expected),
            "{said}"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn any_amount_of_memory_gives_a_translation_or_a_message() {
    let mut made = 0;
    // A program with every device takes 115 MB itself.
    for step in 3..=14 {
        let (said, code) = run_within(50_000 * step, &["translate"]);
        made += usize::from(code == Some(0));
        let error = said.lines().find(|line| line.starts_with("error: "));
        let tells = code == Some(1) && error.is_some_and(|error| error.contains("memory"));
        assert!(code == Some(0) || tells, "{step} {code:?}: {said}");
    }
    assert!((1..12).contains(&made), "{made}");
}
