//! A file that never ends is refused by its name, with little memory, wherever a file is read.
#![cfg(target_os = "linux")]

use std::os::unix::fs::symlink;

use crate::common::{Untrained, run_bounded, stderr};

/// Command lines. `zero` is a device that never ends, with the extension of its format. `model` and
/// `text` are a model and a text.
const COMMANDS: &[&str] = &[
    "translate --model model --input text --glossary zero",
    "translate --model model --input text --shortlist zero",
    "translate --model model --input text --prefix zero",
    "translate --model model --input text --memory zero.po",
    "translate --model model --input text --memory zero.xlf",
    "translate --model model --input text --memory zero.tmx",
    "translate --model model --input text --memory zero.tsv",
    "translate --model model --input text --memory zero.csv",
    "translate --model model --input text --memory text zero",
    "translate --model model --input zero",
    "translate --model model --input zero.docx",
    "translate --model model --input zero --format html",
    "translate --model model --input zero --format po",
    "translate --model model --input text --glossary zero --output o --shard 1/2",
    "eval-bleu --hypothesis zero --reference text",
    "eval-bleu --hypothesis text --reference zero",
    "score --model model --input text --target zero",
    "shortlist --model model --train text zero --out o",
    "distill --model model --input zero --out o",
    "attention --model model --input text zero",
    "adapt --model model --memory zero.po --out o",
    "plot zero.jsonl --output o.svg",
    "train --config zero --out o",
    "train --train zero.tsv --valid text text --out o",
    "import marian zero --out o",
    #[cfg(feature = "serve")]
    "serve --listen 127.0.0.1:0 --api-keys zero",
    #[cfg(feature = "serve")]
    "serve --listen 127.0.0.1:0 --model de-en=model --glossary de-en=zero",
    #[cfg(feature = "serve")]
    "serve --listen 127.0.0.1:0 --model de-en=model --memory de-en=zero.po",
    #[cfg(feature = "serve")]
    "serve --listen 127.0.0.1:0 --model de-en=model --shortlist de-en=zero",
];

#[test]
fn a_device_that_never_ends_is_refused_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("text"), "eins\n").unwrap();
    let model = Untrained::get().model().display().to_string();
    for command in COMMANDS {
        let mut zero = String::new();
        let words = command.split_whitespace().map(|word| {
            let start = word.find('=').map_or(0, |at| at + 1);
            let (option, name) = word.split_at(start);
            let value = match name {
                "model" => model.clone(),
                "text" | "o" | "o.svg" => path(name),
                name if name.starts_with("zero") => {
                    zero = path(name);
                    let _ = symlink("/dev/zero", &zero);
                    zero.clone()
                }
                name => name.to_owned(),
            };
            format!("{option}{value}")
        });
        let words: Vec<String> = words.collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let output = run_bounded(&words);
        let said = stderr(&output);
        let case = format!("{command}: {said}");
        assert!(matches!(output.status.code(), Some(1 | 2)), "{case}");
        assert!(said.contains(&zero), "{zero} is not named: {case}");
        assert!(!said.contains("out of memory"), "{case}");
        assert!(!said.contains("batch"), "{case}");
        assert!(!said.contains("panicked"), "{case}");
    }
}

#[test]
fn a_text_that_never_ends_is_not_scored() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text");
    std::fs::write(&text, "eins\n").unwrap();
    let line = "eins zwei ".repeat(1000);
    let script = format!(
        "yes '{line}' | {} eval-bleu --hypothesis - --reference {}",
        env!("CARGO_BIN_EXE_burnformer"),
        text.display()
    );
    let output = std::process::Command::new("sh")
        .args(["-c", &script])
        .output()
        .unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("has more than 512 MiB of text\nhint: score it in parts"),
        "{said}"
    );
}
