//! The examples in the help of every command, run in a folder that has the files they name.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use burnformer_data::{LineReader, Utf8Policy};

use crate::common::{Untrained, run, stdout};

/// The time limit of an example that does not end by itself.
const PATIENCE: Duration = Duration::from_secs(5);

/// An address without a server.
const NOWHERE: &str = "http://127.0.0.1:9";

/// The commands, and the examples of each, from their help texts.
fn examples() -> Vec<(String, Vec<String>)> {
    let help = stdout(&run(&["--help"]));
    let listed = help
        .split_once("Commands:\n")
        .unwrap()
        .1
        .split("\n\n")
        .next()
        .unwrap()
        .to_owned();
    let name = |line: &str| {
        line.strip_prefix("  ")?
            .split(' ')
            .next()
            .map(str::to_owned)
    };
    let names = listed
        .lines()
        .filter_map(name)
        .filter(|name| !name.is_empty() && name != "help");
    names
        .map(|name: String| {
            let help = stdout(&run(&[&name, "--help"]));
            let shown = help.split_once("Example").map_or("", |(_, shown)| shown);
            let lines = shown.lines().skip(1).map(|line| line.trim().to_owned());
            (name, lines.filter(|line| !line.is_empty()).collect())
        })
        .collect()
}

/// A folder with the files that the examples name.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/corpus/tatoeba-de-en");
    let lines = |text: &str, count: usize| -> Vec<String> {
        let named = [".zst", ".gz", ""].map(|end| corpus.join(format!("{text}{end}")));
        let file = named.into_iter().find(|file| file.exists()).unwrap();
        let reader = LineReader::open(&file, Utf8Policy::Error).unwrap();
        reader.take(count).map(|line| line.unwrap().text).collect()
    };
    let write =
        |name: &str, lines: &[String]| fs::write(path(name), lines.join("\n") + "\n").unwrap();
    for (text, count) in [("train", 20_000), ("valid", 50), ("test", 20)] {
        let [source, target] =
            ["de", "en"].map(|language| lines(&format!("{text}.{language}"), count));
        let pairs = source
            .iter()
            .zip(&target)
            .map(|(source, target)| format!("{source}\t{target}"));
        write(&format!("{text}.tsv"), &pairs.collect::<Vec<_>>());
        write(&format!("{text}.de"), &source);
        write(&format!("{text}.en"), &target);
        write("new.out", &target);
        write(
            "old.out",
            &target
                .iter()
                .map(|line| line.replace("the", "a"))
                .collect::<Vec<_>>(),
        );
    }
    for name in ["a.html", "b.html"] {
        fs::write(path(name), "<p>Guten Morgen!</p>\n").unwrap();
    }
    fs::write(path("keys"), "secret\n").unwrap();
    fs::create_dir_all(path("locale/de")).unwrap();
    // Messages that differ by numbers alone are one for `adapt`.
    let message = |number: u8| {
        let word = [number / 6, number % 6].map(|index| char::from(b'a' + index));
        let word: String = word.iter().collect();
        format!("msgid \"Page {word} of it\"\nmsgstr \"Seite {word} davon\"\n\n")
    };
    fs::write(
        path("locale/de/a.po"),
        (0..80).map(message).collect::<String>(),
    )
    .unwrap();
    fs::create_dir_all(path("runs")).unwrap();
    fs::create_dir(path("translated")).unwrap();
    let untrained = Untrained::get().folder.path().join("run");
    let copied = Command::new("cp")
        .arg("-r")
        .arg(untrained)
        .arg(path("runs/mine"))
        .status()
        .unwrap();
    assert!(copied.success());
    // An unfinished run.
    let config = path("runs/mine/config.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(
        config,
        text.replace("max_updates = 2\n", "max_updates = 100000\n"),
    )
    .unwrap();
    let [model, out] =
        ["runs/mine", "ctranslate2-model"].map(|name| path(name).display().to_string());
    stdout(&run(&[
        "export",
        "ctranslate2",
        "--model",
        &model,
        "--out",
        &out,
    ]));
    folder
}

/// Runs `line` in `folder`, and stops it after a while if it is `endless`. Returns its exit code
/// (`None` if it was stopped) and its messages.
fn outcome(line: &str, folder: &Path, endless: bool) -> (Option<i32>, String) {
    let program = Path::new(env!("CARGO_BIN_EXE_burnformer"))
        .parent()
        .unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let said = folder.join("said");
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("exec 2>{}; {line}", said.display())])
        .current_dir(folder);
    command
        .env("PATH", path)
        .env("HF_ENDPOINT", NOWHERE)
        .env("FIREFOX_SETTINGS_ENDPOINT", NOWHERE);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let started = Instant::now();
    let code = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status.code(),
            None if endless && started.elapsed() > PATIENCE => {
                child.kill().unwrap();
                child.wait().unwrap();
                break None;
            }
            None => std::thread::sleep(Duration::from_millis(50)),
        }
    };
    (code, fs::read_to_string(said).unwrap())
}

#[test]
fn every_command_has_examples_and_they_run() {
    let folder = folder();
    for (command, lines) in examples() {
        assert!(lines.len() >= 2, "{command} has {} examples", lines.len());
        for line in lines {
            assert!(line.chars().count() <= 98, "{line}");
            let endless = ["train", "serve", "adapt"].contains(&command.as_str());
            let line = match command.as_str() {
                "serve" => line + " --listen 127.0.0.1:0",
                "train" | "adapt" => line
                    .split(" #")
                    .next()
                    .map(|line| format!("exec {line}"))
                    .unwrap(),
                _ => line,
            };
            let line = if command == "serve" {
                format!("exec {line}")
            } else {
                line
            };
            let (code, said) = outcome(&line, folder.path(), endless);
            // Names of models to fetch are checked for their form alone.
            let good = match code {
                Some(code) if line.contains("hf:") || line.contains("firefox:") => code != 2,
                Some(code) => code == 0,
                None => true,
            };
            assert!(good, "{line}: {code:?}: {said}");
        }
    }
}
