//! The command `study`: its settings, its texts and its output.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Settings that train a row in a second.
const SMALL: [&str; 14] = [
    "model.d_model=64",
    "model.heads=4",
    "model.d_ff=128",
    "model.encoder_layers=1",
    "model.decoder_layers=1",
    "tokenizer.train.vocab_size=320",
    "tokenizer.train.allow_smaller=true",
    "training.budget=512",
    "training.log_every=1",
    "training.precision=float32",
    "checkpoints.every=2",
    "checkpoints.average=2",
    "validation.max_sentences=5",
    "validation.test_alphas=[]",
];

fn study(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_burnformer-lab"));
    command.arg("study").args(arguments);
    command
}

/// The command that trains the base of Table 3 on a small text in `folder`.
fn base(folder: &Path) -> Command {
    let words = ["ein", "zwei", "drei", "vier"];
    for (name, count) in [("train", 100), ("valid", 10)] {
        let lines: Vec<String> = (0..count)
            .map(|number| {
                let word = words[number % words.len()];
                format!("{word} haus {number}\tone house {number} {word}\n")
            })
            .collect();
        fs::write(folder.join(name).with_extension("tsv"), lines.concat()).unwrap();
    }
    let mut command = study(&["table3", "--rows", "none", "--updates", "2"]);
    command.args(["--train", "train.tsv", "--valid", "valid.tsv"]);
    command.args(["--out", "study", "--device", "cpu"]);
    command.args(SMALL.iter().flat_map(|setting| ["--set", setting]));
    command.args(["--set", "data.cache=cache"]);
    command.current_dir(folder);
    command
}

fn message(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn settings_that_a_study_cannot_vary_are_refused() {
    let cases: [(&[&str], i32, &str); 4] = [
        (&["table3", "--set", "model.heads=3"], 2, "model.heads is 3"),
        (&["table3", "--updates", "0"], 2, "--updates"),
        (&["extrapolation", "--minutes", "0"], 1, "--minutes is 0"),
        (
            &["table3", "--valid", "a.tsv", "b.tsv", "c.tsv"],
            2,
            "--valid names 3 files",
        ),
    ];
    for (arguments, code, needle) in cases {
        let output = study(arguments).output().unwrap();
        let message = message(&output);
        assert_eq!(output.status.code(), Some(code), "{message}");
        assert!(message.contains(needle), "{message}");
    }
}

#[test]
fn the_base_is_trained_once_and_printed_as_a_table_or_json() {
    let folder = tempfile::tempdir().unwrap();
    let table = base(folder.path()).output().unwrap();
    assert!(table.status.success(), "{}", message(&table));
    let text = String::from_utf8_lossy(&table.stdout);
    assert!(text.contains("| base"), "{text}");

    let json = base(folder.path()).arg("--json").output().unwrap();
    assert!(
        message(&json).contains("1 of 1 rows done"),
        "{}",
        message(&json)
    );
    let rows: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(rows[0]["name"], "base");
}

#[cfg(target_os = "linux")]
#[test]
fn a_table_that_cannot_be_printed_fails_and_its_rows_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let full = fs::OpenOptions::new().write(true).open("/dev/full");
    let output = base(folder.path()).stdout(full.unwrap()).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", message(&output));
    assert!(folder.path().join("study/base.json").exists());
}

#[test]
fn standard_output_is_never_a_text_that_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = base(folder.path());
    let path = folder.path().join("train.tsv");
    let before = fs::read(&path).unwrap();
    let appended = fs::OpenOptions::new().append(true).open(&path).unwrap();
    let output = command.stdout(appended).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", message(&output));
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[cfg(target_os = "linux")]
#[test]
fn texts_may_be_pipes() {
    let folder = tempfile::tempdir().unwrap();
    let direct = base(folder.path());
    let program = direct.get_program().to_string_lossy().into_owned();
    let words = direct.get_args().map(|word| word.to_string_lossy());
    let line = words.collect::<Vec<_>>().join(" ");
    let line = line.replace("train.tsv", "<(cat train.tsv)");
    let mut bash = Command::new("bash");
    bash.current_dir(folder.path());
    bash.args(["-c", &format!("{program} {line}")]);
    let output = bash.output().unwrap();
    assert!(output.status.success(), "{}", message(&output));
    assert!(folder.path().join("study/base.json").exists());
}
