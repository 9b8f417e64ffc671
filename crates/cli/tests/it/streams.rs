//! Standard streams that fail: nothing panics, no run is lost. A reader that stops early ends a
//! command quietly, as with other Unix tools. A full disk under standard output is a failure.
//! Failures of standard error are ignored.
#![cfg(unix)]

use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write, pipe};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use crate::common::{Untrained, burnformer, stderr, train_arguments};

fn model() -> String {
    Untrained::get().model().display().to_string()
}

/// Quick commands of every kind that print results.
fn printing() -> Vec<Vec<String>> {
    let model = model();
    let text = Untrained::get().corpus.test[0].display().to_string();
    let [source, target] = Untrained::get()
        .corpus
        .train
        .each_ref()
        .map(|path| path.display());
    let lines = [
        format!("translate --model {model} --input {text} --beam 1 --max-length 2"),
        format!("translate --model {model} --input {text} --beam 1 --max-length 2 --json"),
        format!("eval-bleu --hypothesis {text} --reference {text}"),
        format!("score --model {model} --source {text} --target {text}"),
        format!("inspect {model} --parameters"),
        format!("attention --model {model} eins --target one"),
        format!("attention --model {model} --file {text} {text} --alignments"),
        format!("attention --model {model} --file {text} {text} --json"),
        format!(
            "train --dry-run --preset tiny --set tokenizer.train.allow_smaller=true --train {source} {target}"
        ),
        "devices".into(),
        "--help".into(),
        "train --help".into(),
        "--version".into(),
    ];
    lines
        .iter()
        .map(|line| line.split(' ').map(String::from).collect())
        .collect()
}

/// A pipe with a closed reader.
fn closed() -> Stdio {
    let (reader, writer) = pipe().unwrap();
    drop(reader);
    writer.into()
}

#[cfg(target_os = "linux")]
fn full() -> Stdio {
    OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap()
        .into()
}

fn no_panic(output: &Output) {
    assert!(!stderr(output).contains("panicked"), "{}", stderr(output));
}

#[test]
fn a_reader_that_stops_ends_every_command_quietly() {
    for arguments in printing() {
        let output = burnformer(&arguments).stdout(closed()).output().unwrap();
        no_panic(&output);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{arguments:?}: {}",
            stderr(&output)
        );
        assert!(
            !stderr(&output).contains("error"),
            "{arguments:?}: {}",
            stderr(&output)
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_under_standard_output_is_a_failure_of_every_command() {
    for arguments in printing() {
        let output = burnformer(&arguments).stdout(full()).output().unwrap();
        no_panic(&output);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let told = stderr(&output).contains("error: standard output: cannot be written");
        assert!(told, "{arguments:?}: {}", stderr(&output));
        let silent = burnformer(&arguments)
            .stdout(full())
            .stderr(full())
            .status()
            .unwrap();
        assert_eq!(silent.code(), Some(1), "{arguments:?}");
    }
}

#[test]
fn the_exit_code_of_a_refusal_does_not_depend_on_standard_error() {
    for (arguments, code) in [
        (&["score"][..], 2),
        (&["translate", "--model", "m", "--beam", "0"], 2),
        (&["no-such-command"], 2),
        (&["translate", "--model", "/no/such/model"], 1),
        (
            &["train", "--train", "/no/such.tsv", "--out", "/no/such/run"],
            1,
        ),
    ] {
        let status = burnformer(arguments).stderr(closed()).status().unwrap();
        assert_eq!(status.code(), Some(code), "{arguments:?}");
    }
}

/// The arguments of a short run in `folder/out` with a long log.
fn short_run(folder: &Path, out: &str) -> Vec<String> {
    let Untrained { corpus, .. } = Untrained::get();
    let mut arguments = train_arguments(folder, corpus, out, &[]);
    let settings = [
        "training.max_updates=20",
        "training.log_every=1",
        "checkpoints.every=10",
    ];
    let settings = settings
        .iter()
        .chain(&["validation.test_beam=1", "validation.max_sentences=5"]);
    arguments.extend(settings.flat_map(|setting| ["--set".to_string(), setting.to_string()]));
    arguments
}

fn assert_whole(run: PathBuf) {
    let finished = fs::read_to_string(run.join("finished.json")).expect("the run came to its end");
    assert!(finished.contains("20"), "{finished}");
    let log = fs::read_to_string(run.join("train.log")).unwrap();
    assert_eq!(
        log.matches("epoch 1 | step ").count(),
        20,
        "every update: {log}"
    );
}

#[test]
fn a_run_outlives_its_standard_error() {
    let folder = tempfile::tempdir().unwrap();
    let run = |out: &str, stderr: Stdio| {
        let status = burnformer(&short_run(folder.path(), out))
            .stdout(Stdio::null())
            .stderr(stderr)
            .status();
        assert_eq!(status.unwrap().code(), Some(0));
        assert_whole(folder.path().join(out));
    };
    run("closed", closed());
    #[cfg(target_os = "linux")]
    run("full", full());
}

#[test]
fn a_run_outlives_a_reader_that_takes_one_line_of_everything() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new("bash");
    command.args([
        "-c",
        "\"$0\" \"$@\" 2>&1 | head -n 1; exit ${PIPESTATUS[0]}",
        env!("CARGO_BIN_EXE_burnformer"),
    ]);
    let output = command
        .args(short_run(folder.path(), "run"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 1);
    assert_whole(folder.path().join("run"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_run_whose_scores_cannot_be_printed_fails_and_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let output = burnformer(&short_run(folder.path(), "run"))
        .stdout(full())
        .output()
        .unwrap();
    no_panic(&output);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("standard output: cannot be written"),
        "{}",
        stderr(&output)
    );
    assert_whole(folder.path().join("run"));
}

/// `translate`, spoken to line by line.
struct Coprocess {
    child: Child,
    lines: mpsc::Receiver<String>,
}

impl Coprocess {
    fn start(more: &[&str]) -> Self {
        let model = model();
        let fixed = [
            "translate",
            "--model",
            &model,
            "--beam",
            "1",
            "--max-length",
            "4",
        ];
        let mut command = burnformer(&[&fixed[..], more].concat());
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            output
                .lines()
                .try_for_each(|line| sender.send(line.unwrap()))
        });
        Self { child, lines }
    }

    /// Sends `line` and waits for its translation.
    fn ask(&mut self, line: &str) -> String {
        let stdin = self.child.stdin.as_mut().unwrap();
        stdin.write_all(line.as_bytes()).unwrap();
        stdin.write_all(b"\n").unwrap();
        stdin.flush().unwrap();
        let answer = self.lines.recv_timeout(Duration::from_secs(60));
        answer.unwrap_or_else(|_| panic!("no answer to {line:?} within a minute"))
    }
}

impl Drop for Coprocess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn each_line_of_a_dialogue_is_answered_before_the_next_is_sent() {
    let firsts = ["Ja", "", "J", "(", "eins zwei drei"]
        .into_iter()
        .zip([&[][..], &["--chunk", "1"]].into_iter().cycle());
    for (first, more) in firsts {
        let mut translate = Coprocess::start(more);
        let answers = [first, "zwei", "", "a", "drei vier"].map(|line| (line, translate.ask(line)));
        for (line, answer) in &answers {
            assert_eq!(line.is_empty(), answer.is_empty(), "{answers:?}");
        }
    }
}

/// `script` of util-linux runs a command in a terminal. Both of its ends are pipes here.
#[cfg(target_os = "linux")]
#[test]
fn in_a_terminal_the_end_of_text_is_explained_and_each_line_answered() {
    let line = format!(
        "{} translate --model {} --beam 1 --max-length 4",
        env!("CARGO_BIN_EXE_burnformer"),
        model()
    );
    let mut command = Command::new("script");
    command.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map(|line| line.unwrap());
    let first = lines.next().unwrap();
    assert!(
        first.contains("reading standard input, end with Ctrl-D"),
        "{first}"
    );
    let mut stdin = child.stdin.take().unwrap();
    for line in ["eins zwei", "drei"] {
        stdin.write_all(format!("{line}\n").as_bytes()).unwrap();
        let echo = lines.next().unwrap();
        assert_eq!(echo.trim_end(), line, "the terminal shows what is typed");
        assert!(
            !lines.next().unwrap().trim_end().is_empty(),
            "a translation"
        );
    }
    stdin.write_all(b"\x04").unwrap();
    assert!(child.wait().unwrap().success());
}
