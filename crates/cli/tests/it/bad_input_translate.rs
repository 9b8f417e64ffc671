//! Unusual text to translate. There is always one line out for each line in.

use crate::common;
use std::fs;
use std::io::Write;
use std::process::Output;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::common::{Untrained, assert_refused, refused, run, run_with, stderr, stdout};

fn model() -> String {
    Untrained::get().model().display().to_string()
}

/// Translates `input` greedily, with further arguments.
pub fn translate(more: &[&str], input: &[u8]) -> Output {
    let model = model();
    let fixed = [
        "translate",
        "--model",
        &model,
        "--beam",
        "1",
        "--max-length",
        "8",
    ];
    run_with(&[&fixed[..], more].concat(), input)
}

#[test]
fn every_hostile_line_gives_a_line() {
    let megabyte = "eins zwei ".repeat(100_000);
    let one_word = "x".repeat(1_000_000);
    let two_megabytes = "ä".repeat(1 << 20);
    let sentence = "eins ".repeat(100_000);
    let lines: [&[u8]; 22] = [
        b"eins zwei",
        b"",
        b"   \t ",
        b"\0",
        b"drei\0vier",
        b"\x01\x02\x7f\x1b[31m",
        b"\xff\xfe\xfd",
        b"caf\xe9",
        b"\xed\xa0\x80 surrogate",
        b"\xf0\x9f\x98",
        b"carriage\rreturn",
        b"ends in one\r",
        "a\u{2028}b\u{2029}c\u{85}d".as_bytes(),
        "\u{feff}mark".as_bytes(),
        "\u{202e}right to left ﷽ \u{1F600}".as_bytes(),
        b"</s> <s> <pad> <unk>",
        b"<0x0A><0x0D>",
        "\u{2581}\u{2581}".as_bytes(),
        megabyte.as_bytes(),
        one_word.as_bytes(),
        two_megabytes.as_bytes(),
        sentence.as_bytes(),
    ];
    for end in [&b"\n"[..], b""] {
        let input = [&lines.join(&b'\n')[..], end].concat();
        let output = translate(&[], &input);
        let text = stdout(&output);
        assert_eq!(
            text.matches('\n').count(),
            lines.len(),
            "a final line end changes nothing"
        );
        let breaks = ['\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];
        assert!(!text.contains(breaks), "no other line end comes out");
        let translations: Vec<&str> = text.split('\n').collect();
        for blank in [1, 2, 3] {
            assert_eq!(translations[blank], "", "line {}", blank + 1);
        }
        let message = stderr(&output);
        for needle in [
            "standard input:7: bytes that are not UTF-8 are read as U+FFFD",
            "standard input: 4 lines in all were not UTF-8",
            "standard input:19: only the first 1023 of",
            "standard input: 4 lines in all were too long to be translated whole",
            "standard input:21: only the first 1048576 bytes",
            "--longest",
        ] {
            assert!(message.contains(needle), "{needle:?} is not in {message}");
        }
    }
}

#[test]
fn the_number_of_lines_is_kept_in_every_form_of_output() {
    let input = b"eins\n\n\xff\nzwei\n";
    assert_eq!(stdout(&translate(&["--json"], input)).lines().count(), 4);
    for chunk in ["1", "2", "3"] {
        assert_eq!(
            stdout(&translate(&["--chunk", chunk], input))
                .matches('\n')
                .count(),
            4
        );
    }
    let numbered = stdout(&translate(&["--nbest", "1"], input));
    let numbers: Vec<&str> = numbered
        .lines()
        .map(|l| l.split(' ').next().unwrap())
        .collect();
    assert_eq!(numbers, ["0", "1", "2", "3"]);
    assert_eq!(stdout(&translate(&[], b"")), "");
    assert_eq!(stdout(&translate(&[], b"\n")), "\n");
}

#[test]
fn a_longer_sentence_is_translated_whole_on_demand() {
    let input = "eins ".repeat(2000);
    assert!(stderr(&translate(&[], input.as_bytes())).contains("only the first 1023"));
    let whole = translate(&["--longest", "10000"], input.as_bytes());
    assert!(!stderr(&whole).contains("only the first"));
    assert_eq!(stdout(&whole).lines().count(), 1);
}

#[test]
fn lines_before_a_failure_are_translated_first() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    for number in 0..20_000 {
        writeln!(encoder, "{number}").unwrap();
    }
    let whole = encoder.finish().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("half.gz");
    fs::write(&path, &whole[..whole.len() / 20]).unwrap();
    let model = model();
    let output = run(&[
        "translate",
        "--model",
        &model,
        "--beam",
        "1",
        "--max-length",
        "2",
        "--input",
        path.to_str().unwrap(),
    ]);
    assert_eq!(output.status.code(), Some(1));
    let message = stderr(&output);
    let line: usize = message
        .split("after line ")
        .nth(1)
        .unwrap()
        .split(':')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    assert!(
        line > 0 && message.contains("half.gz: the compressed data is truncated"),
        "{message}"
    );
    assert_eq!(
        output.stdout.iter().filter(|&&byte| byte == b'\n').count(),
        line
    );
}

#[test]
fn input_and_output_that_cannot_be_are_named() {
    let untrained = Untrained::get();
    let model = model();
    let text = untrained.corpus.test[0].to_str().unwrap();
    let refuse = |more: &[&str], code, needles: &[&str]| {
        refused(
            &[&["translate", "--model", &model][..], more].concat(),
            code,
            needles,
        );
    };
    refuse(
        &["--input", "/no/such.de"],
        1,
        &["/no/such.de: no such file", "`-` reads standard input"],
    );
    refuse(&["--input", &model], 1, &["cannot be read", "directory"]);
    refuse(
        &["--input", text, "--output", "/no/such/folder/x"],
        1,
        &["/no/such/folder/x: cannot be written", "folder"],
    );
    let before = fs::read(text).unwrap();
    refuse(
        &["--input", text, "--output", text],
        2,
        &["is both input and output", "name another output"],
    );
    assert_eq!(fs::read(text).unwrap(), before, "the input is as it was");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_and_no_panic() {
    let model = model();
    let text = Untrained::get().corpus.test[0].display().to_string();
    let full = || {
        fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap()
    };
    for arguments in [
        vec!["translate", "--model", &model, "--input", &text],
        vec!["inspect", &model],
        vec!["devices"],
        vec!["eval-bleu", "--hypothesis", &text, "--reference", &text],
        vec![
            "score", "--model", &model, "--source", &text, "--target", &text,
        ],
    ] {
        let output = common::burnformer(&arguments)
            .stdout(full())
            .output()
            .unwrap();
        assert_refused(
            &output,
            1,
            &["standard output: cannot be written", "free space"],
        );
        let silent = common::burnformer(&arguments)
            .stdout(full())
            .stderr(full())
            .status()
            .unwrap();
        assert_eq!(silent.code(), Some(1), "{arguments:?}");
    }
}

#[test]
fn settings_out_of_range_are_wrong_usage() {
    let model = model();
    let cases: [(&[&str], &[&str]); 13] = [
        (&["--beam", "0"], &["--beam", "1..=1000"]),
        (&["--beam", "1000000000"], &["--beam", "1..=1000"]),
        (&["--nbest", "0"], &["--nbest", "1..=1000"]),
        (
            &["--nbest", "5", "--beam", "2"],
            &["--nbest = 5", "--beam = 2", "raise --beam"],
        ),
        (&["--alpha=-1"], &["-1", "at least 0"]),
        (&["--alpha=nan"], &["NaN", "at least 0"]),
        (
            &["--sample", "--temperature", "0"],
            &["--temperature = 0", "positive"],
        ),
        (&["--sample", "--top-p", "2"], &["--top-p = 2", "at most 1"]),
        (&["--batch", "0"], &["--batch"]),
        (&["--chunk", "0"], &["--chunk"]),
        (&["--longest", "1"], &["--longest"]),
        (&["--max-length", "0"], &["--max-length"]),
        (
            &["--max-length", "5", "--min-length", "6"],
            &["--min-length = 6", "exceed --max-length"],
        ),
    ];
    for (more, needles) in cases {
        refused(
            &[&["translate", "--model", &model][..], more].concat(),
            2,
            needles,
        );
    }
}
