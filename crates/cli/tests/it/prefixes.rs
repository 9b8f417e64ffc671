//! Forced prefixes of translations.

use std::fs;

use crate::bad_input_translate::translate;
use crate::common::{assert_refused, stderr, stdout};
use serde_json::Value;

#[test]
fn prefixes_that_do_not_match_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prefix.txt");
    let prefix = path.to_str().unwrap();
    fs::write(&path, "one\n").unwrap();
    let output = translate(&["--prefix", prefix], b"eins\nzwei\n");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("prefix.txt: ends before line 2"),
        "{}",
        stderr(&output)
    );
    fs::write(&path, "one\n\n\n").unwrap();
    let output = translate(&["--prefix", prefix], b"eins\nzwei\n");
    assert_eq!(output.status.code(), Some(1));
    let message = "prefix.txt: has more than the 2 lines of standard input";
    assert!(stderr(&output).contains(message), "{}", stderr(&output));
    fs::write(&path, b"\xff\n").unwrap();
    let output = translate(&["--prefix", prefix], b"eins\n");
    assert_refused(&output, 1, &["prefix.txt:1", "0xff", "UTF-8"]);
    assert_refused(
        &translate(&["--prefix", "/no/such"], b"eins\n"),
        1,
        &["/no/such: no such file"],
    );
    let twice = translate(&["--prefix", "-"], b"eins\nzwei\n");
    assert_refused(&twice, 1, &["`-` was given twice", "read only once"]);
}

#[test]
fn a_prefix_beyond_the_limit_is_cut_with_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prefix.txt");
    let long = "one two three four five six seven eight nine ".repeat(3);
    fs::write(&path, format!("one\n\n{long}\ntwo\n{long}\n")).unwrap();
    let prefixed = ["--prefix", path.to_str().unwrap(), "--json"];
    let output = translate(&prefixed, b"eins\nzwei\ndrei\n\nvier\n");
    let text = stdout(&output);
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 5, "{text}");
    assert!(
        lines[0]["translation"].as_str().unwrap().starts_with("one"),
        "{text}"
    );
    for cut in [2, 4] {
        assert_eq!(lines[cut]["tokens"].as_array().unwrap().len(), 8, "{text}");
        let translation = lines[cut]["translation"].as_str().unwrap();
        assert!(
            long.starts_with(translation) && !translation.is_empty(),
            "{translation:?}"
        );
        assert_eq!(lines[cut]["finish"], "limit");
    }
    assert_eq!(
        lines[3]["translation"], "two",
        "an empty line has its prefix"
    );
    assert_eq!(lines[3]["finish"], "end-of-sentence");
    let message = stderr(&output);
    for needle in [
        "prefix.txt:3: the translation is the first 8 of",
        "--max-length",
        "prefix.txt: 2 lines in all were longer than their translations may be",
    ] {
        assert!(message.contains(needle), "{needle:?} is not in {message}");
    }
}
